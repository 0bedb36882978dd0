use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

use super::super::batch::Wait;
use super::*;

fn open() -> Shell {
    let mut shell = Shell::open();
    shell.server.token = shell.setup.token("demo", "access:read access:write admin");
    shell
}

impl Shell {
    /// Status and body of a check in HTTP Basic.
    async fn ask_basic(&self, path: &str, credentials: &str) -> (u16, String) {
        let url = format!("{}{path}", self.server.url);
        let authorization = format!("Basic {}", BASE64.encode(credentials));
        let request = self.server.client.get(url).header("authorization", authorization);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    fn last_use(&self, id: &str) -> Value {
        let hooks = self.json(&["hook", "list", "--output", "json"]);
        let hooks = hooks.as_array().unwrap();
        hooks.iter().find(|it| it["id"] == id).unwrap()["lastUsedAt"].clone()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_lets_a_gateway_ask_until_it_is_deleted() {
    let shell = open();
    let none = shell.run(&["hook", "list"]);
    assert_eq!((none.code, none.stderr.as_str()), (0, "no hooks\n"));
    let made = shell.run(&["hook", "create", "--dialect", "basic", "--name", "nginx"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let word = |name: &str| {
        let line = made.stdout.lines().find(|it| it.starts_with(name)).unwrap();
        line.split_whitespace().last().unwrap().to_owned()
    };
    let (id, key) = (word("id"), word("key"));
    let path = format!("/demo/verify/~{key}/basic");
    assert_eq!(made.stderr, format!("the key is shown only now; the gateway asks at {path}\n"));
    let access = ["access", "create", "--contract", "C-PAYG", "--username", "pump"];
    let access = shell.json(&[&access[..], &["--output", "json"]].concat());
    let right = format!("pump:{}", access["password"].as_str().unwrap());
    assert_eq!(shell.ask_basic(&path, &right).await, (200, String::new()));
    // The refusal has no body either: it isn't one of the server's own HTTP library.
    assert_eq!(shell.ask_basic(&path, "pump:wrong").await, (401, String::new()));
    let wait = Wait::new("the last use of the key is shown");
    while shell.last_use(&id).is_null() {
        wait.check_limit();
    }

    let unknown = "hook-01a1dd4d-f0c1-7a3e-8b52-9f3d1c000000";
    for (words, code, text) in [
        (vec!["hook", "create", "--dialect", "mqtt"], 2, "possible values: json, basic,"),
        (vec!["hook", "delete", "hook-1"], 2, "`gatehouse hook list` shows the hooks"),
        (vec!["hook", "delete", unknown], 5, "there is no hook"),
    ] {
        let ran = shell.run(&words);
        assert_eq!(
            (ran.code, ran.stderr.contains(text)),
            (code, true),
            "{words:?}: {}",
            ran.stderr
        );
    }
    shell.ok(&["hook", "delete", &id]);
    assert_eq!(shell.ask_basic(&path, &right).await, (401, String::new()));
}
