use super::*;

/// Accesses that look the same every time.
fn fill(desk: &Desk) {
    for (username, name) in
        [("pump-one", "pump-1"), ("meter-two", "Zähler im Keller, Nordflügel, hinten links")]
    {
        desk.ok(&[
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
    desk.ok(&["access", "create", "--contract", "C-PRE", "--username", "sensor-three"]);
}

#[test]
fn tables_fit_the_terminal() {
    let desk = Desk::open();
    fill(&desk);
    desk.ok(&["access", "suspend", "meter-two"]);
    let (narrow, _) = desk.terminal(&["access", "list"], 80).finish();
    insta::assert_snapshot!(steady(&narrow), @"
    ID                                    USERNAME     NAME           STATUS
    01234567-89ab-7cde-f012-3456789abcde  pump-one     pump-1         ACTIVE
    01234567-89ab-7cde-f012-3456789abcde  meter-two    Zähler im Ke…  SUSPENDED
    01234567-89ab-7cde-f012-3456789abcde  sensor-thr…  sensor-three   PENDING_ACTIVE
    ");
    let (wide, _) = desk.terminal(&["access", "list"], 200).finish();
    insta::assert_snapshot!(steady(&wide), @"
    ID                                    USERNAME      NAME                                        STATUS          CONTRACT  OFFERING     STARTS (UTC)
    01234567-89ab-7cde-f012-3456789abcde  pump-one      pump-1                                      ACTIVE          C-PAYG    PO-IOT-PAYG  2026-11-16 12:30
    01234567-89ab-7cde-f012-3456789abcde  meter-two     Zähler im Keller, Nordflügel, hinten links  SUSPENDED       C-PAYG    PO-IOT-PAYG  2026-11-16 12:30
    01234567-89ab-7cde-f012-3456789abcde  sensor-three  sensor-three                                PENDING_ACTIVE  C-PRE     PO-IOT-YEAR  2026-11-16 12:30
    ");
    let (one, _) = desk.terminal(&["access", "show", "pump-1"], 80).finish();
    insta::assert_snapshot!(steady(&one), @"
    id        01234567-89ab-7cde-f012-3456789abcde
    username  pump-one
    name      pump-1
    status    ACTIVE
    contract  C-PAYG
    offering  PO-IOT-PAYG
    starts    2026-11-16T12:30:00.000Z
    ");
    let (contracts, _) = desk.terminal(&["contract", "list"], 80).finish();
    insta::assert_snapshot!(steady(&contracts), @"
    ID      STATUS  BILLING      ACCESSES  AT MOST  OFFERING     VALID FOR
    C-PAYG  ACTIVE  PAY_PER_USE  2                  PO-IOT-PAYG
    C-PRE   ACTIVE  PREPAID      1         500000   PO-IOT-YEAR  P365D
    ");
}

#[test]
fn colours_are_for_terminals_alone() {
    let desk = Desk::open();
    fill(&desk);
    let escape = '\u{1b}';
    let (raw, _) = desk.terminal(&["access", "list"], 80).finish_raw();
    assert!(raw.contains(escape), "a terminal has them");
    assert!(!desk.ok(&["access", "list"]).contains(escape), "a pipe has none");
    let mut command = desk.command(&["access", "list"]);
    command.env("NO_COLOR", "1");
    let (raw, _) = Terminal::start(command, 80).finish_raw();
    assert!(!raw.contains(escape), "nor has who wants none");
    // What doesn't fit a terminal isn't missing elsewhere.
    assert!(desk.ok(&["access", "list"]).contains("Zähler im Keller, Nordflügel, hinten links"));
}

/// Whoever names a device must not steer the terminal of whoever looks at it.
#[test]
fn names_cannot_steer_the_terminal() {
    let desk = Desk::open();
    let evil = "pump\u{1b}[2J\u{7}\r\nx";
    desk.ok(&[
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
        let shown = desk.ok(words);
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\r']), "{shown:?}");
    }
    let named = desk.json(&["access", "show", "u", "--output", "json"]);
    assert_eq!(named["name"], evil, "programs get it as it is");
    // Whatever form a terminal is shown, and whoever is asked there.
    let stays_home = |raw: &str| !raw.replace("\u{1b}[0m", "").contains("\u{1b}[2J");
    for form in ["table", "json", "csv"] {
        let (raw, code) = desk.terminal(&["access", "show", "u", "-o", form], 80).finish_raw();
        assert!(code == 0 && stays_home(&raw), "{form}: {raw:?}");
    }
    let mut terminal = desk.terminal(&["access", "terminate", "u"], 80);
    terminal.until("a question", |screen| screen.contains("[y/N]"));
    terminal.press("n\n");
    let (raw, code) = terminal.finish_raw();
    assert!(code == 1 && stays_home(&raw), "{raw:?}");
    let (raw, code) = desk.terminal(&["access", "show", "x\u{1b}[2J"], 80).finish_raw();
    assert!(code == 5 && stays_home(&raw), "{raw:?}");
}

#[test]
fn an_access_lives_its_life_at_the_command_line() {
    let desk = Desk::open();
    let made = desk.json(&[
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
        let shown = desk.json(&["access", "show", named, "-o", "json"]);
        assert_eq!((&shown["id"], shown.get("password")), (&made["id"], None), "{named}");
    }
    let rotated = desk.json(&["access", "rotate", "pump-7", "-o", "json"]);
    let second = rotated["password"].as_str().unwrap();
    assert_eq!(second.len(), 24);
    assert_ne!(second, first);
    let chosen = desk.run_with(
        &["access", "rotate", id, "--password-file", "-", "-o", "csv"],
        "rain on the roof\n",
    );
    assert!(chosen.stdout.contains(",rain on the roof,"), "{}", chosen.stdout);
    for (verb, status) in
        [("suspend", "SUSPENDED"), ("activate", "ACTIVE"), ("terminate", "TERMINATED")]
    {
        let changed = desk.json(&["access", verb, "pump-7", "-o", "json"]);
        assert_eq!(changed["status"], status, "{verb}");
    }
    let late = desk.run(&["access", "activate", "pump-7"]);
    assert_eq!(late.code, 6);
    assert!(
        late.stderr.contains("409 Access terminated") && late.stderr.contains("create a new one"),
        "{}",
        late.stderr
    );
}

#[test]
fn a_password_is_shown_once_and_comes_from_a_file() {
    let desk = Desk::open();
    desk.write("secret", "wind in the trees\n");
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
    let made = desk.run(&words);
    assert!(made.stdout.contains("password  wind in the trees\n"), "{}", made.stdout);
    assert_eq!(made.stderr, "the password is shown only now\n");
    assert!(!desk.ok(&["access", "show", "u"]).contains("wind"));
    let checked =
        desk.run(&["access", "create", "--contract", "C-PAYG", "--password-file", "nowhere"]);
    assert_eq!((checked.code, checked.stdout.as_str()), (2, ""));
    assert!(checked.stderr.contains("nowhere can't be read"), "{}", checked.stderr);
}

#[test]
fn a_name_that_several_have_means_none_of_them() {
    let desk = Desk::open();
    for _ in 0..2 {
        desk.ok(&["access", "create", "--contract", "C-PAYG", "--device-name", "twin"]);
    }
    let ran = desk.run(&["access", "terminate", "twin", "--yes"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("2 accesses are called `twin`; which one?"), "{}", ran.stderr);
    let statuses = desk.ok(&["access", "list", "--name", "twin", "-o", "csv"]);
    assert_eq!(statuses.matches(",ACTIVE,").count(), 2, "neither was ended");

    // The device was replaced: its ended access doesn't stand in the way of the next one's.
    let id = statuses.lines().nth(1).unwrap().split(',').next().unwrap();
    desk.ok(&["access", "terminate", id]);
    let suspended = desk.json(&["access", "suspend", "twin", "-o", "json"]);
    assert_eq!(suspended["status"], "SUSPENDED");
    assert_ne!(suspended["id"], id);
}

#[test]
fn ending_one_is_asked_for_at_a_terminal_and_never_in_a_script() {
    let desk = Desk::open();
    for name in ["a", "b", "c"] {
        desk.ok(&["access", "create", "--contract", "C-PAYG", "--username", name]);
    }
    let status = |name: &str| desk.json(&["access", "show", name, "-o", "json"])["status"].clone();
    let mut terminal = desk.terminal(&["access", "terminate", "a"], 80);
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

    let mut terminal = desk.terminal(&["access", "terminate", "a"], 80);
    terminal.until("a question", |screen| screen.contains("[y/N]"));
    terminal.press("y\n");
    assert_eq!(terminal.finish().1, 0);
    assert_eq!(status("a"), "TERMINATED");
    assert_eq!(desk.terminal(&["access", "terminate", "b", "--yes"], 80).finish().1, 0);
    assert_eq!(desk.run(&["access", "terminate", "c"]).code, 0);
    assert_eq!((status("b"), status("c")), ("TERMINATED".into(), "TERMINATED".into()));
}

#[test]
fn lists_are_filtered_by_flags_and_raw() {
    let desk = Desk::open();
    fill(&desk);
    let strange = "a&b;c=d%2 +é";
    desk.ok(&[
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
        let listed = desk.json(&words);
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
    let cases: [(&[&str], &str); 11] = [
        (&[],                                                              all),
        (&["--contract", "C-PAYG"],                                        "pump-one meter-two"),
        (&["--offering", "PO-IOT-YEAR"],                                   "sensor-three strange"),
        (&["--name", strange],                                             "strange"),
        (&["--username", "pump-one", "--contract", "C-PRE"],               ""),
        (&["--created-since", "2026-01-01T00:00:00+02:00"],                all),
        (&["--created-before", "2026-01-01"],                              ""),
        (&["--ends-since", "2026-01-01"],                                  ""),
        (&["--filter", "username=pump-one;username=strange"],              "pump-one strange"),
        (&["--filter", "username=pump-one;username=strange", "--contract", "C-PRE"], "strange"),
        (&["--filter", "createdAt>=2026-01-01&contractId=C-PRE", "--page-size", "1"], "sensor-three"),
    ];
    for (words, expected) in cases {
        assert_eq!(usernames(words), expected, "{words:?}");
    }
    let mistyped = desk.run(&["access", "list", "--filter", "contractid=C-PRE"]);
    assert_eq!(
        (mistyped.code, mistyped.stdout.as_str()),
        (6, ""),
        "a mistyped filter lists nothing"
    );
    assert!(mistyped.stderr.contains("contractid is not known here"), "{}", mistyped.stderr);
}

#[test]
fn pages_are_told_and_all_of_them_stream() {
    let desk = Desk::open();
    let none = desk.run(&["access", "list"]);
    assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("", "no accesses\n"));
    assert_eq!(desk.ok(&["access", "list", "--all", "-o", "json"]), "[]\n");
    assert_eq!(desk.ok(&["access", "list", "--all", "-o", "csv"]).lines().count(), 1);

    desk.ok(&["batch", "create", "--contract", "C-PAYG", "--count", "2345", "--wait"]);
    let listed = desk.json(&["access", "list", "--all", "--output", "json"]);
    assert_eq!(listed.as_array().unwrap().len(), 2345);
    let table = desk.ok(&["access", "list", "--all", "--page-size", "500"]);
    assert_eq!(table.lines().count(), 2346);
    let csv = desk.ok(&["access", "list", "--all", "-o", "csv"]);
    assert_eq!(csv.lines().count(), 2346);
    assert!(!csv.contains("password"), "{}", csv.lines().next().unwrap());
    // Nobody is to take a page for the whole.
    let page = desk.run(&["access", "list", "-o", "csv"]);
    let told = "100 of 2345 accesses; --page 2 shows the next, --all shows all\n";
    assert_eq!((page.stdout.lines().count(), page.stderr.as_str()), (101, told));
    let (screen, _) =
        desk.terminal(&["access", "list", "--page-size", "2", "--page", "3"], 100).finish();
    assert!(
        screen.ends_with("2 of 2345 accesses; --page 4 shows the next, --all shows all"),
        "{screen}"
    );
    let past = desk.run(&["access", "list", "--page", "24"]);
    assert_eq!(past.stdout.lines().count(), 46, "45 are on the last page");
    let past = desk.run(&["access", "list", "--page", "25"]);
    assert_eq!(
        (past.stdout.as_str(), past.stderr.as_str()),
        ("", "page 25 is behind the last of 2345 accesses\n")
    );

    // Who has seen enough ends it, and nobody complains.
    let mut command = desk.command(&["access", "list", "--all"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(141), ""));
}

/// A server that gives smaller pages than the client would like gives all the same.
#[test]
fn small_pages_are_gone_through_too() {
    let place = Place::sqlite();
    let server = place.serve_set(&[("LIMITS__PAGE_SIZE_MAX", "7")]);
    let desk = Desk { place, server };
    fn of_acme<'w>(words: &[&'w str]) -> Vec<&'w str> {
        [words, &["--tenant", "acme"]].concat()
    }
    desk.ok(&of_acme(&["batch", "create", "--contract", "payg", "--count", "20", "--wait"]));
    assert_eq!(desk.ok(&of_acme(&["access", "list", "--all"])).lines().count(), 21);
    desk.ok(&of_acme(&["access", "create", "--contract", "payg", "--username", "u"]));
    desk.ok(&of_acme(&["access", "show", "u"]));
    let taken = desk.run_with(
        &of_acme(&["batch", "create", "--contract", "payg", "--from", "-", "--wait"]),
        "username\nu\n",
    );
    assert_eq!(taken.code, 3, "{}", taken.stderr);
    let ran = desk.run(&of_acme(&["access", "list", "--page-size", "8"]));
    assert_eq!(ran.code, 6, "what is asked for by name is not changed in silence");
}
