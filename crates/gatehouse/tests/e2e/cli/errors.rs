use super::*;

/// Errors in a terminal: what happened, with which value, what to do, and the correlation ID.
#[test]
fn errors_say_what_to_do() {
    let shell = Shell::open();
    let mut shown = String::new();
    for (words, code) in [
        (&["access", "create", "--contract", "NOPE"][..], 6),
        (&["access", "create", "--contract", "C-PAYG", "--username", "a\tb"], 6),
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
        let (screen, ended) = shell.terminal(words, 100).finish();
        assert_eq!(ended, code, "{words:?}: {screen}");
        shown += &format!("$ gatehouse {}\n{}\n\n", words.join(" "), steady(&screen));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn a_missing_token_is_reported_with_how_to_sign_in() {
    let shell = Shell::open();
    let mut command = shell.command(&["access", "list"]);
    let ran = CommandResult::of({
        command.env_remove("GATEHOUSE_TOKEN");
        command
    });
    assert_eq!(ran.code, 4);
    assert!(ran.stderr.contains("gatehouse login"), "{}", ran.stderr);
    // Without the rights for it.
    let token = shell.setup.token("demo", "product:read");
    let ran = shell.run(&["access", "list", "--token", &token]);
    assert_eq!(ran.code, 4);
    assert!(
        ran.stderr.contains("access:read") && ran.stderr.contains("correlation ID"),
        "{}",
        ran.stderr
    );
    // A token for one tenant names it.
    let token = shell.setup.token("demo", "access:read");
    let mut command = shell.command(&["contract", "list", "--token", &token]);
    command.env_remove("GATEHOUSE_TENANT");
    assert_eq!(CommandResult::of(command).code, 0);
    let mut command = shell.command(&["contract", "list"]);
    command.env_remove("GATEHOUSE_TENANT");
    let ran = CommandResult::of(command);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("--tenant"), "{}", ran.stderr);
}

#[test]
fn verbose_shows_requests_and_no_secrets() {
    let shell = Shell::open();
    shell.write("secret", "rain on the roof");
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
    let ran = shell.run(&words);
    let printed = &ran.stderr;
    assert!(printed.contains(&format!("> POST {}/demo/access\n", shell.server.url)), "{printed}");
    assert!(printed.contains(r#""username":"u","password":"***""#), "{printed}");
    assert!(
        printed.contains("< 201 Created after ") && printed.contains("x-correlation-id: "),
        "{printed}"
    );
    shell.write("fleet.csv", "username,password\nv,wind in the trees\n");
    let batch = shell.run(&[
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
    for printed in [printed, &batch.stderr] {
        for secret in ["rain on", "wind in", shell.server.token.as_str()] {
            assert!(!printed.contains(secret), "{printed}");
        }
    }
}

/// A busy server is asked again after its `Retry-After`.
#[test]
fn a_busy_server_is_asked_again() {
    let setup = Setup::sqlite();
    let limited = ESTATE.replace("name: acme\n", "name: acme\n    requestsPerSecond: 1\n");
    std::fs::write(setup.path("estate.yaml"), limited).unwrap();
    let server = setup.serve();
    let shell = Shell { setup, server };
    let words =
        ["contract", "list", "--all", "--page-size", "1", "--tenant", "acme", "-v", "-o", "json"];
    let ran = shell.run(&words);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap().as_array().unwrap().len(),
        3
    );
    assert!(ran.stderr.contains("< 429") && ran.stderr.contains("retrying in"), "{}", ran.stderr);
}

/// A proxy that loses the responses of the first connections.
fn lossy_proxy(server: &Server, n_lost: usize) -> String {
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener, TcpStream};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let address = server.address().to_owned();
    std::thread::spawn(move || {
        for (n, client) in listener.incoming().enumerate() {
            let Ok(client) = client else { return };
            let upstream = TcpStream::connect(&address).unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            let (mut from, mut to) = (upstream, client);
            std::thread::spawn(move || {
                if n < n_lost {
                    // The request was processed, and its response is lost.
                    let _ = from.read(&mut [0; 4096]);
                    let _ = to.shutdown(Shutdown::Both);
                    return;
                }
                let mut buffer = [0; 4096];
                while let Ok(n @ 1..) = from.read(&mut buffer) {
                    if to.write_all(&buffer[..n]).is_err() {
                        return;
                    }
                }
                let _ = to.shutdown(Shutdown::Both);
            });
        }
    });
    url
}

/// A request whose response was lost is processed once, and its response arrives in the end.
#[test]
fn a_request_with_a_lost_response_is_retried() {
    let shell = Shell::open();
    let url = lossy_proxy(&shell.server, 2);
    let words = ["access", "create", "--contract", "C-PAYG", "--url", &url, "-v", "-o", "json"];
    let ran = shell.run(&words);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("retrying in").count(), 2, "{}", ran.stderr);
    let made: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let listed = shell.json(&["access", "list", "-o", "json"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "it was made once");
    assert_eq!(listed[0]["id"], made["id"]);
    assert_eq!(made["password"].as_str().unwrap().len(), 24);
}

#[test]
fn flags_come_before_variables_and_these_before_the_profile() {
    let shell = Shell::open();
    std::fs::create_dir_all(shell.setup.path("config/gatehouse")).unwrap();
    let profiles = format!(
        "default = 'there'\n[profiles.there]\nurl = '{}'\ntenant = 'demo'\noutput = 'csv'\n\
         [profiles.nowhere]\nurl = 'http://127.0.0.1:1'\n",
        shell.server.url
    );
    shell.write("config/gatehouse/config.toml", &profiles);
    let run = |words: &[&str], set: &[(&str, &str)]| {
        let mut command = shell.command(&[&["contract", "list"], words].concat());
        command.env_remove("GATEHOUSE_URL").env_remove("GATEHOUSE_TENANT");
        for (name, value) in set {
            command.env(name, value);
        }
        CommandResult::of(command)
    };
    let head = |ran: CommandResult| ran.stdout.chars().next();
    assert_eq!(head(run(&[], &[])), Some('i'), "all of the profile: CSV");
    assert_eq!(head(run(&[], &[("GATEHOUSE_OUTPUT", "json")])), Some('['));
    assert_eq!(head(run(&["-o", "table"], &[("GATEHOUSE_OUTPUT", "json")])), Some('I'));
    assert_eq!(run(&[], &[("GATEHOUSE_PROFILE", "nowhere"), ("GATEHOUSE_TENANT", "demo")]).code, 7);
    assert_eq!(run(&["--profile", "there"], &[("GATEHOUSE_PROFILE", "nowhere")]).code, 0);
    assert_eq!(run(&[], &[("GATEHOUSE_URL", "http://127.0.0.1:1")]).code, 7);
    assert_eq!(run(&[], &[("GATEHOUSE_URL", "")]).code, 0, "an empty one says nothing");
    assert_eq!(run(&["--tenant", "nosuch"], &[("GATEHOUSE_TENANT", "demo")]).code, 5);
    assert_eq!(run(&[], &[("GATEHOUSE_OUTPUT", "xml")]).code, 2);
    let unknown = run(&["--profile", "ther"], &[]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("there is no profile `ther`"), "{}", unknown.stderr);
    let secret = run(&["--url", "http://ann:s3cret@127.0.0.1:1"], &[]);
    assert_eq!(secret.code, 2);
    assert!(!secret.stderr.contains("s3cret"), "{}", secret.stderr);
}
