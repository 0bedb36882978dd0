use super::*;
use proptest::prelude::*;

#[test]
fn comparisons_are_exact_to_the_millisecond_and_between() {
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let (before, exact, after) =
        ("2026-01-01T00:00:00.122Z", "2026-01-01T00:00:00.123Z", "2026-01-01T00:00:00.124Z");
    #[rustfmt::skip]
    let cases = [
        // operator                  // with                          // before, exact, after
        (Operator::Equal,            exact,                           [false, true,  false]),
        (Operator::Greater,          exact,                           [false, false, true]),
        (Operator::GreaterOrEqual,   exact,                           [false, true,  true]),
        (Operator::Less,             exact,                           [true,  false, false]),
        (Operator::LessOrEqual,      exact,                           [true,  true,  false]),
        // an instant between two milliseconds
        (Operator::Equal,            "2026-01-01T00:00:00.1234Z",     [false, false, false]),
        (Operator::Greater,          "2026-01-01T00:00:00.1234Z",     [false, false, true]),
        (Operator::GreaterOrEqual,   "2026-01-01T00:00:00.1234Z",     [false, false, true]),
        (Operator::Less,             "2026-01-01T00:00:00.1234Z",     [true,  true,  false]),
        (Operator::LessOrEqual,      "2026-01-01T00:00:00.1234Z",     [true,  true,  false]),
        (Operator::Equal,            "2026-01-01T00:00:00.1230000000000Z", [false, true, false]),
        (Operator::Greater,          "2026-01-01T00:00:00.1230000000001Z", [false, false, true]),
        (Operator::GreaterOrEqual,   "2026-01-01T00:00:00.1230000000001Z", [false, false, true]),
        // another offset, and trailing zeros
        (Operator::Equal,            "2026-01-01T02:00:00.1230+02:00", [false, true, false]),
        (Operator::Less,             "9999-12-31T23:59:59-23:59",     [true,  true,  true]),
        (Operator::LessOrEqual,      "0000-01-01T00:00:00+23:59",     [false, false, false]),
        (Operator::GreaterOrEqual,   "2026-01-01",                    [true,  true,  true]),
        (Operator::Less,             "2026-01-01",                    [false, false, false]),
    ];
    for (operator, text, expected) in cases {
        let span = TimeSpan::satisfying(operator, text).unwrap();
        let found = [before, exact, after].map(|it| span.contains(at(it)));
        assert_eq!(found, expected, "{} {text}", operator.as_str());
    }
    assert!(TimeSpan::satisfying(Operator::Equal, "soon").is_err());
}

fn spans() -> impl Strategy<Value = Vec<TimeSpan>> {
    let span =
        (0_i64..40, -2_i64..12).prop_map(|(from, length)| TimeSpan { from, until: from + length });
    prop::collection::vec(span, 0..8)
}

fn holds(spans: &[TimeSpan], at: i64) -> bool {
    spans.iter().any(|span| span.from <= at && at < span.until)
}

proptest! {
    #[test]
    fn union_and_difference_mean_what_they_say(some in spans(), others in spans()) {
        let (joined, taken) = (union(some.clone()), union(others.clone()));
        let left = without(&joined, &taken);
        for at in -5..60 {
            prop_assert_eq!(holds(&joined, at), holds(&some, at));
            prop_assert_eq!(holds(&left, at), holds(&some, at) && !holds(&others, at));
        }
        for pair in joined.windows(2).chain(left.windows(2)) {
            prop_assert!(pair[0].until <= pair[1].from && !pair[0].is_empty());
        }
    }
}
