use super::*;

fn variable(name: &str) -> Option<OsString> {
    use std::os::unix::ffi::OsStringExt;
    match name {
        "TOKEN" => Some("s3cret".into()),
        "_NESTED2" => Some("${env:TOKEN}".into()),
        "EMPTY" => Some("".into()),
        "BYTES" => Some(OsString::from_vec(vec![0xff])),
        _ => None,
    }
}

fn context_in(directory: &Path) -> ExpansionContext<'static> {
    ExpansionContext { directory: directory.to_owned(), variable: &variable }
}

#[test]
fn references_are_expanded_in_place() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("keys")).unwrap();
    let absolute = dir.path().join("absolute");
    for (path, text) in [
        ("line", "one line\n"),
        ("windows", "one line\r\n"),
        ("two", "two\n\n"),
        ("keys/bare", "bare"),
        ("named", "${env:TOKEN}"),
        ("absolute", "x"),
    ] {
        std::fs::write(dir.path().join(path), text).unwrap();
    }
    let absolute = format!("${{file:{}}}", absolute.display());
    for (text, expected) in [
        ("plain", "plain"),
        ("$ { env } $$ $", "$ { env } $$ $"),
        ("${env:TOKEN}", "s3cret"),
        ("Bearer ${env:TOKEN}!${env:TOKEN}", "Bearer s3cret!s3cret"),
        ("${env:EMPTY}", ""),
        ("$${env:TOKEN}", "${env:TOKEN}"),
        ("a$${b$${${env:TOKEN}", "a${b${s3cret"),
        ("${env:_NESTED2}", "${env:TOKEN}"),
        ("${file:line}", "one line"),
        ("${file:windows}", "one line"),
        ("${file:two}", "two\n"),
        ("<${file:keys/bare}>", "<bare>"),
        ("${file:named}", "${env:TOKEN}"),
        (&absolute, "x"),
    ] {
        assert_eq!(context_in(dir.path()).expand(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn an_error_names_the_reference_and_repeats_no_value() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("bytes"), [0xff]).unwrap();
    let most = usize::try_from(NAMED_FILE_BYTES_MAX).unwrap();
    std::fs::write(dir.path().join("most"), vec![b'x'; most]).unwrap();
    std::fs::write(dir.path().join("more"), vec![b'x'; most + 1]).unwrap();
    assert_eq!(context_in(dir.path()).expand("${file:most}").unwrap().len(), most);
    for (text, expected) in [
        ("hunter2${env:NONE}", "needs the variable NONE, which is not set"),
        ("hunter2${env:BYTES}", "needs the variable BYTES, which is not UTF-8"),
        ("hunter2${file:none}", "needs the file `none`, which can't be read: No such file"),
        ("hunter2${file:bytes}", "needs the file `bytes`, which is not UTF-8"),
        ("hunter2${file:more}", "needs the file `more`, which has more than 65536 bytes"),
        ("hunter2${hunter2}", "must hold references of the form"),
        ("${env:TOKEN", "must hold references of the form"),
        ("${env:}", "must hold references of the form"),
        ("${env:hunter 2}", "must hold references of the form"),
        ("${env:2}", "must hold references of the form"),
        ("${file:}", "must hold references of the form"),
        ("${ENV:TOKEN}", "must hold references of the form"),
        ("${env:TOKEN}${hunter2", "`$${` stands for `${` itself"),
    ] {
        let reason = context_in(dir.path()).expand(text).unwrap_err();
        assert!(reason.contains(expected), "{text}: {reason}");
        assert!(!reason.contains("hunter") && !reason.contains("s3cret"), "{text}: {reason}");
    }
}
