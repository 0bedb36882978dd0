use super::*;
use gatehouse_testing::{Signal, signal};
use std::os::unix::fs::PermissionsExt;

fn mode(shell: &Shell, name: &str) -> u32 {
    shell.setup.path(name).metadata().unwrap().permissions().mode() & 0o777
}

/// Rows whose passwords take a while: chosen passwords are hashed slowly.
fn slow_rows(n: usize) -> String {
    let rows = (0..n).map(|n| format!("slow-{n},rain on the roof {n}\n"));
    format!("username,password\n{}", rows.collect::<String>())
}

/// The Task that a screen or a text names.
fn task_in(text: &str) -> String {
    let at = text.find("job-").unwrap_or_else(|| panic!("no Task in {text}"));
    text[at..at + 40].to_owned()
}

#[test]
fn a_hundred_thousand_from_command_to_table() {
    let shell = Shell::open();
    let words = [
        "batch",
        "create",
        "--contract",
        "C-PAYG",
        "--count",
        "100000",
        "--wait",
        "--to",
        "fleet.csv",
    ];
    let ran = shell.run(&words);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("succeeded  100000\n"), "{}", ran.stdout);
    assert!(!ran.stderr.contains("u-"), "nothing of it is shown: {}", ran.stderr);
    assert_eq!(mode(&shell, "fleet.csv"), 0o600);
    let table = shell.read("fleet.csv");
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let passwords: std::collections::HashSet<String> =
        reader.records().map(|row| row.unwrap()[2].to_owned()).collect();
    assert_eq!(passwords.len(), 100_000, "each has a different password");
    let listed = shell.ok(&["access", "list", "--all", "-o", "csv"]);
    assert_eq!(listed.lines().count(), 100_001);
}

#[test]
fn credentials_go_to_a_private_file_unless_standard_output_is_named() {
    let shell = Shell::open();
    let ran = shell.run(&["batch", "create", "--contract", "C-PAYG", "--count", "3", "--wait"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let task = task_in(&ran.stdout);
    insta::assert_snapshot!(steady(&ran.stdout), @"
    id         job-01234567-89ab-7cde-f012-3456789abcde
    state      DONE
    kind       batchCreation
    accepted   2026-11-16T12:30:00.000Z
    total      3
    succeeded  3
    failed     0
    file       job-01234567-89ab-7cde-f012-3456789abcde.csv
    ");
    let file = format!("{task}.csv");
    assert_eq!((mode(&shell, &file), shell.read(&file).lines().count()), (0o600, 4));
    let password = shell.read(&file).lines().nth(1).unwrap().split(',').nth(2).unwrap().to_owned();
    assert!(!(ran.stdout + &ran.stderr).contains(&password));

    // An existing file is not overwritten, which is known before anything is sent.
    let before = shell.ok(&["batch", "list", "-o", "csv"]);
    let words =
        ["batch", "create", "--contract", "C-PAYG", "--count", "3", "--wait", "--to", &file];
    let again = shell.run(&words);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
    assert_eq!(shell.ok(&["batch", "list", "-o", "csv"]), before);

    assert_eq!(shell.run(&["batch", "export", &task]).code, 2, "nor later");
    let forced = shell.ok(&["batch", "export", &task, "--force"]);
    assert_eq!(forced, format!("3 to {file}\n"));
    let asked = shell.ok(&["batch", "export", &task, "--to", "-"]);
    assert!(asked.contains(&password), "standard output gets it");
    let words = ["batch", "create", "--contract", "C-PAYG", "--count", "2", "--wait", "--to", "-"];
    let table = shell.ok(&words);
    assert!(table.starts_with("id,username,password,") && table.lines().count() == 3, "{table}");
    let whole = shell.json(&[&words[..], &["-o", "json"]].concat());
    assert_eq!(whole["accesses"].as_array().unwrap().len(), 2, "and nothing else");
    shell.ok(&["batch", "export", &task, "--to", "fleet.json"]);
    let json: serde_json::Value = serde_json::from_str(&shell.read("fleet.json")).unwrap();
    assert_eq!(
        (json["state"].as_str(), json["accesses"].as_array().unwrap().len()),
        (Some("DONE"), 3)
    );
    assert_eq!(mode(&shell, "fleet.json"), 0o600);
    let none = shell.run(&["batch", "export", &task, "--failed"]);
    assert_eq!(none.code, 5, "{}", none.stderr);
}

#[test]
fn a_table_is_checked_before_anything_is_sent() {
    let shell = Shell::open();
    shell.write("bad.csv", "username,password,deviceName\nok,,\na\u{7}b,,pump\nok,,\nc,d\n");
    let ran =
        shell.run(&["batch", "create", "--contract", "C-PAYG", "--from", "bad.csv", "--wait"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    insta::assert_snapshot!(ran.stderr, @"
    gatehouse: bad.csv has faults, and nothing was sent:
        line 3: username must not hold control characters, such as U+0007
        line 4: username `ok` is already on line 2
        line 5: has 2 cells, where the table has 3 columns
    ");
    assert_eq!(shell.ok(&["batch", "list", "-o", "json"]), "[]\n", "nothing was sent");

    let rows = "username;deviceName\r\nmeter-1;Zähler 1\r\n;Zähler 2\r\n";
    let words =
        ["batch", "create", "--contract", "C-PRE", "--from", "-", "--wait", "--to", "made.csv"];
    let ran = shell.run_with(&words, &format!("\u{feff}{rows}"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let made = shell.read("made.csv");
    assert!(made.contains(",meter-1,") && made.contains(",Zähler 2,"), "{made}");
}

#[test]
fn failed_items_are_listed_and_can_be_exported() {
    let shell = Shell::open();
    shell.ok(&["access", "create", "--contract", "C-PAYG", "--username", "taken"]);
    shell.write("fleet.csv", "username,deviceName\nfree,pump-1\ntaken,pump-2\n");
    let words = [
        "batch",
        "create",
        "--contract",
        "C-PAYG",
        "--from",
        "fleet.csv",
        "--wait",
        "--to",
        "made.csv",
    ];
    let ran = shell.run(&words);
    assert_eq!(ran.code, 3);
    insta::assert_snapshot!(steady(&ran.stderr), @"
    job-01234567-89ab-7cde-f012-3456789abcde is accepted
    item 2 (username taken): 409 Username taken: username `taken` is taken by another access
    gatehouse: 1 of 2 items failed
      what to do: `gatehouse batch export job-01234567-89ab-7cde-f012-3456789abcde --failed` writes all of them to a file
    ");
    assert_eq!(shell.read("made.csv").lines().count(), 2, "what was made is written");
    let task = task_in(&ran.stdout);
    shell.ok(&["batch", "export", &task, "--failed"]);
    let failed = shell.read(&format!("{task}-failed.csv"));
    assert!(failed.contains("1,409,Username taken,"), "{failed}");
    shell.ok(&["batch", "export", &task, "--failed", "--to", "failed.json"]);
    let failed: serde_json::Value = serde_json::from_str(&shell.read("failed.json")).unwrap();
    assert_eq!(failed["errors"][0]["username"], "taken");
    let shown = shell.run(&["batch", "show", &task]);
    assert_eq!(shown.code, 0);
    assert!(
        shown.stderr.contains("item 2 (username taken): 409 Username taken"),
        "{}",
        shown.stderr
    );

    let rejected = shell.run(&["batch", "create", "--contract", "NOPE", "--count", "2", "--wait"]);
    assert_eq!(rejected.code, 6);
    assert!(
        rejected.stderr.contains("the batch was rejected, nothing was done: "),
        "{}",
        rejected.stderr
    );
    assert!(
        rejected.stderr.contains("NOPE") && rejected.stderr.contains("correlation ID"),
        "{}",
        rejected.stderr
    );
}

#[test]
fn many_accesses_are_changed_and_terminated_by_lists_and_tables() {
    let shell = Shell::open();
    let words =
        ["batch", "create", "--contract", "C-PAYG", "--count", "5", "--wait", "--to", "fleet.csv"];
    shell.ok(&words);
    let statuses = || {
        let listed = shell.json(&["access", "list", "-o", "json"]);
        let listed: Vec<_> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["status"].as_str().unwrap().to_owned())
            .collect();
        listed.join(" ")
    };
    // A batch's table is input for the next one.
    shell.ok(&["batch", "update", "--status", "suspended", "--from", "fleet.csv", "--wait"]);
    assert_eq!(statuses(), "SUSPENDED SUSPENDED SUSPENDED SUSPENDED SUSPENDED");
    let ids = shell.ok(&["access", "list", "-o", "csv"]);
    let ids: Vec<&str> = ids.lines().skip(1).map(|row| row.split(',').next().unwrap()).collect();
    shell.ok(&["batch", "update", "--status", "ACTIVE", ids[0], ids[1], "--wait"]);
    let two = ids[..2].join("\n");
    let ran = shell.run_with(&["batch", "terminate", "--from", "-", "--wait", "-o", "json"], &two);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let task: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&task["state"], &task["succeeded"]), (&"DONE".into(), &2.into()));
    assert_eq!(statuses(), "PENDING_TERMINATE PENDING_TERMINATE SUSPENDED SUSPENDED SUSPENDED");

    shell.write("secret", "wind in the trees");
    let ran = shell.run(&["batch", "update", "--password-file", "secret", ids[2], "--wait"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    shell.write("ids", &format!("{}\nnonsense\n", ids[0]));
    let bad = shell.run(&["batch", "terminate", "--from", "ids"]);
    assert_eq!(bad.code, 2);
    assert!(bad.stderr.contains("line 2: `nonsense` is no access ID"), "{}", bad.stderr);

    let mut terminal = shell.terminal(&["batch", "update", "--status", "terminated", ids[4]], 80);
    terminal.until("a question", |screen| {
        screen.contains("1 access ends now") && screen.contains("[y/N]")
    });
    terminal.press("\n");
    assert_eq!(terminal.finish().1, 1);
    assert!(statuses().ends_with("SUSPENDED"));
}

#[test]
fn a_table_that_lacks_passwords_says_so() {
    let shell = Shell::open();
    let made = ["batch", "create", "--contract", "C-PAYG", "--count", "2", "--wait", "--to", "-"];
    let made = shell.run(&made);
    let id = made.stdout.lines().nth(2).unwrap().split(',').next().unwrap();
    shell.write("secret", "wind in the trees");
    let rotated = shell.ok(&["batch", "update", "--password-file", "secret", id, "--wait"]);
    let suspended = shell.ok(&["batch", "update", "--status", "suspended", id, "--wait"]);
    let token = shell.setup.token("demo", "access:read");
    // task, whether its table has passwords for tokens with the right scope
    let cases =
        [(task_in(&made.stderr), true), (task_in(&rotated), true), (task_in(&suspended), false)];
    for (task, gives_passwords) in cases {
        let words = ["batch", "export", &task, "--to", "-"];
        let all = shell.run(&words);
        assert!(!all.stderr.contains("has no password here"), "{task}: {}", all.stderr);
        let read_only = shell.run(&[&words[..], &["--token", &token]].concat());
        assert_eq!(read_only.code, 0, "{}", read_only.stderr);
        let is_told = read_only.stderr.contains("lacks the scope access:write");
        assert_eq!(is_told, gives_passwords, "{task}: {}", read_only.stderr);
    }
}

/// The parts of a bar, which is as wide as the terminal.
fn shape_of_bar(screen: &str, columns: usize) -> String {
    let line = screen.lines().rfind(|line| line.contains("IN_PROGRESS")).unwrap();
    assert_eq!(line.chars().count(), columns, "{line}");
    let shape = regex::Regex::new(r" [=> ]{10,} ").unwrap().replace(line, " |bar| ");
    regex::Regex::new(r"[0-9][0-9,dhms]*").unwrap().replace_all(&shape, "#").into_owned()
}

#[test]
fn a_bar_shows_the_progress_and_ctrl_c_asks_what_to_do() {
    let shell = Shell::open();
    shell.write("slow.csv", &slow_rows(5000));
    let words = ["batch", "create", "--contract", "C-PAYG", "--from", "slow.csv", "--wait"];
    let mut terminal = shell.terminal(&words, 80);
    let bar = regex::Regex::new(r"IN_PROGRESS [=> ]+ [1-9][0-9]*/5,000  [0-9]+/s  [0-9dhms]+ left")
        .unwrap();
    let shown = terminal.until("a bar", |screen| bar.is_match(screen));
    assert_eq!(shape_of_bar(&shown, 80), "IN_PROGRESS |bar| #/#  #/s  # left");
    terminal.press("\u{3}");
    let asked = terminal.until("a question", |screen| screen.contains("go on waiting (w)?"));
    let task = task_in(&asked);
    let question = steady(&asked[asked.rfind("job-").unwrap()..]);
    let expected = "job-01234567-89ab-7cde-f012-3456789abcde:\n\
                    stop it (s), leave it running (l), or go on waiting (w)?";
    assert_eq!(question, expected);
    terminal.press("w\n");
    terminal.until("the bar again", |screen| bar.is_match(screen.rsplit("(w)?").next().unwrap()));
    terminal.press("\u{3}");
    let n_asked = |screen: &str| screen.matches("go on waiting (w)?").count();
    terminal.until("the question again", |screen| n_asked(screen) == 2);
    terminal.press("l\n");
    let (screen, code) = terminal.finish();
    assert_eq!(code, 130, "{screen}");
    assert!(screen.contains("goes on without you"), "{screen}");

    // The batch continues. Another command can wait for it and stop it: the created accesses are written.
    let mut terminal = shell.terminal(&["batch", "wait", &task, "--to", "made.csv"], 200);
    let shown = terminal.until("a bar", |screen| bar.is_match(screen));
    assert_eq!(shape_of_bar(&shown, 200), "IN_PROGRESS |bar| #/#  #/s  # left");
    terminal.press("\u{3}");
    terminal.until("a question", |screen| n_asked(screen) == 1);
    terminal.press("s\n");
    let (screen, code) = terminal.finish();
    assert_eq!(code, 130, "{screen}");
    assert!(screen.contains("TERMINATED") && screen.contains("made.csv"), "{screen}");
    let shown = shell.json(&["batch", "show", &task, "-o", "json"]);
    let n_made = shown["succeeded"].as_u64().unwrap();
    let made = shell.read("made.csv");
    assert_eq!(made.lines().count() as u64, n_made + 1);
    assert!(made.contains("rain on the roof 0"), "with passwords");
    assert_eq!(mode(&shell, "made.csv"), 0o600);

    let over = shell.run(&["batch", "stop", &task]);
    assert_eq!(over.code, 6);
    assert!(over.stderr.contains("409 Task over"), "{}", over.stderr);
    shell.ok(&["batch", "export", &task, "--to", "made.json"]);
    let made: serde_json::Value = serde_json::from_str(&shell.read("made.json")).unwrap();
    assert_eq!(made["accesses"].as_array().unwrap().len() as u64, n_made);
}

#[test]
fn a_second_ctrl_c_ends_the_wait_and_a_script_is_not_asked() {
    let shell = Shell::open();
    shell.write("slow.csv", &slow_rows(3000));
    let words = ["batch", "create", "--contract", "C-PAYG", "--from", "slow.csv", "--wait"];
    let mut terminal = shell.terminal(&words, 80);
    terminal.until("a bar", |screen| screen.contains("/3,000"));
    terminal.press("\u{3}");
    let asked = terminal.until("a question", |screen| screen.contains("(w)?"));
    terminal.press("\u{3}");
    let (screen, code) = terminal.finish();
    assert_eq!(code, 130, "{screen}");
    let task = task_in(&asked);

    // Piped, the command can't ask: it ends, and the batch continues.
    let mut command = shell.command(&["batch", "wait", &task, "-v"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("< 200") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut stderr, &mut line).unwrap() > 0);
    }
    signal(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let stopped = shell.ok(&["batch", "stop", &task]);
    assert!(stopped.contains("TERMINATED"), "{stopped}");
}

/// The server goes away in the middle and comes back: the wait continues.
#[test]
fn a_wait_survives_a_restart_of_the_server() {
    let Shell { setup, server } = Shell::open();
    let address = server.address().to_owned();
    let shell = Shell { setup, server };
    shell.write("slow.csv", &slow_rows(400));
    let words = [
        "batch",
        "create",
        "--contract",
        "C-PAYG",
        "--from",
        "slow.csv",
        "--wait",
        "--to",
        "made.csv",
    ];
    let terminal = shell.terminal(&words, 120);
    terminal.until("a bar", |screen| screen.contains("/400"));
    let Shell { setup, server } = shell;
    server.kill();
    terminal.until("a word about it", |screen| {
        screen.contains("the server can't be reached; trying again")
    });
    let server = setup.serve_with(&["--demo", "--listen", &address]);
    let (screen, code) = terminal.finish();
    assert_eq!(code, 0, "{screen}");
    let shell = Shell { setup, server };
    assert_eq!(shell.read("made.csv").lines().count(), 401);
}

#[test]
fn the_same_key_makes_one_batch() {
    let shell = Shell::open();
    let words = [
        "batch",
        "create",
        "--contract",
        "C-PAYG",
        "--count",
        "2",
        "--idempotency-key",
        "order-7",
        "-o",
        "json",
    ];
    assert_eq!(shell.json(&words)["id"], shell.json(&words)["id"]);
    let other =
        ["batch", "create", "--contract", "C-PAYG", "--count", "3", "--idempotency-key", "order-7"];
    assert_eq!(shell.run(&other).code, 6);
}

#[tokio::test]
async fn a_file_without_passwords_is_reported() {
    let setup = Setup::sqlite();
    let server = setup.serve_set(&[("TASKS__PASSWORD_RETENTION", "1s")]);
    let shell = Shell { setup, server };
    let made = shell.json(&[
        "batch",
        "create",
        "--tenant",
        "acme",
        "--contract",
        "payg",
        "--count",
        "2",
        "-o",
        "json",
    ]);
    let task = made["id"].as_str().unwrap();
    shell.ok(&["batch", "wait", "--tenant", "acme", task]);
    let export = || {
        shell.run(&["batch", "export", "--tenant", "acme", task, "--to", "fleet.csv", "--force"])
    };
    until("passwords have had their time", || {
        let ran = export();
        let has_password = !shell.read("fleet.csv").lines().nth(1).unwrap().contains(",,");
        let is_told = ran.stderr.contains("no longer shows");
        // The passwords' time may end between the file and the check after it.
        assert!(is_told || has_password, "{}", ran.stderr);
        is_told && !has_password
    })
    .await;
}

/// A file that appears meanwhile stays, and so do the created accesses.
#[test]
fn a_file_that_appears_meanwhile_is_not_overwritten() {
    let shell = Shell::open();
    shell.write("slow.csv", &slow_rows(150));
    let words = [
        "batch",
        "create",
        "--contract",
        "C-PAYG",
        "--from",
        "slow.csv",
        "--wait",
        "--to",
        "made.csv",
    ];
    let terminal = shell.terminal(&words, 80);
    terminal.until("a bar", |screen| screen.contains("/150"));
    shell.write("made.csv", "mine");
    let (screen, code) = terminal.finish();
    assert_eq!(code, 3, "the batch has succeeded, but the file is missing: {screen}");
    assert!(screen.contains("exists already") && screen.contains("nothing is lost"), "{screen}");
    assert_eq!(shell.read("made.csv"), "mine");
    shell.ok(&["batch", "export", &task_in(&screen), "--to", "again.csv"]);
    assert_eq!(shell.read("again.csv").lines().count(), 151);
}

/// A piped list doesn't prevent the question at the terminal.
#[test]
fn a_piped_list_does_not_prevent_the_question_at_the_terminal() {
    let shell = Shell::open();
    shell.ok(&[
        "batch",
        "create",
        "--contract",
        "C-PAYG",
        "--count",
        "3",
        "--wait",
        "--to",
        "fleet.csv",
    ]);
    let program = shell.command(&[]).get_program().to_string_lossy().into_owned();
    let line =
        format!("cat fleet.csv | {program} batch update --status terminated --from - --wait");
    let mut command = shell.command(&[]);
    let mut bash = Command::new("bash");
    bash.args(["-c", &line]).current_dir(shell.setup.dir.path());
    for (name, value) in command.stdin(Stdio::null()).get_envs() {
        match value {
            Some(value) => bash.env(name, value),
            None => bash.env_remove(name),
        };
    }
    let mut terminal = Terminal::start(bash, 80);
    let asked = terminal.until("a question", |screen| screen.contains("[y/N]"));
    assert!(asked.contains("3 accesses end now and for good"), "{asked}");
    terminal.press("n\n");
    assert_eq!(terminal.finish().1, 1);
    assert_eq!(shell.ok(&["access", "list", "-o", "csv"]).matches(",ACTIVE,").count(), 3);
}

#[test]
fn a_batch_can_be_stopped() {
    let shell = Shell::open();
    shell.write("slow.csv", &slow_rows(3000));
    let made = shell.json(&[
        "batch",
        "create",
        "--contract",
        "C-PAYG",
        "--from",
        "slow.csv",
        "-o",
        "json",
    ]);
    let task = made["id"].as_str().unwrap();
    let early = shell.run(&["batch", "export", task]);
    assert_eq!(early.code, 6);
    assert!(early.stderr.contains("and has not ended yet"), "{}", early.stderr);
    let stopped = shell.json(&["batch", "stop", task, "-o", "json"]);
    assert_eq!(stopped["state"], "TERMINATED");
    assert_eq!(shell.run(&["batch", "wait", task]).code, 3);
}

/// Devices' names can't control a terminal; a pipe gets them unchanged.
#[test]
fn credentials_on_a_terminal_cannot_control_it() {
    let shell = Shell::open();
    shell.write("evil.csv", "username,deviceName\nu,pump\u{1b}[2J\n");
    let words = ["batch", "create", "--contract", "C-PAYG", "--from", "evil.csv", "--wait", "--to"];
    let (raw, code) = shell.terminal(&[&words[..], &["-"]].concat(), 80).finish_raw();
    assert_eq!(code, 0, "{raw}");
    assert!(raw.contains("pump\u{fffd}[2J") && !raw.contains("\u{1b}[2J"), "{raw:?}");
    let task = task_in(&raw);
    assert!(shell.ok(&["batch", "export", &task, "--to", "-"]).contains("pump\u{1b}[2J"));
}

/// Suggested commands can be pasted: they lead to the same server, tenant and file.
#[test]
fn suggestions_lead_to_the_same_server_and_file() {
    let shell = Shell::open();
    let mut command = shell.command(&[
        "batch",
        "create",
        "--contract",
        "C-PAYG",
        "--count",
        "2",
        "--tenant",
        "demo",
        "--url",
        &shell.server.url,
    ]);
    command.env_remove("GATEHOUSE_TENANT").env_remove("GATEHOUSE_URL");
    let ran = CommandResult::of(command);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let suggested = ran.stderr.split('`').nth(1).unwrap();
    assert!(
        suggested.ends_with(&format!(" --url {} --tenant demo", shell.server.url)),
        "{suggested}"
    );
    let words: Vec<&str> = suggested.split_whitespace().skip(1).collect();
    assert_eq!(shell.run(&words).code, 0);
    let both = ["batch", "update", "--password-file", "-", "--from", "-"];
    assert_eq!(shell.run_with(&both, "x").code, 2);
}
