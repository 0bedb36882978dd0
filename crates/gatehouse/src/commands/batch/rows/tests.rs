use super::*;
use serde_json::json;

fn read(text: &str) -> Result<Value, String> {
    parse("t.csv", text).map(Value::from).map_err(|why| why.message().to_owned())
}

#[test]
fn tables_are_read_as_spreadsheets_write_them() {
    let expected = json!([{"username": "a", "password": "p, q", "deviceName": "Pumpe \"7\""}, {}]);
    for text in [
        "username,password,deviceName\na,\"p, q\",\"Pumpe \"\"7\"\"\"\n,,\n",
        "Username;Password;Device Name\r\na;p, q;\"Pumpe \"\"7\"\"\"\r\n;;\r\n",
        "username\tpassword\tdevice_name\na\tp, q\t\"Pumpe \"\"7\"\"\"\n\t\t\n",
    ] {
        assert_eq!(read(text).unwrap(), expected, "{text}");
    }
    let order = read("deviceName,username\npump,u\n").unwrap();
    assert_eq!(order, json!([{"deviceName": "pump", "username": "u"}]));
    assert_eq!(read("deviceName\npump\n").unwrap(), json!([{"deviceName": "pump"}]));
}

#[test]
fn columns_of_labels_are_read() {
    let text = "username,label.site,label.a_b\nu,Köln,\nv,,x\nw,,\n";
    let expected = json!([
        {"username": "u", "labels": {"site": "Köln"}}, {"username": "v", "labels": {"a_b": "x"}},
        {"username": "w"},
    ]);
    assert_eq!(read(text).unwrap(), expected);
    let long = "x".repeat(129);
    let message = read(&format!("username,label.site\nu,{long}\n")).unwrap_err();
    assert!(message.contains("line 2: label.site must have 1 to 128 bytes"), "{message}");
    for (head, expected) in [
        ("label.Site", "`label.Site` is no column"),
        ("label.", "`label.` is no column"),
        ("label.site,label.site", "label.site occurs twice"),
    ] {
        let message = read(&format!("{head}\n,\n")).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
    let head: Vec<String> = (0..33).map(|n| format!("label.k{n}")).collect();
    let message = read(&format!("{}\n{}\n", head.join(","), vec!["v"; 33].join(","))).unwrap_err();
    assert!(message.contains("line 2: must hold at most 32 labels, not 33"), "{message}");
}

#[test]
fn every_fault_is_reported_with_its_line() {
    let long = "x".repeat(73);
    let text = format!(
        "username,password,deviceName\nok,,\na\x07b,,\n ok2,,\nok,,\nb,{long},\nc,d\n,,{}\n",
        "y".repeat(129)
    );
    insta::assert_snapshot!(read(&text).unwrap_err(), @"
    t.csv has faults, and nothing was sent:
        line 3: username must not hold control characters, such as U+0007
        line 4: username ` ok2` begins or ends with a space
        line 5: username `ok` is already on line 2
        line 6: password must have 1 to 72 bytes of UTF-8, not 73
        line 7: has 2 cells, where the table has 3 columns
        line 8: deviceName must have 1 to 128 characters, not 129
    ");
}

#[test]
fn a_hash_stands_in_for_a_password() {
    let hash = "$2y$05$bYObCh08.QcSg7laiYrBROaIZsHTKdOvKFTwMGozkm11XaF9pv396";
    let rows = read(&format!("username,Password Hash\nann,{hash}\nbob,\n"));
    assert_eq!(
        rows.unwrap(),
        json!([{"username": "ann", "passwordHash": hash}, {"username": "bob"}])
    );
    let costly = hash.replace("$05$", "$15$");
    let text = format!("password,passwordHash\nx,{hash}\n,{costly}\n,hunter2\n");
    insta::assert_snapshot!(read(&text).unwrap_err(), @"
    t.csv has faults, and nothing was sent:
        line 2: has a password and a passwordHash, of which an access has one
        line 3: passwordHash has 15 as its cost of bcrypt, which must be 4 to 14
        line 4: passwordHash is no hash but looks like clear text: give that as `password`
    ");
}

/// Spreadsheets' line ends: the line numbers are an editor's.
#[test]
fn lines_are_counted_with_any_line_end() {
    let message = read("username;password\r\nok;\r\n\r\na\u{7}b;\r\n").unwrap_err();
    assert!(message.contains("line 4: username must not hold"), "{message}");
}

#[test]
fn texts_that_are_no_table_are_reported() {
    for (text, expected) in [
        ("", "no rows"),
        ("username,password\n", "no rows"),
        ("pump-1\npump-2\n", "`pump-1` is no column"),
        ("username,colour\na,b\n", "`colour` is no column"),
        ("username,username\na,b\n", "twice"),
    ] {
        let message = read(text).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn passwords_are_never_repeated() {
    let message = read(&format!("password\n{}\n", "hunter2".repeat(20))).unwrap_err();
    assert!(!message.contains("hunter2"), "{message}");
}
