use super::*;

fn file(path: &str) -> TrackedFile {
    TrackedFile { path: path.to_owned(), text: String::new() }
}

#[test]
fn tests_are_told_by_their_paths() {
    for path in [
        "crates/a/src/tests.rs",
        "crates/a/src/b/tests.rs",
        "crates/a/src/b/tests/c.rs",
        "crates/a/tests/e2e/main.rs",
        "tests/console/api.js",
        "console/rows.test.js",
    ] {
        assert!(file(path).is_test(), "{path}");
    }
    for path in ["crates/a/src/testing.rs", "crates/a/src/latest.rs", "console/tests_shown.js"] {
        assert!(!file(path).is_test(), "{path}");
    }
}

#[test]
fn a_path_has_a_folder_and_a_stem() {
    for (path, folder, stem) in [
        ("crates/a/src/lib.rs", "crates/a/src", "lib"),
        ("console/rows.test.js", "console", "rows"),
        ("README.md", "", "README"),
    ] {
        assert_eq!((file(path).folder(), file(path).stem()), (folder, stem));
    }
}
