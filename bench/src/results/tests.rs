use super::*;
use crate::options;
use crate::result_line::ResultLine;
use crate::store_kind::StoreKind;

fn options(line: &str) -> Options {
    options::parse(line.split_whitespace().map(str::to_owned)).unwrap()
}

fn chapter(case: u8, ratio: f64) -> Chapter {
    let lines = vec![ResultLine::new("a read", "µs", vec![(ratio, 1.0)]).cpu()];
    Chapter { case, store: StoreKind::Sqlite, about: "On SQLite.".to_owned(), lines }
}

/// A package with a page that has a section for every case.
fn package() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("docs");
    fs::create_dir(directory.path().join("docs")).unwrap();
    let page = "docs/performance.md";
    fs::copy(docs.join("performance.md"), directory.path().join(page)).unwrap();
    directory
}

#[test]
fn a_run_stores_its_results_and_keeps_others() {
    let directory = package();
    let bench = directory.path().join("bench");
    for (case, ratio) in [(1, 1.5), (2, 1.25), (1, 1.75)] {
        let mut results = Results::open_in(&bench, &options("")).unwrap();
        results.put(chapter(case, ratio)).unwrap();
        assert_eq!(results.measured().chapters.len(), 1);
    }
    let baseline = read(&bench.join("results")).unwrap();
    assert_eq!(baseline.chapters, [chapter(1, 1.75), chapter(2, 1.25)]);
    let page = fs::read_to_string(directory.path().join("docs/performance.md")).unwrap();
    assert!(page.contains("| a read | 1      | µs   |     1.75 |"), "{page}");
    for name in ["results.md", "goals.svg", "pages.svg", "waits.svg"] {
        assert!(bench.join("results").join(name).is_file(), "{name}");
    }
}

#[test]
fn the_page_has_a_section_for_every_case() {
    let directory = package();
    let bench = directory.path().join("bench");
    let mut results = Results::open_in(&bench, &options("")).unwrap();
    for case in CASES {
        results.put(chapter(case.number, 1.0)).unwrap();
    }
}

#[test]
fn a_check_or_another_size_changes_no_stored_results() {
    let directory = package();
    let bench = directory.path().join("bench");
    let none = Results::open_in(&bench, &options("--check"));
    assert!(matches!(none, Err(Failure::Step(why)) if why.contains("nothing to compare with")));
    for line in ["", "--quick"] {
        Results::open_in(&bench, &options(line)).unwrap().put(chapter(1, 1.5)).unwrap();
    }
    let page = || fs::read_to_string(directory.path().join("docs/performance.md")).unwrap();
    let before = page();
    for line in ["--check", "--check --quick", "--rows 20000", "--quick --rows 20000"] {
        let mut results = Results::open_in(&bench, &options(line)).unwrap();
        assert_eq!(results.baseline().is_some(), line.contains("--check"));
        results.put(chapter(1, 9.0)).unwrap();
    }
    for baseline in ["results", "results/quick"] {
        assert_eq!(read(&bench.join(baseline)).unwrap().chapters, [chapter(1, 1.5)], "{baseline}");
    }
    assert_eq!(page(), before);
    assert_eq!(read(&bench.join("results/latest")).unwrap().chapters, [chapter(1, 9.0)]);
}

#[test]
fn incomplete_figures_are_not_stored() {
    let directory = package();
    let bench = directory.path().join("bench");
    let mut results = Results::open_in(&bench, &options("")).unwrap();
    let failure = results.put(chapter(1, f64::NAN));
    assert!(matches!(failure, Err(Failure::Step(why)) if why.contains("`a read`")));
    assert_eq!(read(&bench.join("results")).unwrap(), Report::default());
}
