//! File systems that fail on demand. Creating them needs root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::process::printed;

/// An ext4 on a device that fails and heals, as a disk, a cable or a storage network does.
///
/// The device is a file on a file system that is too small for it. Once that one is full, the kernel can't write its
/// dirty pages, and reports so once, to the next flush. When there is space again, all seems well.
pub(crate) struct FailingDevice {
    dir: tempfile::TempDir,
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|cause| panic!("{program}: {cause}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", printed(&output));
}

/// Writes zeros to a file until its file system is full.
fn fill_up(filler: &Path) {
    let zeros = vec![0; 1 << 16];
    let mut filler = fs::File::create(filler).unwrap();
    while std::io::Write::write_all(&mut filler, &zeros).is_ok() {}
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

impl FailingDevice {
    pub(crate) fn make() -> Self {
        let device = Self { dir: tempfile::tempdir().unwrap() };
        for dir in [device.outside(), device.inside()] {
            fs::create_dir(dir).unwrap();
        }
        run("mount", &["-t", "tmpfs", "-o", "size=200m", "tmpfs", text(&device.outside())]);
        let image = device.image();
        fs::File::create(&image).and_then(|file| file.set_len(512 << 20)).unwrap();
        let at_once = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
        run("mkfs.ext4", &["-q", "-E", at_once, "-J", "size=4", text(&image)]);
        device.mount();
        device
    }

    fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    pub(crate) fn inside(&self) -> PathBuf {
        self.dir.path().join("inside")
    }

    fn image(&self) -> PathBuf {
        self.outside().join("image")
    }

    fn filler(&self) -> PathBuf {
        self.outside().join("filler")
    }

    fn mount(&self) {
        run("mount", &["-o", "loop", text(&self.image()), text(&self.inside())]);
    }

    /// Makes every write fail that needs new blocks.
    pub(crate) fn fail(&self) {
        fill_up(&self.filler());
    }

    pub(crate) fn heal(&self) {
        let _ = fs::remove_file(self.filler());
    }

    /// Drops the kernel's cached pages and repairs the file system, as a restart of the machine does.
    pub(crate) fn start_anew(&self) {
        run("umount", &[text(&self.inside())]);
        // The exit code isn't 0 after a repair.
        let _ = Command::new("e2fsck").args(["-f", "-y", text(&self.image())]).output();
        self.mount();
    }
}

impl Drop for FailingDevice {
    fn drop(&mut self) {
        self.heal();
        for dir in [self.inside(), self.outside()] {
            let _ = Command::new("umount").args(["-l", text(&dir)]).output();
        }
    }
}

/// A small file system for a PostgreSQL tablespace.
pub(crate) struct SmallDisk {
    dir: tempfile::TempDir,
}

impl SmallDisk {
    pub(crate) fn make(owner: &str) -> Self {
        let disk = Self { dir: tempfile::tempdir().unwrap() };
        let mounted = disk.path();
        fs::create_dir(&mounted).unwrap();
        run("mount", &["-t", "tmpfs", "-o", "size=32m", "tmpfs", text(&mounted)]);
        fs::create_dir(disk.space()).unwrap();
        run("chown", &["-R", owner, text(&mounted)]);
        run("chmod", &["755", text(disk.dir.path())]);
        disk
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("small")
    }

    pub(crate) fn space(&self) -> PathBuf {
        self.path().join("space")
    }

    pub(crate) fn fill(&self) {
        fill_up(&self.path().join("filler"));
    }

    pub(crate) fn make_room(&self) {
        fs::remove_file(self.path().join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l", text(&self.path())]).output();
    }
}
