use super::*;

/// What goes wrong, in a terminal: what happened, which value, what to do, and where to look further.
#[test]
fn errors_say_what_to_do() {
    let desk = Desk::open();
    let mut shown = String::new();
    for (words, code) in [
        (&["access", "create", "--contract", "NOPE"][..], 6),
        (&["access", "create", "--contract", "C-PAYG", "--username", "a:b"], 6),
        (&["access", "show", "nobody"], 5),
        (&["access", "show", "01a1dd3f-f1be-708c-81bb-51208c72ed9c"], 5),
        (&["access", "list", "--created-since", "yesterday"], 6),
        (&["access", "list", "--tenant", "a b"], 2),
        (&["access", "list", "--tenant", "nosuch"], 5),
        (&["access", "list", "--token", "nonsense"], 4),
        (&["access", "list", "--url", "127.0.0.1:8080"], 2),
        (&["access", "list", "--url", "http://127.0.0.1:1"], 7),
        (&["access", "list", "--output", "yaml"], 2),
        (&["access", "list", "--page", "0"], 6),
        (&["batch", "show", "job-7"], 2),
        (&["batch", "show", "job-01a1df5b-a81e-7f70-ad36-39b2f2519770"], 5),
        (&["batch", "create", "--contract", "C-PAYG"], 2),
        (&["batch", "create", "--contract", "C-PAYG", "--count", "0"], 2),
        (&["batch", "update", "--status", "gone", "x"], 2),
        (&["product", "show", "ALPHA-nowhere"], 5),
        (&["product", "list", "--iccid", "12"], 6),
        (&["contract", "show", "NOPE"], 5),
        (&["contract", "show", ".."], 2),
        (&["product", "show", ""], 2),
    ] {
        let (screen, ended) = desk.terminal(words, 100).finish();
        assert_eq!(ended, code, "{words:?}: {screen}");
        shown += &format!("$ gatehouse {}\n{}\n\n", words.join(" "), steady(&screen));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn who_is_not_signed_in_is_told_how() {
    let desk = Desk::open();
    let mut command = desk.command(&["access", "list"]);
    let ran = Ran::of({
        command.env_remove("GATEHOUSE_TOKEN");
        command
    });
    assert_eq!(ran.code, 4);
    assert!(ran.stderr.contains("gatehouse login"), "{}", ran.stderr);
    // Without rights for it.
    let token = desk.place.token("demo", "product:read");
    let ran = desk.run(&["access", "list", "--token", &token]);
    assert_eq!(ran.code, 4);
    assert!(
        ran.stderr.contains("access:read") && ran.stderr.contains("correlation ID"),
        "{}",
        ran.stderr
    );
    // A token for one tenant says which.
    let token = desk.place.token("demo", "access:read");
    let mut command = desk.command(&["contract", "list", "--token", &token]);
    command.env_remove("GATEHOUSE_TENANT");
    assert_eq!(Ran::of(command).code, 0);
    let mut command = desk.command(&["contract", "list"]);
    command.env_remove("GATEHOUSE_TENANT");
    let ran = Ran::of(command);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("--tenant"), "{}", ran.stderr);
}

#[test]
fn verbose_shows_requests_and_no_secrets() {
    let desk = Desk::open();
    desk.write("secret", "rain on the roof");
    let words = [
        "access",
        "create",
        "--contract",
        "C-PAYG",
        "--username",
        "u",
        "--password-file",
        "secret",
        "-v",
    ];
    let ran = desk.run(&words);
    let said = &ran.stderr;
    assert!(said.contains(&format!("> POST {}/demo/access\n", desk.server.url)), "{said}");
    assert!(said.contains(r#""username":"u","password":"***""#), "{said}");
    assert!(said.contains("< 201 Created after ") && said.contains("x-correlation-id: "), "{said}");
    desk.write("fleet.csv", "username,password\nv,wind in the trees\n");
    let batch = desk.run(&[
        "batch",
        "create",
        "--contract",
        "C-PAYG",
        "--from",
        "fleet.csv",
        "--wait",
        "-v",
    ]);
    assert_eq!(batch.code, 0, "{}", batch.stderr);
    for said in [said, &batch.stderr] {
        for secret in ["rain on", "wind in", desk.server.token.as_str()] {
            assert!(!said.contains(secret), "{said}");
        }
    }
}

/// A busy server is asked again, after as long as it says.
#[test]
fn a_busy_server_is_asked_again() {
    let place = Place::sqlite();
    let limited = ESTATE.replace("name: acme\n", "name: acme\n    requestsPerSecond: 1\n");
    std::fs::write(place.path("estate.yaml"), limited).unwrap();
    let server = place.serve();
    let desk = Desk { place, server };
    let words =
        ["contract", "list", "--all", "--page-size", "1", "--tenant", "acme", "-v", "-o", "json"];
    let ran = desk.run(&words);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap().as_array().unwrap().len(),
        3
    );
    assert!(ran.stderr.contains("< 429") && ran.stderr.contains("once more in"), "{}", ran.stderr);
}
