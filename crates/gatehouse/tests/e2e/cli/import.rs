use super::*;

/// `correct horse`, as htpasswd and mosquitto_passwd hash it.
const BCRYPT: &str = "$2y$05$bYObCh08.QcSg7laiYrBROaIZsHTKdOvKFTwMGozkm11XaF9pv396";
const MOSQUITTO: &str = "$7$101$TPEWokhMuPDzUtdp$c9he7Btm9SU57WVCumwMA+nop1aJYWHk/v0Pv1j2X0YfgA/0kQ5hOx8sMF6ZUUxbOKrTpNt5mOaZqP8bd1q4Vg==";

/// A server whose batches have three items at most.
fn open() -> Shell {
    let setup = Setup::sqlite();
    std::fs::write(setup.path("g.toml"), "[limits]\nbatch_items = 3\n").unwrap();
    Shell::on(setup, &["--config", "g.toml"])
}

fn n_accesses(shell: &Shell) -> usize {
    shell.json(&["access", "list", "--all", "-o", "json"]).as_array().unwrap().len()
}

async fn is_right(shell: &Shell, username: &str) -> bool {
    let body = serde_json::json!({"username": username, "password": "correct horse"}).to_string();
    shell.server.json(reqwest::Method::POST, "/demo/verify", Some(&body)).await.0 == 200
}

#[tokio::test]
async fn the_first_run_reports_and_the_second_creates_in_pieces() {
    let shell = open();
    let lines =
        (0..7).map(|n| format!("dev-{n}:{}\n", if n % 2 == 0 { BCRYPT } else { MOSQUITTO }));
    let lines: String = lines.collect();
    shell.write("passwd", &format!("{lines}bad:hunter2\n"));
    let import = ["access", "import", "passwd", "--contract", "C-PAYG"];
    let dry = shell.run(&import);
    assert_eq!(dry.code, 2);
    insta::assert_snapshot!(dry.stdout, @"
    lines    8
    fit      7
    refused  1
    formats  PBKDF2 3, bcrypt 4
    ");
    insta::assert_snapshot!(dry.stderr, @"
    line 8: passwordHash is no hash but looks like clear text: `gatehouse batch create --from` takes tables with a column password
    gatehouse: 1 of 8 lines can't be imported
      what to do: `gatehouse access import passwd --contract C-PAYG --yes` creates the accesses of the lines that fit
    ");
    assert_eq!(n_accesses(&shell), 0, "nothing was sent");

    // Another device has a username of the file.
    shell.ok(&["access", "create", "--contract", "C-PAYG", "--username", "dev-4"]);
    let import = [&import[..], &["--yes"]].concat();
    let done = shell.run(&import);
    assert_eq!(done.code, 3, "{}", done.stderr);
    let batches = steady(&done.stdout);
    insta::assert_snapshot!(batches, @"
    lines    8
    refused  1
    created  6
    failed   1
    batches  job-01234567-89ab-7cde-f012-3456789abcde job-01234567-89ab-7cde-f012-3456789abcde job-01234567-89ab-7cde-f012-3456789abcde
    ");
    insta::assert_snapshot!(steady(&done.stderr), @"
    line 8: passwordHash is no hash but looks like clear text: `gatehouse batch create --from` takes tables with a column password
    lines 1 to 3: job-01234567-89ab-7cde-f012-3456789abcde was accepted at 2026-11-16T12:30:00.000Z
    lines 4 to 6: job-01234567-89ab-7cde-f012-3456789abcde was accepted at 2026-11-16T12:30:00.000Z
    line 5 (username dev-4): 409 Username taken: username `dev-4` is taken by another access
    line 7: job-01234567-89ab-7cde-f012-3456789abcde was accepted at 2026-11-16T12:30:00.000Z
    gatehouse: 2 of 8 lines were not imported
    ");
    for hash in [BCRYPT, MOSQUITTO] {
        assert!(![&dry, &done].iter().any(|ran| ran.stderr.contains(&hash[8..])));
    }
    assert_eq!(n_accesses(&shell), 7);
    for (username, expected) in
        [("dev-0", true), ("dev-1", true), ("dev-4", false), ("dev-6", true)]
    {
        assert_eq!(is_right(&shell, username).await, expected, "{username}");
    }
    // The same command again gets the same batches, and says that they were accepted before.
    let again = shell.run(&import);
    assert_eq!((again.stdout, again.stderr), (done.stdout, done.stderr));
    assert_eq!(n_accesses(&shell), 7);
}

#[tokio::test]
async fn a_table_is_imported_from_standard_input() {
    let shell = Shell::open();
    let table = format!("username;password hash;device name\nann;{BCRYPT};Pump 7\n");
    let import = ["access", "import", "-", "--contract", "C-PRE"];
    let dry = shell.run_with(&[&import[..], &["-o", "json"]].concat(), &table);
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    let report: serde_json::Value = serde_json::from_str(&dry.stdout).unwrap();
    assert_eq!((&report["fit"], &report["refusedLines"]), (&1.into(), &serde_json::json!([])));
    assert_eq!(report["formats"], serde_json::json!({"bcrypt": 1}));
    let import = [&import[..], &["--yes", "-o", "json"]].concat();
    let done = shell.run_with(&import, &table);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let result: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(result["batches"].as_array().map(Vec::len), Some(1));
    assert_eq!(result["failedLines"], serde_json::json!([]));
    // Anew: the username exists.
    let again = shell.run_with(&[&import[..], &["--again"]].concat(), &table);
    let result: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    let failed = &result["failedLines"][0];
    assert_eq!((&failed["line"], &failed["username"]), (&2.into(), &"ann".into()));
    assert!(failed["reason"].as_str().is_some_and(|it| it.contains("Username taken")), "{failed}");
    assert!(is_right(&shell, "ann").await);
    let shown = shell.json(&["access", "show", "ann", "-o", "json"]);
    assert_eq!((&shown["name"], &shown["status"]), (&"Pump 7".into(), &"ACTIVE".into()));
}

#[test]
fn files_without_a_fitting_line_and_rejected_batches_are_errors() {
    let shell = Shell::open();
    shell.write("bad", "ann:hunter2\n");
    shell.write("empty", "# nothing\n");
    shell.write("good", &format!("ann:{BCRYPT}\n"));
    for (words, expected) in [
        (&["bad", "--contract", "C-PAYG"][..], "1 of 1 lines can't be imported"),
        (&["bad", "--contract", "C-PAYG", "--yes"], "1 of 1 lines were not imported"),
        (&["empty", "--contract", "C-PAYG"], "empty has no usernames and hashes"),
        (&["gone", "--contract", "C-PAYG"], "gone can't be read"),
        (&["good", "--contract", "C-GONE", "--yes"], "the batch was rejected, nothing was done"),
        (
            &["good", "--contract", "C-GONE", "--yes"],
            "--contract C-GONE --yes --again` sends all lines anew",
        ),
    ] {
        let ran = shell.run(&[&["access", "import"], words].concat());
        assert_ne!(ran.code, 0, "{words:?}");
        assert!(ran.stderr.contains(expected), "{words:?}: {}", ran.stderr);
    }
    assert_eq!(n_accesses(&shell), 0);
}
