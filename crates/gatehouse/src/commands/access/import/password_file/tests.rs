use super::*;

const BCRYPT: &str = "$2y$05$bYObCh08.QcSg7laiYrBROaIZsHTKdOvKFTwMGozkm11XaF9pv396";
const MOSQUITTO: &str = "$7$101$TPEWokhMuPDzUtdp$c9he7Btm9SU57WVCumwMA+nop1aJYWHk/v0Pv1j2X0YfgA/0kQ5hOx8sMF6ZUUxbOKrTpNt5mOaZqP8bd1q4Vg==";

fn parse(text: &str) -> PasswordFile {
    PasswordFile::parse("f", text).unwrap_or_else(|why| panic!("{why}"))
}

/// Each line: its number, and its username or the reason.
fn shown(file: &PasswordFile) -> String {
    let line = |it: &Result<Line, (u64, String)>| match it {
        Ok(line) => format!("{} {}", line.number, line.username()),
        Err((number, reason)) => format!("{number} ! {reason}"),
    };
    file.lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn password_files_of_mosquitto_and_htpasswd_are_read() {
    let file = parse(&format!("# devices\nann:{BCRYPT}\r\n\nbob:{MOSQUITTO}\ncleo:{BCRYPT}"));
    assert_eq!(shown(&file), "2 ann\n4 bob\n5 cleo");
    let formats: Vec<_> = file.formats().into_iter().collect();
    assert_eq!(formats, [("PBKDF2", 1), ("bcrypt", 2)]);
    let items: Vec<Value> = file.fit().map(Line::item).collect();
    assert_eq!(items[0], json!({"username": "ann", "passwordHash": BCRYPT}));
}

#[test]
fn tables_with_a_column_of_hashes_are_read() {
    let argon2 =
        "$argon2id$v=19$m=256,t=2,p=2$c2FsdHNhbHQ$yWWF01rDif7q0E03DEL7qJGeH9fdOPOw+48bBtXF+QE";
    for text in [
        format!("username,passwordHash,deviceName\nann,\"{argon2}\",Pump 7\nbob,{BCRYPT},\n"),
        format!("Password Hash;Username;Device Name\r\n{argon2};ann;Pump 7\r\n{BCRYPT};bob;\r\n"),
        format!("sep=;\nusername;password_hash;deviceName\nann;{argon2};Pump 7\nbob;{BCRYPT};\n"),
    ] {
        let items: Vec<Value> = parse(&text).fit().map(Line::item).collect();
        let ann = json!({"username": "ann", "passwordHash": argon2, "deviceName": "Pump 7"});
        assert_eq!(items, [ann, json!({"username": "bob", "passwordHash": BCRYPT})], "{text}");
    }
    let wrong = |text: &str| PasswordFile::parse("f", text).err().unwrap().message().to_owned();
    assert_eq!(
        wrong("username,passwordHash,site\n"),
        "f, line 1: `site` is no column of an import; these are: username,passwordHash,deviceName,label.KEY"
    );
    assert_eq!(wrong("passwordHash,password_hash\n"), "f, line 1: password_hash occurs twice");
    assert_eq!(wrong("username,label.a,label.a\n"), "f, line 1: label.a occurs twice");
    for (head, missing) in
        [("Username;deviceName\n", "passwordHash"), ("passwordHash\n", "username")]
    {
        assert_eq!(
            wrong(head),
            format!(
                "f, line 1: the table has no column {missing}; an import needs username and passwordHash"
            )
        );
    }
    // A password file's line may have commas.
    assert_eq!(shown(&parse(&format!("username:{BCRYPT}\na,b:{BCRYPT}"))), "1 username\n2 a,b");
}

#[test]
fn labels_are_columns_of_a_table() {
    let text = format!(
        "username,passwordHash,label.site,label.team\nann,{BCRYPT},hamburg,\nbob,{BCRYPT},,\ncleo,{BCRYPT},{},x\n",
        "x".repeat(129)
    );
    let file = parse(&text);
    let labels: Vec<Value> = file.fit().map(|line| line.item()["labels"].clone()).collect();
    assert_eq!(labels, [json!({"site": "hamburg"}), Value::Null]);
    assert_eq!(file.refused().len(), 1);
    assert!(file.refused()[0].1.starts_with("label.site must have"), "{:?}", file.refused());
}

#[test]
fn every_refused_line_has_its_number_and_reason() {
    let file = parse(&format!(
        "ann:{BCRYPT}\nbob\nann:{BCRYPT}\n dan:{BCRYPT}\n:{BCRYPT}\neve:\nfay:hunter2\n\
         gus:$apr1$Ls6NHcgU$u1Gx1sWOQ2nyEMMBB0ACc0\nhal:{}\nivy\u{7}:{BCRYPT}\n",
        BCRYPT.replace("$05$", "$15$")
    ));
    insta::assert_snapshot!(shown(&file), @"
    1 ann
    2 ! has no `:` between a username and a hash; a table begins with the names of its columns, username and passwordHash
    3 ! username `ann` is already on line 1
    4 ! username ` dan` begins or ends with a space
    5 ! has no username
    6 ! has no hash
    7 ! passwordHash is no hash but looks like clear text: `gatehouse batch create --from` takes tables with a column password
    8 ! passwordHash is Apache's MD5-crypt, which is too weak: give the device a new password, or hash its old one as bcrypt
    9 ! passwordHash has 15 as its cost of bcrypt, which must be 4 to 14
    10 ! username must not hold control characters, such as U+0007
    ");
    assert_eq!((file.n_lines(), file.fit().count(), file.refused().len()), (10, 1, 9));
    let table = parse(&format!("username,passwordHash\nann\n,{BCRYPT}\nbob,x\n"));
    insta::assert_snapshot!(shown(&table), @"
    2 ! has 1 cell, where the table has 2 columns
    3 ! has no username
    4 ! passwordHash is no hash but looks like clear text: `gatehouse batch create --from` takes tables with a column password
    ");
}
