use super::*;

fn parse_line(line: &str) -> Result<Options, String> {
    parse(line.split_whitespace().map(str::to_owned)).map_err(|failure| match failure {
        Failure::Usage(what) => what,
        other => panic!("a command line can only be used wrongly: {other:?}"),
    })
}

#[test]
fn without_options_ten_million_accesses_lie_in_sqlite() {
    let options = parse_line("").unwrap();
    assert_eq!(options.large_rows, 10_000_000);
    assert_eq!(options.store, StoreKind::Sqlite);
    assert!(!options.quick && !options.strict);
}

#[test]
fn quick_means_fewer_accesses_and_rounds_unless_they_are_named() {
    let (full, quick) = (parse_line("").unwrap(), parse_line("--quick").unwrap());
    assert!(quick.large_rows < full.large_rows && quick.n_rounds < full.n_rounds);
    let named = parse_line("--quick --rows 20000 --store postgres").unwrap();
    assert_eq!((named.large_rows, named.store), (20_000, StoreKind::Postgres));
}

#[test]
fn batches_are_measured_in_place_of_lists() {
    assert_eq!(parse_line("").unwrap().subject, Subject::Lists);
    let options = parse_line("--batches --passwords 10000").unwrap();
    assert_eq!(options.subject, Subject::Batches { n_passwords: 10_000 });
    assert_eq!(options.large_rows, 1_000_000);
}

#[test]
fn creations_are_measured_on_postgres() {
    let options = parse_line("--creations --quick --rows 20000").unwrap();
    assert_eq!((options.subject, options.store), (Subject::Creations, StoreKind::Postgres));
    assert_eq!(options.large_rows, 20_000);
}

#[test]
fn products_are_measured_without_accesses() {
    let options = parse_line("--products").unwrap();
    assert_eq!((options.subject, options.large_rows), (Subject::Products, 0));
    assert!(parse_line("--products --quick").unwrap().n_rounds < options.n_rounds);
}

#[test]
fn wrong_use_says_what_would_be_right() {
    for (line, advice) in [
        ("--fast", "use --quick"),
        ("--rows", "needs a value"),
        ("--rows many", "a multiple of 10000"),
        ("--rows 10000", "above 10000"),
        ("--rows 20001", "a multiple of 10000"),
        ("--store mysql", "sqlite or postgres"),
        ("--passwords 0", "1 to 100000"),
        ("--products --batches", "leave one away"),
        ("--products --store postgres", "leave --rows and --store away"),
        ("--creations --batches", "leave --batches"),
        ("--creations --store postgres", "and --store away"),
        ("--products --rows 20000", "leave --rows and --store away"),
    ] {
        let what = parse_line(line).unwrap_err();
        assert!(what.contains(advice), "{line}: {what}");
    }
}
