use super::*;

fn find_in(folder: &str, extension: &str, n_files: usize) -> Vec<String> {
    let paths: Vec<String> =
        (0..n_files).map(|n| format!("{folder}/file_{n}.{extension}")).collect();
    let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
    find(&Tree::of(&files)).iter().map(Finding::to_string).collect()
}

#[test]
fn a_folder_has_at_most_25_source_files() {
    assert_eq!(find_in("crates/a/src", "rs", 25), [""; 0]);
    let finding =
        "console: 26 source files in one folder; group them in folders of at most 25".to_owned();
    assert_eq!(find_in("console", "js", 26), [finding]);
}

#[test]
fn folders_of_tests_and_the_bench_may_have_more() {
    for folder in ["tests/console", "crates/a/tests/e2e", "crates/a/src/b/tests", "bench/src"] {
        assert_eq!(find_in(folder, "rs", 26), [""; 0], "{folder}");
    }
    assert_eq!(find_in("docs", "md", 26), [""; 0]);
}
