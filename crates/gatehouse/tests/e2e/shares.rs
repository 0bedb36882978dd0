//! Several servers on one database share limits.

use super::process::*;
use reqwest::Method;
use std::time::Instant;

/// The tenant's limit over all servers, in requests a second.
const LIMIT: u32 = 40;

/// More than any server would accept at once.
const N_SENT: usize = 90;

async fn figure(server: &Server, name: &str) -> u64 {
    let text = server.ask(Method::GET, "/-/metrics", None).await.text().await.unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in {text}"))
}

/// Waits until a server counts this many servers, itself included.
async fn until_knows_of(server: &Server, n_servers: u64) {
    let began = Instant::now();
    while figure(server, "gatehouse_replicas ").await != n_servers {
        assert!(began.elapsed() < WAIT_LIMIT, "never knew of {n_servers}");
    }
}

/// Number of requests in a burst that a server accepts.
async fn rush(server: &Server) -> u32 {
    let asks = (0..N_SENT).map(|_| server.ask(Method::GET, "/acme/contract", None));
    let answers = futures_util::future::join_all(asks).await;
    let is_allowed = |status: u16| match status {
        200 => true,
        429 => false,
        other => panic!("{other}"),
    };
    answers.iter().filter(|it| is_allowed(it.status().as_u16())).count() as u32
}

/// Upper bound of accepted requests since `began`, by the client's clock, which sees more time than a server's.
fn most(began: Instant, at_once: u32) -> f64 {
    f64::from(at_once) + f64::from(LIMIT) * began.elapsed().as_secs_f64()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_divide_a_tenants_limit_and_take_over_a_leaving_servers_share() {
    let setup = Setup::postgres("servers_divide_a_limit").await;
    let limit = LIMIT.to_string();
    let serve = || setup.serve_set(&[("LIMITS__REQUESTS_PER_SECOND", &limit)]);
    let (first, second) = (serve(), serve());
    until_knows_of(&first, 2).await;
    until_knows_of(&second, 2).await;
    let shown = printed(&setup.run(&["doctor"]));
    for server in [&first, &second] {
        assert!(shown.contains("of 2: ") && shown.contains(server.address()), "{shown}");
    }

    // The tenant has sent nothing yet: the buckets are full.
    let began = Instant::now();
    let (of_first, of_second) = tokio::join!(rush(&first), rush(&second));
    let bound = most(began, LIMIT);
    assert!(of_first >= LIMIT / 2 && of_second >= LIMIT / 2, "{of_first} {of_second}");
    assert!(f64::from(of_first + of_second) <= bound, "{of_first} + {of_second} of {bound}");

    // A killed server counts as gone after a silence. Then the other has the whole limit: half of it could never leave
    // as much as this.
    second.kill();
    until_knows_of(&first, 1).await;
    let began = Instant::now();
    while left(&first).await < LIMIT / 2 {
        assert!(began.elapsed() < WAIT_LIMIT, "it never had more than half");
    }

    // A server that is asked to end deregisters itself.
    let third = serve();
    until_knows_of(&first, 2).await;
    third.terminate();
    assert!(third.wait().success(), "{}", setup.log());
    let shown = printed(&setup.run(&["doctor"]));
    assert!(shown.contains("server 1 of 1: ") && shown.contains(first.address()), "{shown}");
    until_knows_of(&first, 1).await;
}

/// The tenant's remaining requests at a server, which first serves another request, so that the bucket refills.
async fn left(server: &Server) -> u32 {
    for _ in 0..200 {
        assert_eq!(server.ask(Method::GET, "/-/live", None).await.status(), 200);
    }
    let answer = server.ask(Method::GET, "/acme/contract", None).await;
    answer.headers()["ratelimit-remaining"].to_str().unwrap().parse().unwrap()
}
