use super::*;

#[test]
fn a_line_is_the_median_of_its_rounds_and_of_their_ratios() {
    let line = ResultLine::new("a batch", "s", vec![(3.0, 1.0), (6.0, 4.0), (1.0, 2.0)]);
    assert_eq!((line.measured, line.yardstick, line.ratio), (3.0, Some(2.0), Some(1.5)));
    assert_eq!(line.shown(), "1.50");
}

#[test]
fn a_goal_has_all_digits_and_a_miss_is_bold() {
    let line = |ratio: f64| ResultLine::new("a page", "ms", vec![(ratio, 1.0)]);
    #[rustfmt::skip]
    let cases = [
        // line                       shown                missed
        (line(1.14).at_most(1.15),    "1.14 ≤ 1.15",       false),
        (line(1.15).at_most(1.15),    "1.15 ≤ 1.15",       false),
        (line(1.6).at_most(1.15),     "**1.60 > 1.15**",   true),
        (line(3.0).at_least(3.0),     "3.00 ≥ 3.0",        false),
        (line(2.5).at_least(3.0),     "**2.50 < 3.0**",    true),
        (line(9.0),                   "9.00",              false),
    ];
    for (line, shown, is_missed) in cases {
        assert_eq!((line.shown().as_str(), line.is_missed()), (shown, is_missed));
    }
}

#[test]
fn a_figure_without_a_yardstick_is_compared_with_its_goal() {
    let within = ResultLine::alone("a product", "µs", vec![11.0, 17.0, 12.0]).at_most(20.0);
    assert_eq!((within.shown().as_str(), within.ratio), ("12.00 ≤ 20.0", None));
    assert!(ResultLine::alone("another", "µs", vec![21.25]).at_most(20.0).is_missed());
    assert_eq!(ResultLine::alone("another", "µs", vec![21.25]).shown(), "");
}

#[test]
fn goals_are_compared_with_exact_figures() {
    let line = ResultLine::new("secrets", "s", vec![(0.0549, 1.0)]).at_most(0.05);
    assert_eq!((line.shown().as_str(), line.is_missed()), ("**0.05 > 0.05**", true));
}

#[test]
fn a_line_without_rounds_or_with_a_zero_yardstick_is_incomplete() {
    assert!(ResultLine::new("a page", "ms", vec![(1.0, 2.0)]).is_complete());
    assert!(!ResultLine::new("a page", "ms", Vec::new()).is_complete());
    assert!(!ResultLine::new("a page", "ms", vec![(1.0, 0.0)]).is_complete());
    assert!(!ResultLine::alone("a page", "ms", vec![f64::NAN]).is_complete());
}

#[test]
fn a_share_above_one_misses_the_goal_either_way() {
    assert_eq!(Goal::AtMost(2.0).share(1.0), 0.5);
    assert_eq!(Goal::AtLeast(3.0).share(6.0), 0.5);
    assert_eq!(Goal::AtLeast(3.0).share(1.5), 2.0);
}
