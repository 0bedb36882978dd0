use super::*;

/// What goes wrong, in a terminal: what happened, which value, what to do, and where to look further.
#[test]
fn errors_say_what_to_do() {
    let desk = Desk::open();
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

/// A way to the server on which the answers of the first connections are lost.
fn lossy_way(server: &Server, n_lost: usize) -> String {
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
                    // It was done, and nobody hears of it.
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

/// What was done and whose answer was lost is done once, and its answer comes all the same.
#[test]
fn a_lost_answer_is_asked_for_again() {
    let desk = Desk::open();
    let url = lossy_way(&desk.server, 2);
    let words = ["access", "create", "--contract", "C-PAYG", "--url", &url, "-v", "-o", "json"];
    let ran = desk.run(&words);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("once more in").count(), 2, "{}", ran.stderr);
    let made: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let listed = desk.json(&["access", "list", "-o", "json"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "it was made once");
    assert_eq!(listed[0]["id"], made["id"]);
    assert_eq!(made["password"].as_str().unwrap().len(), 24);
}

#[test]
fn flags_come_before_variables_and_these_before_the_profile() {
    let desk = Desk::open();
    std::fs::create_dir_all(desk.place.path("config/gatehouse")).unwrap();
    let profiles = format!(
        "default = 'there'\n[profiles.there]\nurl = '{}'\ntenant = 'demo'\noutput = 'csv'\n\
         [profiles.nowhere]\nurl = 'http://127.0.0.1:1'\n",
        desk.server.url
    );
    desk.write("config/gatehouse/config.toml", &profiles);
    let run = |words: &[&str], set: &[(&str, &str)]| {
        let mut command = desk.command(&[&["contract", "list"], words].concat());
        command.env_remove("GATEHOUSE_URL").env_remove("GATEHOUSE_TENANT");
        for (name, value) in set {
            command.env(name, value);
        }
        Ran::of(command)
    };
    let head = |ran: Ran| ran.stdout.chars().next();
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
