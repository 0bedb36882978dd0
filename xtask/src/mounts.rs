//! Checks whether tests can mount file systems on this machine: that needs root, and many containers forbid it.

use std::process::{Command, Stdio};

use crate::tools::program::read_output;

/// Fails with the reason why file systems can't be mounted, or why there is no loop device.
pub(crate) fn check() -> Result<(), String> {
    let directory = std::env::temp_dir().join(format!("gatehouse-mount-{}", std::process::id()));
    let failed = |cause| format!("{}: {cause}", directory.display());
    std::fs::create_dir(&directory).map_err(failed)?;
    let mounted = run(Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&directory));
    if mounted.is_ok() {
        run(Command::new("umount").arg(&directory))?;
    }
    std::fs::remove_dir(&directory).map_err(failed)?;
    mounted?;
    match read_output(Command::new("losetup").arg("--find")) {
        Some(_) => Ok(()),
        None => Err("`losetup --find` finds no loop device".to_owned()),
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(cause) => Err(format!("{name}: {cause}")),
    }
}
