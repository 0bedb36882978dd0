use super::*;

/// A small manifest with this name.
fn manifest(name: &str) -> String {
    let look_ups: String = ["iccid", "imsi", "msisdn", "serial_number"]
        .map(|kind| format!("  {kind}: never_carried\n"))
        .concat();
    format!(
        "manifest: 1\nname: {name}\ntitle: Test\nconnectivity: CELLULAR\n\
         paging: {{ by: number, size: {{ max: 10 }} }}\n\
         list: {{ call: {{ get: /sims, query: {{ page: \"{{page.number}}\", size: \"{{page.size}}\" }} }}, items: $ }}\n\
         look_up:\n  id: not_searchable\n{look_ups}\
         product: {{ id: $.id, status: {{ word: $.status, words: {{}} }} }}\n"
    )
}

fn dir(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

#[test]
fn yaml_files_of_a_directory_are_added_except_hidden_ones() {
    let (a, b, broken) = (manifest("a"), manifest("b"), "no manifest");
    let files = [
        ("one.yaml", &*a),
        ("two.yml", &*b),
        ("three.txt", broken),
        (".four.yaml", broken),
        ("yaml", broken),
        ("manifest.schema.json", broken),
    ];
    let dir = dir(&files);
    let mut manifests = Manifests::shipped();
    let n_shipped = manifests.all().count();
    let own = manifests.add_dir(dir.path()).unwrap_or_else(|bad| panic!("{bad}"));
    let names: Vec<_> = own.iter().map(|it| it.manifest.name().as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(own.iter().all(|it| !it.replaces_shipped));
    assert_eq!(manifests.all().count(), n_shipped + 2);
    assert_eq!(manifests.text("b"), Some(&*b));
}

#[test]
fn a_manifest_replaces_a_shipped_one_of_the_same_name() {
    let dir = dir(&[("mine.yaml", &manifest("1nce"))]);
    let mut manifests = Manifests::shipped();
    let n_shipped = manifests.all().count();
    let own = manifests.add_dir(dir.path()).unwrap_or_else(|bad| panic!("{bad}"));
    assert!(own[0].replaces_shipped);
    assert_eq!(manifests.all().count(), n_shipped);
    assert_eq!(manifests.get("1nce").unwrap().summary().title, "Test");
}

#[test]
fn every_fault_of_every_file_is_reported_and_nothing_is_added() {
    let a = manifest("a");
    let unknown = a.replace("title:", "titel:");
    let latin = "# caf\u{e9}";
    let files =
        [("a.yaml", &*a), ("again.yaml", &*a), ("empty.yaml", ""), ("unknown.yml", &*unknown)];
    let dir = dir(&files);
    std::fs::write(dir.path().join("latin.yaml"), &latin.as_bytes()[..latin.len() - 1]).unwrap();
    std::fs::create_dir(dir.path().join("folder.yaml")).unwrap();
    let large = " ".repeat(usize::try_from(MANIFEST_BYTES_MAX).unwrap() + 1);
    std::fs::write(dir.path().join("large.yaml"), large).unwrap();
    let mut manifests = Manifests::shipped();
    let bad = manifests.add_dir(dir.path()).unwrap_err();
    let here = format!("{}/", dir.path().display());
    let faults = bad.to_string().replace(&here, "");
    let lines: Vec<&str> = faults.lines().collect();
    #[rustfmt::skip]
    let expected = [
        "again.yaml: is called `a`, and so is a.yaml: give one of them another `name`",
        "empty.yaml:",
        "folder.yaml: can't be read: Is a directory",
        "large.yaml: has more than 1048576 bytes",
        "latin.yaml: is not UTF-8",
        "unknown.yml:3:1: unknown field `titel`",
    ];
    assert_eq!(lines.len(), expected.len(), "{faults}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}");
    }
    assert!(manifests.get("a").is_none());
}

#[test]
fn a_missing_directory_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("nowhere");
    let bad = Manifests::shipped().add_dir(&missing).unwrap_err();
    let expected = format!("{}: can't be read: No such file", missing.display());
    assert!(bad.to_string().starts_with(&expected), "{bad}");
}
