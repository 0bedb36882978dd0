use super::*;

fn report() -> Report {
    let line = |what: &str, ratio: f64| ResultLine::new(what, "µs", vec![(ratio, 1.0)]).cpu();
    let mut read = line("one access", 1.25).at_most(1.8);
    read.p99_us = Some(1234.5);
    let mut report = Report::default();
    for (case, store, lines) in [
        (
            4,
            StoreKind::Sqlite,
            vec![
                line("all", 1.0),
                line("a job", 1.2).at_most(1.5),
                line("a day", 1.6).at_most(1.5),
            ],
        ),
        (1, StoreKind::Postgres, vec![line("one access", 9.0).at_most(2.0)]),
        (1, StoreKind::Sqlite, vec![read]),
        (1, StoreKind::Postgres, vec![line("one access", 1.5).at_most(2.0)]),
    ] {
        report.put(Chapter { case, store, about: format!("On {}.", store.name()), lines });
    }
    report
}

#[test]
fn a_chapter_has_a_table_for_each_store_with_the_columns_that_it_needs() {
    let expected = "\
On SQLite.

| what       | rounds | unit | measured | yardstick |      ratio | p99 µs |
|------------|--------|------|---------:|----------:|-----------:|-------:|
| one access | 1      | µs   |     1.25 |      1.00 | 1.25 ≤ 1.8 |  1,235 |

On PostgreSQL.

| what       | rounds | unit | measured | yardstick |      ratio |
|------------|--------|------|---------:|----------:|-----------:|
| one access | 1      | µs   |     1.50 |      1.00 | 1.50 ≤ 2.0 |
";
    assert_eq!(report().chapter(1).unwrap(), expected);
    assert_eq!(report().chapter(2), None);
}

#[test]
fn the_summary_shows_the_closest_figure_of_each_goal() {
    let expected = "\
| case                  | what                     | store      |       measured | taken |
|-----------------------|--------------------------|------------|---------------:|------:|
| 1. Reading one access | one access               | SQLite     |     1.25 ≤ 1.8 |  69 % |
| 1. Reading one access | one access               | PostgreSQL |     1.50 ≤ 2.0 |  75 % |
| 4. Pages of lists     | a day (the closest of 2) | SQLite     | **1.60 > 1.5** | 107 % |

Goals that are missed, in bold: 1.
";
    assert_eq!(report().summary(), expected);
}

#[test]
fn the_json_report_parses_to_itself() {
    let text = serde_json::to_string(&report()).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report());
}

#[test]
fn only_the_named_section_of_a_page_is_replaced() {
    let page =
        "a\n<!-- bench:one -->\nold\n<!-- /bench -->\nb\n<!-- bench:two -->\n<!-- /bench -->\n";
    let replaced = replace_section(page, "one", "new\n").unwrap();
    assert_eq!(
        replaced,
        "a\n<!-- bench:one -->\n\nnew\n\n<!-- /bench -->\nb\n<!-- bench:two -->\n<!-- /bench -->\n"
    );
    assert_eq!(replace_section(&replaced, "one", "new\n").unwrap(), replaced);
    assert_eq!(replace_section(page, "three", "new"), None);
}
