//! SQLite's VFS for the disk: its Unix VFS, with a check before each call.
//!
//! Every open file is an [`OurFile`] followed by a file of the Unix VFS, in memory that SQLite allocates for both.
//! Calls that only concern locks and shared memory pass straight through.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::size_of;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{ptr, slice};

use rusqlite::ffi::{
    SQLITE_FULL, SQLITE_IOERR_FSYNC, SQLITE_IOERR_READ, SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_WRITE,
    SQLITE_OK, SQLITE_OPEN_MAIN_DB, SQLITE_OPEN_WAL, sqlite3_file, sqlite3_filename, sqlite3_int64,
    sqlite3_io_methods, sqlite3_vfs, sqlite3_vfs_find, sqlite3_vfs_register,
};

use crate::image::{Change, Image};
use crate::plan::{Call, Failure};
use crate::{CallOutcome, Disk};

/// An open file. The file of the Unix VFS follows it in memory.
#[repr(C)]
struct OurFile {
    base: sqlite3_file,
    disk: &'static Disk,
    /// Path of a database or a log; `None` for other files, which never fail.
    path: Option<Box<PathBuf>>,
}

/// A disk as SQLite's VFS.
struct DiskVfs {
    unix: *mut sqlite3_vfs,
    disk: &'static Disk,
}

/// Makes a disk under a unique name, and registers it with SQLite.
pub(crate) fn register(make: impl FnOnce(String) -> Disk) -> &'static Disk {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("lying-disk-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let c_name = CString::new(name.clone()).expect("the name has no NUL").into_raw();
    // SAFETY: SQLite looks up a VFS by name, and returns null if there is none.
    let unix = unsafe { sqlite3_vfs_find(c"unix".as_ptr()) };
    assert!(!unix.is_null(), "SQLite has its Unix VFS");
    let disk: &'static Disk = Box::leak(Box::new(make(name)));
    let disk_vfs: *mut DiskVfs = Box::into_raw(Box::new(DiskVfs { unix, disk }));
    // SAFETY: `unix` was just found, and SQLite never frees it; the struct may be copied.
    let theirs = unsafe { *unix };
    let ours = Box::into_raw(Box::new(sqlite3_vfs {
        szOsFile: theirs.szOsFile + size_of::<OurFile>() as c_int,
        pNext: ptr::null_mut(),
        zName: c_name,
        pAppData: disk_vfs.cast(),
        xOpen: Some(open),
        xDelete: Some(delete),
        ..theirs
    }));
    // SAFETY: the registered VFS, and all that it points to, is never freed.
    let registered = unsafe { sqlite3_vfs_register(ours, 0) };
    assert_eq!(registered, SQLITE_OK, "SQLite accepts another VFS");
    disk
}

/// The disk of a VFS.
///
/// # Safety
/// `vfs` must be one that [`register`] made.
unsafe fn disk_vfs(vfs: *mut sqlite3_vfs) -> &'static DiskVfs {
    // SAFETY: `register` has set the pointer, and its target is never freed.
    unsafe { &*(*vfs).pAppData.cast::<DiskVfs>() }
}

/// The Unix VFS's file, which follows ours.
///
/// # Safety
/// `file` must be one that SQLite allocated for our VFS.
unsafe fn unix_file(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: SQLite has allocated both, one after the other.
    unsafe { file.cast::<OurFile>().add(1).cast() }
}

/// Methods of the Unix VFS's file.
///
/// # Safety
/// `file` must be one that [`open`] has opened.
unsafe fn methods(file: *mut sqlite3_file) -> &'static sqlite3_io_methods {
    // SAFETY: an open file has methods, which live as long as SQLite.
    unsafe { &*(*unix_file(file)).pMethods }
}

/// # Safety
/// Called by SQLite alone, with a file that [`open`] has opened.
unsafe fn ours<'a>(file: *mut sqlite3_file) -> &'a OurFile {
    // SAFETY: `open` has initialised the file.
    unsafe { &*file.cast::<OurFile>() }
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite calls this with our VFS, and with memory for a file of its size. A name is a C string or null.
    unsafe {
        let disk_vfs = disk_vfs(vfs);
        let is_ours = flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL) != 0 && !name.is_null();
        let path = is_ours.then(|| Box::new(path_of(name)));
        if let Some(path) = &path {
            let found = std::fs::read(path.as_path()).ok();
            disk_vfs
                .disk
                .state
                .lock()
                .files
                .entry((**path).clone())
                .or_insert_with(|| Image::of(found));
        }
        (*file).pMethods = ptr::null();
        let Some(open) = (*disk_vfs.unix).xOpen else { return SQLITE_IOERR_READ };
        let opened = open(disk_vfs.unix, name, unix_file(file), flags, flags_out);
        if (*unix_file(file)).pMethods.is_null() {
            return opened;
        }
        let base = sqlite3_file { pMethods: &raw const METHODS };
        file.cast::<OurFile>().write(OurFile { base, disk: disk_vfs.disk, path });
        opened
    }
}

unsafe extern "C" fn delete(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    sync_directory: c_int,
) -> c_int {
    // SAFETY: SQLite calls this with our VFS and a C string.
    unsafe {
        let disk_vfs = disk_vfs(vfs);
        let Some(delete) = (*disk_vfs.unix).xDelete else { return SQLITE_IOERR_WRITE };
        let mut state = disk_vfs.disk.state.lock();
        if let CallOutcome::Fails(failure) = state.next_outcome(Call::Truncate) {
            return code(failure, SQLITE_IOERR_WRITE);
        }
        state.files.remove(&path_of(name));
        delete(disk_vfs.unix, name, sync_directory)
    }
}

/// # Safety
/// `name` must be a C string.
unsafe fn path_of(name: *const c_char) -> PathBuf {
    // SAFETY: as above.
    let bytes = unsafe { CStr::from_ptr(name) }.to_bytes();
    Path::new(std::ffi::OsStr::from_bytes(bytes)).to_owned()
}

/// SQLite's result code of a failure; `io` is the code of an I/O error for this call.
fn code(failure: Failure, io: c_int) -> c_int {
    match failure {
        Failure::Io | Failure::PowerCut => io,
        Failure::Full => SQLITE_FULL,
    }
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    // Without memory mapping: an unreadable page would end the process, not a call.
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

const LACKING: &str = "the Unix VFS has every method of its version";

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once, and does not use it any more.
    unsafe {
        let closed = methods(file).xClose.expect(LACKING)(unix_file(file));
        ptr::drop_in_place(file.cast::<OurFile>());
        closed
    }
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    into: *mut c_void,
    n_bytes: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: called by SQLite with an open file and a buffer of so many bytes.
    unsafe {
        let it = ours(file);
        if it.path.is_some()
            && let CallOutcome::Fails(failure) = it.disk.state.lock().next_outcome(Call::Read)
            && failure != Failure::Full
        {
            return SQLITE_IOERR_READ;
        }
        methods(file).xRead.expect(LACKING)(unix_file(file), into, n_bytes, offset)
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    from: *const c_void,
    n_bytes: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: called by SQLite with an open file and so many bytes.
    unsafe {
        let it = ours(file);
        let through =
            |n_bytes| methods(file).xWrite.expect(LACKING)(unix_file(file), from, n_bytes, offset);
        let Some(path) = &it.path else { return through(n_bytes) };
        let mut state = it.disk.state.lock();
        let (n_written, told) = match state.next_outcome(Call::Write) {
            CallOutcome::Done => (n_bytes, SQLITE_OK),
            CallOutcome::Fails(Failure::PowerCut) => return SQLITE_IOERR_WRITE,
            CallOutcome::Fails(failure) => {
                let n_written = state.random().roll(n_bytes as u64) as c_int;
                (n_written, code(failure, SQLITE_IOERR_WRITE))
            }
        };
        if n_written > 0 {
            let done = through(n_written);
            if done != SQLITE_OK {
                return done;
            }
            let bytes = slice::from_raw_parts(from.cast::<u8>(), n_written as usize).to_vec();
            if let Some((image, _)) = state.file(path) {
                image.change(Change::Write { offset: offset as usize, bytes });
            }
        }
        told
    }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    // SAFETY: called by SQLite with an open file.
    unsafe {
        let it = ours(file);
        if let Some(path) = &it.path {
            let mut state = it.disk.state.lock();
            if let CallOutcome::Fails(failure) = state.next_outcome(Call::Truncate) {
                return code(failure, SQLITE_IOERR_TRUNCATE);
            }
            if let Some((image, _)) = state.file(path) {
                image.change(Change::Truncate { size: size as usize });
            }
        }
        methods(file).xTruncate.expect(LACKING)(unix_file(file), size)
    }
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: called by SQLite with an open file.
    let it = unsafe { ours(file) };
    // The real disk needs no flush: a test has no power cuts.
    let Some(path) = &it.path else { return SQLITE_OK };
    let mut state = it.disk.state.lock();
    let fate = state.next_outcome(Call::Flush);
    let Some((image, dice)) = state.file(path) else { return SQLITE_OK };
    match fate {
        CallOutcome::Done => {
            image.flush();
            SQLITE_OK
        }
        CallOutcome::Fails(Failure::PowerCut) => SQLITE_IOERR_FSYNC,
        // SQLite's Unix VFS returns the same code for both.
        CallOutcome::Fails(Failure::Io | Failure::Full) => {
            image.fail_to_flush(dice);
            SQLITE_IOERR_FSYNC
        }
    }
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, size: *mut sqlite3_int64) -> c_int {
    // SAFETY: called by SQLite with an open file.
    unsafe { methods(file).xFileSize.expect(LACKING)(unix_file(file), size) }
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: called by SQLite with an open file.
    unsafe { methods(file).xLock.expect(LACKING)(unix_file(file), level) }
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: called by SQLite with an open file.
    unsafe { methods(file).xUnlock.expect(LACKING)(unix_file(file), level) }
}

unsafe extern "C" fn check_reserved_lock(file: *mut sqlite3_file, found: *mut c_int) -> c_int {
    // SAFETY: called by SQLite with an open file.
    unsafe { methods(file).xCheckReservedLock.expect(LACKING)(unix_file(file), found) }
}

unsafe extern "C" fn file_control(
    file: *mut sqlite3_file,
    what: c_int,
    with: *mut c_void,
) -> c_int {
    // SAFETY: called by SQLite with an open file.
    unsafe { methods(file).xFileControl.expect(LACKING)(unix_file(file), what, with) }
}

unsafe extern "C" fn sector_size(file: *mut sqlite3_file) -> c_int {
    // SAFETY: called by SQLite with an open file.
    unsafe { methods(file).xSectorSize.expect(LACKING)(unix_file(file)) }
}

unsafe extern "C" fn device_characteristics(file: *mut sqlite3_file) -> c_int {
    // SAFETY: called by SQLite with an open file.
    unsafe { methods(file).xDeviceCharacteristics.expect(LACKING)(unix_file(file)) }
}

unsafe extern "C" fn shm_map(
    file: *mut sqlite3_file,
    nth: c_int,
    size: c_int,
    extend: c_int,
    found: *mut *mut c_void,
) -> c_int {
    // SAFETY: called by SQLite with an open file.
    unsafe { methods(file).xShmMap.expect(LACKING)(unix_file(file), nth, size, extend, found) }
}

unsafe extern "C" fn shm_lock(
    file: *mut sqlite3_file,
    offset: c_int,
    n: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: called by SQLite with an open file.
    unsafe { methods(file).xShmLock.expect(LACKING)(unix_file(file), offset, n, flags) }
}

unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    // SAFETY: called by SQLite with an open file.
    unsafe { methods(file).xShmBarrier.expect(LACKING)(unix_file(file)) }
}

unsafe extern "C" fn shm_unmap(file: *mut sqlite3_file, delete: c_int) -> c_int {
    // SAFETY: called by SQLite with an open file.
    unsafe { methods(file).xShmUnmap.expect(LACKING)(unix_file(file), delete) }
}
