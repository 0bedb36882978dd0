use super::*;

fn parse_line(line: &str) -> Result<Options, String> {
    parse(line.split_whitespace().map(str::to_owned)).map_err(|failure| match failure {
        Failure::Usage(what) => what,
        other => panic!("a command line can only be used wrongly: {other:?}"),
    })
}

#[test]
fn without_options_everything_is_measured_on_ten_million_accesses() {
    let options = parse_line("").unwrap();
    assert_eq!(options.large_rows, 10_000_000);
    assert!(options.stores().eq(StoreKind::ALL));
    for case in CASES {
        assert!(case.stores.iter().all(|kind| options.want(case.number, *kind)));
    }
    assert!(!options.quick && !options.strict && !options.check);
}

#[test]
fn quick_means_fewer_accesses_and_rounds_unless_they_are_named() {
    let (full, quick) = (parse_line("").unwrap(), parse_line("--quick").unwrap());
    assert!(quick.large_rows < full.large_rows && quick.usual_rows() < full.usual_rows());
    assert_eq!((full.rounds(15, 3), quick.rounds(15, 3)), (15, 3));
    assert_eq!(parse_line("--quick --rows 20000").unwrap().large_rows, 20_000);
}

#[test]
fn cases_and_stores_can_be_chosen() {
    let options = parse_line("--only 1,7 --check").unwrap();
    assert!(options.check);
    assert!(options.want(1, StoreKind::Sqlite) && options.want(1, StoreKind::Postgres));
    assert!(options.want(7, StoreKind::Sqlite) && !options.want(7, StoreKind::Postgres));
    assert!(!options.want(2, StoreKind::Sqlite));
    let options = parse_line("--only 1,7 --store postgres").unwrap();
    assert!(options.stores().eq([StoreKind::Postgres]));
    assert!(!options.want(7, StoreKind::Sqlite));
}

#[test]
fn a_usage_error_says_what_would_be_right() {
    for (line, advice) in [
        ("--fast", "use --quick"),
        ("--rows", "needs a value"),
        ("--rows many", "a multiple of 10000"),
        ("--rows 10000", "above 10000"),
        ("--rows 20001", "a multiple of 10000"),
        ("--store mysql", "sqlite or postgres"),
        ("--only 18", "from 1 to 17"),
        ("--only one", "as in 1,2,12"),
        ("--only 13", "use --only 1,2,3,9,10,12,13"),
        ("--only 7 --store postgres", "none of these cases"),
    ] {
        let what = parse_line(line).unwrap_err();
        assert!(what.contains(advice), "{line}: {what}");
    }
}
