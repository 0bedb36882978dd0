//! Slow clients, and too many of them: what is refused, and that no other client is delayed.

use super::hostile::assert_problem;
use super::locked_rows::LockedRows;
use super::process::*;
use super::socket::Socket;
use reqwest::Method;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

/// Sends a byte now and then until the server closes; asserts that other clients are answered meanwhile.
async fn dribble_among_others(mut slow: Socket, server: &Server) -> String {
    let (mut answer, mut n_others) = (Vec::new(), 0);
    let printed = loop {
        if let Some(printed) = slow.dribble(&mut answer) {
            break printed;
        }
        assert_eq!(server.json(Method::GET, "/acme/contract", None).await.0, 200);
        n_others += 1;
    };
    assert!(n_others > 3, "others were answered in the meantime: {n_others}");
    printed
}

#[tokio::test]
async fn a_head_that_dribbles_in_is_408_and_delays_no_other_client() {
    let setup = Setup::sqlite();
    let server = setup
        .serve_set(&[("LIMITS__HEADER_TIMEOUT", "500ms"), ("LIMITS__CONCURRENT_REQUESTS", "1")]);
    for first in ["GET /-/live HTTP/1.1\r\nx: ", "G", "P"] {
        let mut slow = Socket::open(server.address());
        slow.send(first);
        let printed = dribble_among_others(slow, &server).await;
        assert_problem(&printed, 408);
        assert!(
            printed.contains("connection: close") && printed.contains("within 500ms"),
            "{printed}"
        );
    }
}

#[tokio::test]
async fn a_second_request_that_dribbles_in_is_408_too() {
    let setup = Setup::sqlite();
    let server = setup.serve_set(&[("LIMITS__HEADER_TIMEOUT", "200ms")]);
    let mut slow = Socket::open(server.address());
    slow.ask_live();
    slow.ask_live();
    slow.send("GET /-/li");
    assert_problem(&slow.rest(), 408);
}

#[tokio::test]
async fn a_head_in_many_pieces_is_answered_if_it_comes_in_time() {
    let setup = Setup::sqlite();
    let server =
        setup.serve_set(&[("LIMITS__HEADER_TIMEOUT", "1h"), ("LIMITS__IDLE_TIMEOUT", "1h")]);
    let mut slow = Socket::open(server.address());
    for piece in ["G", "ET /-/live HTTP/1.1\r\n", "host", ": x\r\n", "connection: close\r\n\r\n"] {
        slow.send(piece);
        assert_eq!(server.json(Method::GET, "/acme/contract", None).await.0, 200);
    }
    assert!(slow.rest().starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn a_body_that_dribbles_in_is_408_and_delays_no_other_client() {
    let setup = Setup::sqlite();
    let server =
        setup.serve_set(&[("LIMITS__BODY_TIMEOUT", "500ms"), ("LIMITS__CONCURRENT_REQUESTS", "1")]);
    let mut slow = Socket::open(server.address());
    // Too long to be complete in time.
    slow.send(&format!(
        "POST /acme/access HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: 1000000\r\n\r\n",
        server.token
    ));
    let printed = dribble_among_others(slow, &server).await;
    assert_problem(&printed, 408);
    assert!(printed.contains("within 500ms"), "{printed}");
}

#[tokio::test]
async fn an_idle_connection_is_closed_without_a_response() {
    let setup = Setup::sqlite();
    let server = setup.serve_set(&[("LIMITS__IDLE_TIMEOUT", "200ms")]);
    assert_eq!(Socket::open(server.address()).rest(), "", "no response");
    let mut once = Socket::open(server.address());
    once.ask_live();
    assert_eq!(once.rest(), "", "it had one request");
}

#[tokio::test]
async fn the_longest_idle_connection_is_closed_first() {
    let setup = Setup::sqlite();
    let server = setup.serve_set(&[("LIMITS__CONNECTIONS", "3")]);
    let open = || {
        let mut socket = Socket::open(server.address());
        socket.ask_live();
        socket
    };
    let [mut first, second, mut third] = [open(), open(), open()];
    // The latest client has been idle for the shortest time.
    first.ask_live();
    let mut fourth = open();
    assert_eq!(second.rest(), "", "it was closed");
    for socket in [&mut third, &mut first, &mut fourth] {
        socket.ask_live();
    }
    // Half a head is no request: its connection is closed as well.
    third.send("GET /-/live HT");
    first.ask_live();
    fourth.ask_live();
    open();
    assert_eq!(third.rest(), "");
}

#[tokio::test]
async fn a_slow_sender_of_a_body_is_closed_too() {
    let setup = Setup::sqlite();
    let settings = [("LIMITS__CONNECTIONS", "2"), ("LIMITS__IDLE_TIMEOUT", "1s")];
    let server = setup.serve_set(&settings);
    let slow = [(); 2].map(|()| {
        let mut socket = Socket::open(server.address());
        let rest = socket.begin(&server);
        (socket, rest)
    });
    Socket::open(server.address()).ask_live();
    // The one that has waited longer, which the server knows better than the test.
    let answers = slow.map(|(mut socket, rest)| {
        socket.offer(rest);
        socket.rest()
    });
    let gone = answers.iter().filter(|it| it.is_empty()).count();
    let made = answers.iter().filter(|it| it.starts_with("HTTP/1.1 201 ")).count();
    assert_eq!((gone, made), (1, 1), "{answers:?}");
    // An unknown client with a body that the server doesn't need.
    let mut unknown = Socket::open(server.address());
    unknown.send("POST /acme/access HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n");
    // Until the server waits for that body, another client may be disconnected: but not every time.
    let both_are_accepted = || {
        let mut both = [(); 2].map(|()| Socket::open(server.address()));
        both.iter_mut().all(Socket::is_accepted)
    };
    assert!((0..100).any(|_| both_are_accepted()), "the stranger keeps a place");
}

#[tokio::test]
async fn a_connection_too_many_is_refused_when_all_are_busy() {
    let setup = Setup::postgres("connection_too_many").await;
    let server = setup.serve_set(&[("LIMITS__CONNECTIONS", "1")]);
    let held = LockedRows::rows_of(&setup).await;
    let mut only = Socket::open(server.address());
    only.create(&server);
    held.until_awaited().await;
    for _ in 0..3 {
        let refused = Socket::open(server.address()).rest();
        assert_problem(&refused, 503);
        assert!(refused.contains("retry-after: 1\r\n"), "{refused}");
        assert!(refused.contains("connection: close\r\n"), "{refused}");
    }
    held.release().await;
    assert!(only.answer().starts_with("HTTP/1.1 201 "), "an accepted client is not disturbed");
    Socket::open(server.address()).ask_live();
}

/// A lock holds the row that a creation needs, for as long as the test needs.
#[tokio::test]
async fn a_request_too_many_is_refused_at_once() {
    let setup = Setup::postgres("request_too_many").await;
    let server = setup.serve_set(&[("LIMITS__CONCURRENT_REQUESTS", "1")]);
    let held = LockedRows::rows_of(&setup).await;
    let stuck = server.client.post(format!("{}/acme/access", server.url));
    let stuck = stuck.bearer_auth(&server.token).header("content-type", "application/json");
    let stuck = tokio::spawn(stuck.body(r#"{"contractId": "payg"}"#).send());
    held.until_awaited().await;
    let refused = server.ask(Method::GET, "/acme/contract", None).await;
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (503, &"1".parse().unwrap())
    );
    let body: serde_json::Value = refused.json().await.unwrap();
    assert_eq!((&body["title"], &body["@type"]), (&"Busy".into(), &"problem".into()));
    for path in ["/-/live", "/-/ready", "/-/openapi.json"] {
        assert_eq!(server.json(Method::GET, path, None).await.0, 200, "{path} needs no room");
    }
    held.release().await;
    assert_eq!(stuck.await.unwrap().unwrap().status(), 201);
    assert_eq!(server.json(Method::GET, "/acme/contract", None).await.0, 200);
}

#[tokio::test]
async fn slow_clients_do_not_delay_the_stop() {
    let setup = Setup::sqlite();
    let server =
        setup.serve_set(&[("LIMITS__HEADER_TIMEOUT", "1h"), ("LIMITS__IDLE_TIMEOUT", "1h")]);
    let silent = Socket::open(server.address());
    let mut idle = Socket::open(server.address());
    idle.ask_live();
    let mut half = Socket::open(server.address());
    half.send("GET /-/live HTTP/1.1\r\nhost: x\r\n");
    let mut stalled = Socket::open(server.address());
    stalled.begin(&server);
    let mut late = Socket::open(server.address());
    late.ask_live();
    let rest = late.begin(&server);
    server.terminate();
    for socket in [silent, idle, half] {
        assert_eq!(socket.rest(), "", "it was closed");
    }
    late.send(rest);
    assert!(late.rest().starts_with("HTTP/1.1 201 "), "what was begun is finished");
    assert_problem(&stalled.rest(), 408);
    assert!(server.wait().success(), "{}", setup.log());
    assert!(!setup.log().contains("cut off"), "{}", setup.log());
}

#[tokio::test]
async fn a_low_limit_of_open_files_is_logged() {
    let setup = Setup::sqlite();
    let server = setup.serve_set(&[("LIMITS__CONNECTIONS", "1000000")]);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.id())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let n_files: usize = line.split_whitespace().nth(3).unwrap().parse().unwrap_or(usize::MAX);
    assert_eq!(setup.log().contains("limits.connections is 1000000"), n_files <= 1_000_000);
}

/// One tenant begins large bodies and doesn't finish them; another's batch doesn't wait for them.
#[tokio::test]
async fn unfinished_bodies_delay_no_other_tenant() {
    let setup = Setup::sqlite();
    let server = setup.serve_set(&[("LIMITS__BODY_TIMEOUT", "10m")]);
    let begin = |n_bytes: usize| {
        let mut slow = Socket::open(server.address());
        slow.send(&format!(
            "POST /rival/access/batch HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{}",
            server.token,
            32 << 20,
            " ".repeat(n_bytes)
        ));
        slow
    };
    let _begun: Vec<Socket> = (0..9).map(|_| begin(1)).collect();
    let _more: Vec<Socket> = (0..12).map(|_| begin(3 << 20)).collect();
    let items: Vec<_> = (0..9000)
        .map(|n| serde_json::json!({"deviceName": format!("{n:0>127}"), "username": format!("{n:0>127}")}))
        .collect();
    let body = serde_json::json!({"contractId": "payg", "accesses": items}).to_string();
    assert!(body.len() > 2 << 20, "{}", body.len());
    let (status, answer) = server.json(Method::POST, "/acme/access/batch", Some(&body)).await;
    assert_eq!(status, 202, "{answer}");
}

#[tokio::test]
async fn no_core_dump_is_written_of_the_process() {
    let setup = Setup::sqlite();
    let core = |server: &Server| {
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.id())).unwrap();
        let line = limits.lines().find(|it| it.starts_with("Max core file size")).unwrap();
        let mut numbers = line.split_whitespace().skip(4).map(str::to_owned);
        [numbers.next().unwrap(), numbers.next().unwrap()]
    };
    // As where the system writes dumps of whatever crashes.
    let start = |allows: &str| {
        let serve = setup.command(&["serve", "--listen", "127.0.0.1:0", "--estate", "estate.yaml"]);
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -S -c \"$(ulimit -H -c)\"; exec \"$0\" \"$@\""]);
        command.arg(serve.get_program()).args(serve.get_args()).current_dir(setup.path(""));
        for (name, value) in serve.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("GATEHOUSE_CORE_DUMPS", allows);
        setup.start_as(command, Stdio::null())
    };
    let allowing = start("true");
    let [soft, hard] = core(&allowing);
    assert_eq!(soft, hard, "nothing is forbidden");
    drop(allowing);
    let server = start("false");
    assert_eq!(core(&server)[0], "0");
    // The process's own user can't inspect it, unless that user is root.
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let environment = std::fs::read(format!("/proc/{}/environ", server.id()));
    assert_eq!(environment.is_ok(), is_root);
    // The metric of open files still exists.
    let figures = server.ask(Method::GET, "/-/metrics", None).await.text().await.unwrap();
    let open = figures.lines().find_map(|it| it.strip_prefix("process_open_fds ")).unwrap();
    assert!(open.parse::<u32>().unwrap() > 5, "{open}");
}
