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

#[test]
fn a_figure_without_a_yardstick_stands_beside_its_goal_itself() {
    let within = Line::alone("a product", "µs", vec![11.0, 17.0, 12.0], Some(20.0));
    let beyond = Line::alone("another", "µs", vec![21.25], Some(20.0));
    let report = Report { about: "SQLite 3.".into(), lines: vec![within, beyond] };
    let expected = "\
SQLite 3.

| what      | unit |         measured | yardstick | ratio |
|-----------|------|-----------------:|----------:|------:|
| a product | µs   |     12.00 ≤ 20.0 |           |       |
| another   | µs   | **21.25 > 20.0** |           |       |

Goals that are missed, in bold: 1.
";
    assert_eq!(report.markdown(), expected);
    let lines = &report.json()["lines"];
    assert_eq!((&lines[0]["measured"], &lines[0]["goal"]), (&12.0.into(), &20.0.into()));
    assert!(lines[0]["yardstick"].is_null() && lines[0]["ratio"].is_null());
}

#[test]
fn a_goal_is_told_with_all_its_digits() {
    let line = Line::new("a page", "ms", vec![(1.14, 1.0)], Some(1.15));
    let report = Report { about: "SQLite 3.".into(), lines: vec![line] };
    assert!(report.markdown().contains("1.14 ≤ 1.15"), "{}", report.markdown());
}
