use super::*;

/// Accesses that look the same in every run.
fn fill(shell: &Shell) {
    for (username, name) in
        [("pump-one", "pump-1"), ("meter-two", "Zähler im Keller, Nordflügel, hinten links")]
    {
        shell.ok(&[
            "access",
            "create",
            "--contract",
            "C-PAYG",
            "--username",
            username,
            "--device-name",
            name,
        ]);
    }
    shell.ok(&["access", "create", "--contract", "C-PRE", "--username", "sensor-three"]);
}

#[test]
fn tables_fit_the_terminal() {
    let shell = Shell::open();
    fill(&shell);
    shell.ok(&["access", "suspend", "meter-two"]);
    let (narrow, _) = shell.terminal(&["access", "list"], 80).finish();
    insta::assert_snapshot!(steady(&narrow), @"
    ID                                    USERNAME     NAME           STATUS
    01234567-89ab-7cde-f012-3456789abcde  pump-one     pump-1         ACTIVE
    01234567-89ab-7cde-f012-3456789abcde  meter-two    Zähler im Ke…  SUSPENDED
    01234567-89ab-7cde-f012-3456789abcde  sensor-thr…  sensor-three   PENDING_ACTIVE
    ");
    let (wide, _) = shell.terminal(&["access", "list"], 200).finish();
    insta::assert_snapshot!(steady(&wide), @"
    ID                                    USERNAME      NAME                                        STATUS          CONTRACT  OFFERING     STARTS (UTC)
    01234567-89ab-7cde-f012-3456789abcde  pump-one      pump-1                                      ACTIVE          C-PAYG    PO-IOT-PAYG  2026-11-16 12:30
    01234567-89ab-7cde-f012-3456789abcde  meter-two     Zähler im Keller, Nordflügel, hinten links  SUSPENDED       C-PAYG    PO-IOT-PAYG  2026-11-16 12:30
    01234567-89ab-7cde-f012-3456789abcde  sensor-three  sensor-three                                PENDING_ACTIVE  C-PRE     PO-IOT-YEAR  2026-11-16 12:30
    ");
    let (one, _) = shell.terminal(&["access", "show", "pump-1"], 80).finish();
    insta::assert_snapshot!(steady(&one), @"
    id        01234567-89ab-7cde-f012-3456789abcde
    username  pump-one
    name      pump-1
    status    ACTIVE
    contract  C-PAYG
    offering  PO-IOT-PAYG
    starts    2026-11-16T12:30:00.000Z
    ");
    let (contracts, _) = shell.terminal(&["contract", "list"], 80).finish();
    insta::assert_snapshot!(steady(&contracts), @"
    ID      STATUS  BILLING      ACCESSES  AT MOST  OFFERING     VALID FOR
    C-PAYG  ACTIVE  PAY_PER_USE  2                  PO-IOT-PAYG
    C-PRE   ACTIVE  PREPAID      1         500000   PO-IOT-YEAR  P365D
    ");
}

#[test]
fn colours_are_for_terminals_alone() {
    let shell = Shell::open();
    fill(&shell);
    let escape = '\u{1b}';
    let (raw, _) = shell.terminal(&["access", "list"], 80).finish_raw();
    assert!(raw.contains(escape), "a terminal has them");
    assert!(!shell.ok(&["access", "list"]).contains(escape), "a pipe has none");
    let mut command = shell.command(&["access", "list"]);
    command.env("NO_COLOR", "1");
    let (raw, _) = Terminal::start(command, 80).finish_raw();
    assert!(!raw.contains(escape), "nor with NO_COLOR");
    // Other outputs have what doesn't fit a terminal.
    assert!(shell.ok(&["access", "list"]).contains("Zähler im Keller, Nordflügel, hinten links"));
}

/// A device's name must not control a reader's terminal.
#[test]
fn names_cannot_control_the_terminal() {
    let shell = Shell::open();
    let evil = "pump\u{1b}[2J\u{7}\r\nx";
    shell.ok(&[
        "access",
        "create",
        "--contract",
        "C-PAYG",
        "--username",
        "u",
        "--device-name",
        evil,
    ]);
    for words in [&["access", "list"][..], &["access", "show", "u"]] {
        let shown = shell.ok(words);
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\r']), "{shown:?}");
    }
    let named = shell.json(&["access", "show", "u", "--output", "json"]);
    assert_eq!(named["name"], evil, "programs get it as it is");
    // In every output format, and in questions.
    let stays_home = |raw: &str| !raw.replace("\u{1b}[0m", "").contains("\u{1b}[2J");
    for form in ["table", "json", "csv"] {
        let (raw, code) = shell.terminal(&["access", "show", "u", "-o", form], 80).finish_raw();
        assert!(code == 0 && stays_home(&raw), "{form}: {raw:?}");
    }
    let mut terminal = shell.terminal(&["access", "terminate", "u"], 80);
    terminal.until("a question", |screen| screen.contains("[y/N]"));
    terminal.press("n\n");
    let (raw, code) = terminal.finish_raw();
    assert!(code == 1 && stays_home(&raw), "{raw:?}");
    let (raw, code) = shell.terminal(&["access", "show", "x\u{1b}[2J"], 80).finish_raw();
    assert!(code == 5 && stays_home(&raw), "{raw:?}");
}

#[test]
fn an_access_goes_through_its_lifecycle_at_the_command_line() {
    let shell = Shell::open();
    let made = shell.json(&[
        "access",
        "create",
        "--contract",
        "C-PAYG",
        "--device-name",
        "pump-7",
        "-o",
        "json",
    ]);
    let (id, first) = (made["id"].as_str().unwrap(), made["password"].as_str().unwrap());
    assert_eq!(made["status"], "ACTIVE");

    // By its ID, its username and its name.
    for named in [id, &id.to_uppercase(), made["username"].as_str().unwrap(), "pump-7"] {
        let shown = shell.json(&["access", "show", named, "-o", "json"]);
        assert_eq!((&shown["id"], shown.get("password")), (&made["id"], None), "{named}");
    }
    let rotated = shell.json(&["access", "rotate", "pump-7", "-o", "json"]);
    let second = rotated["password"].as_str().unwrap();
    assert_eq!(second.len(), 24);
    assert_ne!(second, first);
    let chosen = shell.run_with(
        &["access", "rotate", id, "--password-file", "-", "-o", "csv"],
        "rain on the roof\n",
    );
    assert!(chosen.stdout.contains(",rain on the roof,"), "{}", chosen.stdout);
    for (verb, status) in
        [("suspend", "SUSPENDED"), ("activate", "ACTIVE"), ("terminate", "TERMINATED")]
    {
        let changed = shell.json(&["access", verb, "pump-7", "-o", "json"]);
        assert_eq!(changed["status"], status, "{verb}");
    }
    let late = shell.run(&["access", "activate", "pump-7"]);
    assert_eq!(late.code, 6);
    assert!(
        late.stderr.contains("409 Access terminated") && late.stderr.contains("create a new one"),
        "{}",
        late.stderr
    );
}

#[test]
fn a_password_is_shown_once_and_comes_from_a_file() {
    let shell = Shell::open();
    shell.write("secret", "wind in the trees\n");
    let words = [
        "access",
        "create",
        "--contract",
        "C-PAYG",
        "--username",
        "u",
        "--password-file",
        "secret",
    ];
    let made = shell.run(&words);
    assert!(made.stdout.contains("password  wind in the trees\n"), "{}", made.stdout);
    assert_eq!(made.stderr, "the password is shown only now\n");
    assert!(!shell.ok(&["access", "show", "u"]).contains("wind"));
    let checked =
        shell.run(&["access", "create", "--contract", "C-PAYG", "--password-file", "nowhere"]);
    assert_eq!((checked.code, checked.stdout.as_str()), (2, ""));
    assert!(checked.stderr.contains("nowhere can't be read"), "{}", checked.stderr);
}

#[test]
fn an_ambiguous_name_is_an_error() {
    let shell = Shell::open();
    for _ in 0..2 {
        shell.ok(&["access", "create", "--contract", "C-PAYG", "--device-name", "twin"]);
    }
    let ran = shell.run(&["access", "terminate", "twin", "--yes"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("2 accesses are called `twin`; which one?"), "{}", ran.stderr);
    let statuses = shell.ok(&["access", "list", "--name", "twin", "-o", "csv"]);
    assert_eq!(statuses.matches(",ACTIVE,").count(), 2, "neither was ended");

    // The device was replaced: its terminated access doesn't hide the next one's.
    let id = statuses.lines().nth(1).unwrap().split(',').next().unwrap();
    shell.ok(&["access", "terminate", id]);
    let suspended = shell.json(&["access", "suspend", "twin", "-o", "json"]);
    assert_eq!(suspended["status"], "SUSPENDED");
    assert_ne!(suspended["id"], id);
}

#[test]
fn terminating_asks_at_a_terminal_and_never_in_a_script() {
    let shell = Shell::open();
    for name in ["a", "b", "c"] {
        shell.ok(&["access", "create", "--contract", "C-PAYG", "--username", name]);
    }
    let status = |name: &str| shell.json(&["access", "show", name, "-o", "json"])["status"].clone();
    let mut terminal = shell.terminal(&["access", "terminate", "a"], 80);
    let asked = terminal.until("a question", |screen| screen.contains("[y/N]"));
    insta::assert_snapshot!(steady(&asked), @"
    a (01234567-89ab-7cde-f012-3456789abcde, contract C-PAYG, ACTIVE) is terminated now and for good: its device is refused, and the access can't be restored.
    Go on? [y/N]
    ");
    terminal.press("n\n");
    let (screen, code) = terminal.finish();
    assert_eq!(code, 1, "{screen}");
    assert!(screen.contains("nothing was changed"), "{screen}");
    assert_eq!(status("a"), "ACTIVE");

    let mut terminal = shell.terminal(&["access", "terminate", "a"], 80);
    terminal.until("a question", |screen| screen.contains("[y/N]"));
    terminal.press("y\n");
    assert_eq!(terminal.finish().1, 0);
    assert_eq!(status("a"), "TERMINATED");
    assert_eq!(shell.terminal(&["access", "terminate", "b", "--yes"], 80).finish().1, 0);
    assert_eq!(shell.run(&["access", "terminate", "c"]).code, 0);
    assert_eq!((status("b"), status("c")), ("TERMINATED".into(), "TERMINATED".into()));
}

#[test]
fn lists_are_filtered_by_flags_and_raw() {
    let shell = Shell::open();
    fill(&shell);
    let strange = "a&b;c=d%2 +é";
    shell.ok(&[
        "access",
        "create",
        "--contract",
        "C-PRE",
        "--username",
        "strange",
        "--device-name",
        strange,
    ]);
    let usernames = |words: &[&str]| {
        let words = [&["access", "list", "-o", "json"], words].concat();
        let listed = shell.json(&words);
        let listed: Vec<_> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["username"].as_str().unwrap().to_owned())
            .collect();
        listed.join(" ")
    };
    let all = "pump-one meter-two sensor-three strange";
    #[rustfmt::skip]
    let cases: [(&[&str], &str); 14] = [
        (&[],                                                              all),
        (&["--contract", "C-PAYG"],                                        "pump-one meter-two"),
        (&["--offering", "PO-IOT-YEAR"],                                   "sensor-three strange"),
        (&["--name", strange],                                             "strange"),
        (&["--username", "pump-one", "--contract", "C-PRE"],               ""),
        (&["--created-since", "2026-01-01T00:00:00+02:00"],                all),
        (&["--created-before", "2026-01-01"],                              ""),
        (&["--status", "active"],                                          "pump-one meter-two"),
        (&["--status", "PENDING_ACTIVE", "--username", "strange"],          "strange"),
        (&["--status", "TERMINATED"],                                      ""),
        (&["--ends-since", "2026-01-01"],                                  ""),
        (&["--filter", "username=pump-one;username=strange"],              "pump-one strange"),
        (&["--filter", "username=pump-one;username=strange", "--contract", "C-PRE"], "strange"),
        (&["--filter", "createdAt>=2026-01-01&contractId=C-PRE", "--page-size", "1"], "sensor-three"),
    ];
    for (words, expected) in cases {
        assert_eq!(usernames(words), expected, "{words:?}");
    }
    let mistyped = shell.run(&["access", "list", "--filter", "contractid=C-PRE"]);
    assert_eq!(
        (mistyped.code, mistyped.stdout.as_str()),
        (6, ""),
        "a mistyped filter lists nothing"
    );
    assert!(mistyped.stderr.contains("contractid is not known here"), "{}", mistyped.stderr);
}

#[test]
fn the_position_in_a_list_is_shown_and_all_pages_stream() {
    let shell = Shell::open();
    let none = shell.run(&["access", "list"]);
    assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("", "no accesses\n"));
    assert_eq!(shell.ok(&["access", "list", "--all", "-o", "json"]), "[]\n");
    assert_eq!(shell.ok(&["access", "list", "--all", "-o", "csv"]).lines().count(), 1);

    shell.ok(&["batch", "create", "--contract", "C-PAYG", "--count", "2345", "--wait"]);
    let listed = shell.json(&["access", "list", "--all", "--output", "json"]);
    assert_eq!(listed.as_array().unwrap().len(), 2345);
    let table = shell.ok(&["access", "list", "--all", "--page-size", "500"]);
    assert_eq!(table.lines().count(), 2346);
    let csv = shell.ok(&["access", "list", "--all", "-o", "csv"]);
    assert_eq!(csv.lines().count(), 2346);
    assert!(!csv.contains("password"), "{}", csv.lines().next().unwrap());
    // A page must not be taken for the whole list.
    let page = shell.run(&["access", "list", "-o", "csv"]);
    let message = "100 of 2345 accesses; --page 2 shows the next, --all shows all\n";
    assert_eq!((page.stdout.lines().count(), page.stderr.as_str()), (101, message));
    let (screen, _) =
        shell.terminal(&["access", "list", "--page-size", "2", "--page", "3"], 100).finish();
    assert!(
        screen.ends_with("2 of 2345 accesses; --page 4 shows the next, --all shows all"),
        "{screen}"
    );
    let past = shell.run(&["access", "list", "--page", "24"]);
    assert_eq!(past.stdout.lines().count(), 46, "45 are on the last page");
    let past = shell.run(&["access", "list", "--page", "25"]);
    assert_eq!(
        (past.stdout.as_str(), past.stderr.as_str()),
        ("", "page 25 is behind the last of 2345 accesses\n")
    );

    // A reader that closes the pipe ends the command without an error.
    let mut command = shell.command(&["access", "list", "--all"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), printed(&output).as_str()), (Some(141), ""));
}

/// A server with a smaller page size than the client's default still gives all pages.
#[test]
fn small_pages_are_read_to_the_end_too() {
    let setup = Setup::sqlite();
    let server = setup.serve_set(&[("LIMITS__PAGE_SIZE_MAX", "7")]);
    let shell = Shell { setup, server };
    fn of_acme<'w>(words: &[&'w str]) -> Vec<&'w str> {
        [words, &["--tenant", "acme"]].concat()
    }
    shell.ok(&of_acme(&["batch", "create", "--contract", "payg", "--count", "20", "--wait"]));
    assert_eq!(shell.ok(&of_acme(&["access", "list", "--all"])).lines().count(), 21);
    shell.ok(&of_acme(&["access", "create", "--contract", "payg", "--username", "u"]));
    shell.ok(&of_acme(&["access", "show", "u"]));
    let taken = shell.run_with(
        &of_acme(&["batch", "create", "--contract", "payg", "--from", "-", "--wait"]),
        "username\nu\n",
    );
    assert_eq!(taken.code, 3, "{}", taken.stderr);
    let ran = shell.run(&of_acme(&["access", "list", "--page-size", "8"]));
    assert_eq!(ran.code, 6, "what is asked for by name is not changed in silence");
}
