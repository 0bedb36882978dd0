use super::*;

#[test]
fn a_line_is_the_median_of_its_rounds_and_of_their_ratios() {
    let rounds = vec![(3.0, 1.0), (6.0, 4.0), (1.0, 2.0)];
    let line = Line::new("a batch", "s", rounds, Some(1.4));
    let report = Report { about: "SQLite 3.".into(), lines: vec![line] };
    let expected = "\
SQLite 3.

| what    | unit | measured | yardstick |          ratio |
|---------|------|---------:|----------:|---------------:|
| a batch | s    |     3.00 |      2.00 | **1.50 > 1.4** |

Goals that are missed, in bold: 1.
";
    assert_eq!(report.markdown(), expected);
    assert_eq!(report.json()["lines"][0]["ratio"], 1.5);
    assert_eq!(report.json()["missed"], 1);
}
