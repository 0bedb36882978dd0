//! Faults that need root, or a PostgreSQL server whose settings no other test depends on.
//!
//! A separate program, which only `cargo xtask test --long` runs, where the machine allows mounts.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]
#![expect(dead_code, reason = "the other program of this directory uses the rest of these modules")]

mod device;
mod outcomes;
mod process;

use std::fs;
use std::time::{Duration, Instant};

use device::{FailingDevice, SmallDisk};
use gatehouse_testing::{execute, record};
use outcomes::{DISK_FAILED, Outcomes, create, create_until_the_server_ends, must_hold};
use process::{Server, Setup, printed};
use reqwest::Method;

/// Rounds of each test of a failing device. Each round fails the device at another moment.
const N_ROUNDS: usize = 9;

/// Time for which a device fails. The kernel writes its dirty pages after some seconds by itself.
const OUTAGE: Duration = Duration::from_secs(8);

/// A setup with its store on this device.
fn place_on(device: &FailingDevice) -> Setup {
    let setup = Setup::sqlite();
    let data = device.inside().join("data");
    fs::create_dir(&data).unwrap();
    std::os::unix::fs::symlink(data, setup.path("gatehouse-data")).unwrap();
    setup
}

/// Time for which a server of this round is under load before its device fails.
fn load_before(round: usize) -> Duration {
    Duration::from_millis(300 + 400 * round as u64)
}

/// Starts a server, checks it against the clients' outcomes, ends it, and checks every page on the device alone.
async fn assert_sound(setup: &Setup, device: &FailingDevice, outcomes: &Outcomes) {
    let server = setup.serve();
    let ready = server.json(Method::GET, "/-/ready", None).await;
    assert_eq!(ready.0, 200, "{ready:?} {}", setup.log());
    must_hold(setup, &server, outcomes).await;
    server.terminate();
    assert!(server.wait().success());
    device.start_anew();
    let output = setup.run(&["doctor", "--deep"]);
    assert!(output.status.success(), "{}", printed(&output));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_fails_for_a_moment_loses_nothing() {
    let (mut n_created, mut n_unknown) = (0, 0);
    for round in 0..N_ROUNDS {
        let device = FailingDevice::make();
        let setup = place_on(&device);
        let server = setup.serve();
        let outage = async {
            tokio::time::sleep(load_before(round)).await;
            device.fail();
            tokio::time::sleep(OUTAGE).await;
            device.heal();
        };
        let (outcomes, ()) = tokio::join!(create_until_the_server_ends(&server), outage);
        assert_eq!(server.wait().code(), Some(DISK_FAILED), "{}", setup.log());
        device.start_anew();
        assert_sound(&setup, &device, &outcomes).await;
        n_created += outcomes.created.len();
        n_unknown += outcomes.unknown.len();
    }
    let held = format!(
        "the server stopped; all of {n_created} answered accesses are there, {n_unknown} were told to be unknown; \
         the database is whole after a start from the device alone"
    );
    record(
        "embedded store on ext4: the device fails for 8 s under load and heals",
        N_ROUNDS,
        &held,
    );
}

/// The server can't mark its store as failed. Every other round starts the next one on the same mount, if the kernel
/// allows it: there cached pages may differ from the device's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_during_a_device_failure_loses_nothing() {
    let (mut n_created, mut n_unknown, mut n_same_mount) = (0, 0, 0);
    for round in 0..N_ROUNDS {
        let device = FailingDevice::make();
        let setup = place_on(&device);
        let server = setup.serve();
        let kill = async {
            tokio::time::sleep(load_before(round)).await;
            device.fail();
            tokio::time::sleep(Duration::from_millis(60 * round as u64)).await;
            server.crash();
            device.heal();
        };
        let (mut outcomes, ()) = tokio::join!(create_until_the_server_ends(&server), kill);
        drop(server);
        // The kernel may have made the file system read-only, until a restart of the machine.
        let is_writable = fs::write(device.inside().join("probe"), "probe").is_ok();
        if round % 2 == 0 && is_writable {
            n_same_mount += 1;
            let server = setup.serve();
            for n in 0..50 {
                let username = format!("after-{n}");
                let (status, body) = create(&server, &username).await;
                outcomes.add(username, status, &body);
            }
            server.kill();
        }
        device.start_anew();
        assert_sound(&setup, &device, &outcomes).await;
        n_created += outcomes.created.len();
        n_unknown += outcomes.unknown.len();
    }
    let held = format!(
        "all of {n_created} answered accesses are there, {n_unknown} have no answer or an unknown one; the database is \
         whole after a start from the device alone, before which {n_same_mount} servers wrote to the same mount"
    );
    record("embedded store on ext4: `kill -9` while the device fails", N_ROUNDS, &held);
}

/// Creates accesses, named `prefix` and a number, until a response has a status that `ends` accepts. Panics after two
/// minutes.
async fn create_until(
    server: &Server,
    outcomes: &mut Outcomes,
    prefix: &str,
    ends: impl Fn(u16) -> bool,
) {
    let began = Instant::now();
    for n in 0.. {
        let username = format!("{prefix}-{n}");
        let (status, body) = create(server, &username).await;
        outcomes.add(username, status, &body);
        if ends(status) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "the last response: {status} {body}");
    }
}

#[tokio::test]
async fn a_full_disk_of_postgres_is_refused_and_heals() {
    let setup = Setup::postgres("full_disk_of_postgres").await;
    let url = setup.database_url.clone().unwrap();
    // Another test may have ended before its own reset.
    await_standby(&url, "").await;
    let disk = SmallDisk::make("postgres");
    execute(&url, "DROP TABLESPACE IF EXISTS small_disk").await;
    let space = disk.space();
    execute(&url, &format!("CREATE TABLESPACE small_disk LOCATION '{}'", space.display())).await;
    let on_it = format!("{url}%20-c%20default_tablespace%3Dsmall_disk");
    let setup = Setup { database_url: Some(on_it), ..setup };
    let server = setup.serve();
    let mut outcomes = Outcomes::default();
    assert_eq!(create(&server, "before").await.0, 201);
    disk.fill();
    create_until(&server, &mut outcomes, "full", |status| status != 201).await;
    assert_eq!((outcomes.refused.len(), outcomes.unknown.len()), (1, 0));
    disk.make_room();
    assert_eq!(create(&server, "after").await.0, 201, "it heals by itself");
    outcomes.created.extend(["before", "after"].map(str::to_owned));
    must_hold(&setup, &server, &outcomes).await;
    server.terminate();
    assert!(server.wait().success());
    record(
        "PostgreSQL: its disk is full, and has room again",
        1,
        "the write is refused with 503, the next one after that goes through; nothing answered is lost",
    );
    execute(&url, "DROP SCHEMA e2e_full_disk_of_postgres CASCADE").await;
    execute(&url, "DROP TABLESPACE small_disk").await;
}

/// Makes each commit wait for a synchronous standby of this name, which doesn't exist.
async fn await_standby(url: &str, name: &str) {
    execute(url, &format!("ALTER SYSTEM SET synchronous_standby_names = '{name}'")).await;
    execute(url, "SELECT pg_reload_conf()").await;
}

/// With a `statement_timeout` the server ends the wait itself, and responds that the transaction is committed.
#[tokio::test]
async fn a_commit_that_no_standby_confirms_is_unknown() {
    let setup = Setup::postgres("standby_behind").await;
    let url = setup.database_url.clone().unwrap();
    let settings = ["", "%20-c%20statement_timeout%3D1000"];
    for (nth, setting) in settings.into_iter().enumerate() {
        let setup = Setup { database_url: Some(format!("{url}{setting}")), ..Setup::sqlite() };
        let server = setup.serve();
        let mut outcomes = Outcomes::default();
        await_standby(&url, "behind").await;
        // PostgreSQL applies the setting a moment later.
        let waits = format!("waits{nth}");
        create_until(&server, &mut outcomes, &waits, |status| status != 201).await;
        assert_eq!((outcomes.refused.len(), outcomes.unknown.len()), (0, 1));
        await_standby(&url, "").await;
        let after = format!("after{nth}");
        create_until(&server, &mut outcomes, &after, |status| status == 201).await;
        // A commit that no standby confirms is stored on its own server, once.
        outcomes.created.append(&mut outcomes.unknown);
        must_hold(&setup, &server, &outcomes).await;
        server.terminate();
        assert!(server.wait().success());
    }
    record(
        "PostgreSQL: the synchronous standby confirms no commit; with and without `statement_timeout`",
        settings.len(),
        "the response says that the outcome is unknown; nothing is written twice; later writes succeed",
    );
}
