//! Real file systems that fail, which needs root: `cargo xtask test --long` runs these.
//!
//! The embedded store is on a device that fails for some seconds and heals, as a disk, a cable or a storage network does. The device is a file on a file system that is too small for it. As soon as that one is full, the kernel can't write
//! what it has taken, and tells so, once, to whoever flushes; when there is room again, all seems well.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::*;

/// As the record has it.
const FAULT: &str = "embedded store on ext4: the device fails for 8 s under load and heals";

/// How often it is tried.
const N_ROUNDS: usize = 9;

/// An ext4 on such a device.
struct Device {
    dir: tempfile::TempDir,
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|cause| format!("{program}: {cause}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{program} {arguments:?}: {}", said(&output))),
    }
}

impl Device {
    /// The reason, where the machine has none.
    fn make() -> Result<Self, String> {
        let device = Self { dir: tempfile::tempdir().unwrap() };
        for dir in [device.outside(), device.inside()] {
            fs::create_dir(dir).unwrap();
        }
        run("mount", &["-t", "tmpfs", "-o", "size=200m", "tmpfs", text(&device.outside())])?;
        let image = device.image();
        fs::File::create(&image).and_then(|file| file.set_len(512 << 20)).unwrap();
        let at_once = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
        run("mkfs.ext4", &["-q", "-E", at_once, "-J", "size=4", text(&image)])?;
        device.mount()?;
        Ok(device)
    }

    fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    fn inside(&self) -> PathBuf {
        self.dir.path().join("inside")
    }

    fn image(&self) -> PathBuf {
        self.outside().join("image")
    }

    fn mount(&self) -> Result<(), String> {
        run("mount", &["-o", "loop", text(&self.image()), text(&self.inside())])
    }

    /// Has every write fail that needs room.
    fn fail(&self) {
        let zeros = vec![0; 1 << 16];
        let mut filler = fs::File::create(self.outside().join("filler")).unwrap();
        while std::io::Write::write_all(&mut filler, &zeros).is_ok() {}
    }

    fn heal(&self) {
        let _ = fs::remove_file(self.outside().join("filler"));
    }

    /// Has the system forget all that it keeps in memory, and mends the file system as a start of the machine does.
    fn start_anew(&self) {
        run("umount", &[text(&self.inside())]).unwrap();
        // It tells by its code that something was mended.
        let _ = Command::new("e2fsck").args(["-f", "-y", text(&self.image())]).output();
        self.mount().unwrap();
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.heal();
        for dir in [self.inside(), self.outside()] {
            let _ = Command::new("umount").args(["-l", text(&dir)]).output();
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A place whose store is on this device.
fn place_on(device: &Device) -> Place {
    let place = Place::sqlite();
    let data = device.inside().join("data");
    fs::create_dir(&data).unwrap();
    std::os::unix::fs::symlink(data, place.path("gatehouse-data")).unwrap();
    place
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it needs root and a loop device; `cargo xtask test --long` runs it"]
async fn a_device_that_fails_for_a_moment_loses_nothing() {
    let (mut n_answered, mut n_unsure, mut n_stopped) = (0, 0, 0);
    for round in 0..N_ROUNDS {
        let device = match Device::make() {
            Ok(device) => device,
            Err(why) => {
                eprintln!("NOT TRIED: a device that fails for a moment. This machine can't: {why}");
                return;
            }
        };
        let place = place_on(&device);
        let server = place.serve();
        let told = tokio::join!(create_until_it_ends(&server), async {
            // As long as a cable is loose. The kernel tries to write what it has taken after some seconds by itself.
            tokio::time::sleep(Duration::from_millis(300 + 400 * round as u64)).await;
            device.fail();
            tokio::time::sleep(Duration::from_secs(8)).await;
            device.heal();
        })
        .0;
        let ended = server.wait().code();
        assert_eq!(ended, Some(DISK_FAILED), "{}", place.log());
        n_stopped += 1;
        device.start_anew();
        let server = place.serve();
        let ready = server.json(Method::GET, "/-/ready", None).await;
        assert_eq!(ready.0, 200, "{ready:?} {}", place.log());
        must_hold(&place, &server, &told).await;
        server.terminate();
        assert!(server.wait().success());
        device.start_anew();
        let output = place.run(&["doctor", "--deep"]);
        assert!(output.status.success(), "{}", said(&output));
        n_answered += told.done.len();
        n_unsure += told.unsure.len();
    }
    let held = format!(
        "the server stopped each time; all of {n_answered} answered accesses are there, {n_unsure} were told to be unsure; \
         the database is whole after a start from the device alone"
    );
    gatehouse_testing::record(FAULT, n_stopped, &held);
}

/// A small file system, for a tablespace of PostgreSQL's.
struct SmallDisk {
    dir: tempfile::TempDir,
}

impl SmallDisk {
    fn make(owner: &str) -> Result<Self, String> {
        let disk = Self { dir: tempfile::tempdir().unwrap() };
        let mounted = disk.path();
        fs::create_dir(&mounted).unwrap();
        run("mount", &["-t", "tmpfs", "-o", "size=32m", "tmpfs", text(&mounted)])?;
        fs::create_dir(disk.space()).unwrap();
        run("chown", &["-R", owner, text(&mounted)])?;
        run("chmod", &["755", text(disk.dir.path())])?;
        Ok(disk)
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("small")
    }

    fn space(&self) -> PathBuf {
        self.path().join("space")
    }

    fn fill(&self) {
        let zeros = vec![0; 1 << 16];
        let mut filler = fs::File::create(self.path().join("filler")).unwrap();
        while std::io::Write::write_all(&mut filler, &zeros).is_ok() {}
    }

    fn make_room(&self) {
        fs::remove_file(self.path().join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l", text(&self.path())]).output();
    }
}

#[tokio::test]
#[ignore = "it needs root; `cargo xtask test --long` runs it"]
async fn a_full_disk_of_postgres_is_refused_and_heals() {
    let place = Place::postgres("full_disk_of_postgres").await;
    let url = place.database_url.clone().unwrap();
    let disk = match SmallDisk::make("postgres") {
        Ok(disk) => disk,
        Err(why) => {
            eprintln!("NOT TRIED: a full disk of PostgreSQL. This machine can't: {why}");
            return;
        }
    };
    let execute = async |sql: &str| gatehouse_testing::execute(&url, sql).await;
    execute("DROP TABLESPACE IF EXISTS small_disk").await;
    let space = disk.space();
    execute(&format!("CREATE TABLESPACE small_disk LOCATION '{}'", space.display())).await;
    let on_it = format!("{url}%20-c%20default_tablespace%3Dsmall_disk");
    let place = Place { database_url: Some(on_it), ..place };
    let server = place.serve();
    let mut told = Told::default();
    let create = async |username: &str| {
        let body = format!(r#"{{"contractId": "payg", "username": "{username}"}}"#);
        server.json(Method::POST, "/acme/access", Some(&body)).await
    };
    assert_eq!(create("before").await.0, 201);
    disk.fill();
    for n in 0.. {
        let username = format!("full{n}");
        let (status, answer) = create(&username).await;
        match status {
            201 => drop(told.done.insert(username)),
            503 => {
                assert_eq!(answer["title"], "Store unavailable", "{answer}");
                told.refused.insert(username);
                break;
            }
            _ => panic!("{status}: {answer}"),
        }
    }
    disk.make_room();
    assert_eq!(create("after").await.0, 201, "it heals by itself");
    told.done.extend(["before", "after"].map(str::to_owned));
    must_hold(&place, &server, &told).await;
    server.terminate();
    assert!(server.wait().success());
    gatehouse_testing::record(
        "PostgreSQL: its disk is full, and has room again",
        1,
        "the write is refused with 503, the next one after that goes through; nothing answered is lost",
    );
    let schema = "e2e_full_disk_of_postgres";
    execute(&format!("DROP SCHEMA {schema} CASCADE")).await;
    execute("DROP TABLESPACE small_disk").await;
}
