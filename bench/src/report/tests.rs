use super::*;
use crate::measure::Sample;

fn line(list: &'static str, ratio: f64, beside_small: Option<f64>) -> Line {
    let comparison = |ratio| Comparison { ratio, goal: Some(1.5) };
    Line {
        list,
        page: "first",
        total: 10_000,
        typical: Sample {
            cpu_us: 123.4,
            yardstick_cpu_us: 100.0,
            database_cpu_us: None,
            p50_us: 200.0,
            p99_us: 1234.5,
            requests_per_second: 4321.0,
        },
        beside_first: comparison(ratio),
        beside_small: beside_small.map(comparison),
    }
}

fn report() -> Report {
    let large = vec![line("all", 1.0, Some(1.04)), line("one job", 1.73, Some(1.2))];
    let small = vec![line("all", 1.0, None)];
    let stores = vec![(10_000_000, large), (10_000, small)];
    Report { database: "SQLite 3".into(), n_cores: 2, n_rounds: 15, stores }
}

#[test]
fn a_report_is_a_table_for_each_store_with_its_misses_marked() {
    let expected = "\
SQLite 3, 2 cores for the server, its database and the client; medians of 15 rounds.

**10,000,000 accesses**

| list    | page  | accesses | CPU µs |   ÷ first page |   ÷ 10,000 | p50 µs | p99 µs | requests/s |
|---------|-------|---------:|-------:|---------------:|-----------:|-------:|-------:|-----------:|
| all     | first |   10,000 |    123 |     1.00 ≤ 1.5 | 1.04 ≤ 1.5 |    200 |  1,235 |      4,321 |
| one job | first |   10,000 |    123 | **1.73 > 1.5** | 1.20 ≤ 1.5 |    200 |  1,235 |      4,321 |

**10,000 accesses**

| list | page  | accesses | CPU µs | ÷ first page | p50 µs | p99 µs | requests/s |
|------|-------|---------:|-------:|-------------:|-------:|-------:|-----------:|
| all  | first |   10,000 |    123 |   1.00 ≤ 1.5 |    200 |  1,235 |      4,321 |

Goals that are missed, in bold: 1.
";
    assert_eq!(report().markdown(), expected);
}

#[test]
fn the_databases_own_work_has_a_column_where_it_is_known() {
    let mut report = report();
    report.stores.truncate(1);
    report.stores[0].1[0].typical.database_cpu_us = Some(50.0);
    assert!(report.markdown().contains("database CPU µs"));
}

#[test]
fn programs_get_the_same_figures() {
    let json = report().json();
    assert_eq!(json["missed"], 1);
    assert_eq!(json["stores"][0]["cases"][1]["beside_first_page"]["ratio"], 1.73);
    assert_eq!(json["stores"][1]["cases"][0]["beside_small_store"], Value::Null);
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

#[test]
fn large_numbers_have_commas() {
    for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (10_000_000, "10,000,000")] {
        assert_eq!(with_commas(number), text);
    }
}
