//! The sockets of the machine that have a name among the files, found when a command starts.
//!
//! A command with a network of its own reaches no addresses and no abstract names, but it reaches sockets among the
//! files: to connect to such a socket takes no more than a path to it. Sockets of commands are in networks of their own
//! and not listed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// The kernel's list of the local sockets in this process's network.
const LIST: &str = "/proc/net/unix";
/// Fields of a line before the name.
const FIELDS: usize = 7;
/// The field with the socket's number.
const NUMBER: usize = 6;

/// Returns the sockets that have a name among the files, by real name.
pub(super) fn bound() -> BTreeSet<PathBuf> {
    let list = std::fs::read(LIST).unwrap_or_default();
    let named = names(&list);
    let relative = named.iter().filter(|(_, name)| name.is_relative());
    let relative: BTreeMap<&str, &Path> = relative.map(|(n, name)| (n.as_str(), name.as_path())).collect();
    let absolute = named.iter().filter(|(_, name)| name.is_absolute());
    let all = absolute.map(|(_, name)| name.clone()).chain(joined(&relative));
    let real = all.filter_map(|name| name.canonicalize().ok());
    let is_socket = |path: &PathBuf| {
        path.symlink_metadata()
            .is_ok_and(|found| found.file_type().is_socket())
    };
    real.filter(is_socket).collect()
}

/// Returns the numbers and names of the sockets in a list.
fn names(list: &[u8]) -> Vec<(String, PathBuf)> {
    let named = |line: &[u8]| {
        let mut rest = line;
        let mut number = None;
        for field in 0..FIELDS {
            rest = rest.trim_ascii_start();
            let end = rest.iter().position(|byte| *byte == b' ')?;
            let (text, after) = rest.split_at(end);
            if field == NUMBER {
                number = std::str::from_utf8(text).ok();
            }
            rest = after;
        }
        // One blank, then the name as it is. Names that are not among the files start with `@`.
        let name = rest.get(1..)?;
        let is_file = !name.is_empty() && !name.starts_with(b"@");
        is_file.then(|| Some((number?.to_owned(), OsStr::from_bytes(name).into())))?
    };
    list.split(|byte| *byte == b'\n')
        .skip(1)
        .filter_map(named)
        .collect()
}

/// Returns relative names, by number, joined to the directories of the processes that have these sockets open. A program
/// that has left its directory since, or belongs to another user, is not found.
fn joined(relative: &BTreeMap<&str, &Path>) -> Vec<PathBuf> {
    if relative.is_empty() {
        return Vec::new();
    }
    let entries = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
    let processes = entries("/proc".into()).filter(|process| is_number(&process.file_name()));
    let mut found = Vec::new();
    for process in processes {
        for descriptor in entries(process.path().join("fd")) {
            let target = descriptor.path().read_link().unwrap_or_default();
            let number = target
                .to_str()
                .and_then(|target| target.strip_prefix("socket:[")?.strip_suffix(']'));
            if let Some(name) = number.and_then(|number| relative.get(number)) {
                let directory = process.path().join("cwd").read_link();
                found.extend(directory.map(|directory| directory.join(name)));
            }
        }
    }
    found
}

fn is_number(name: &OsString) -> bool {
    name.as_bytes().iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixDatagram, UnixListener};

    use super::*;

    #[test]
    fn names_are_read_as_the_kernel_writes_them() {
        let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000022874580: 00000003 00000000 00000000 0001 03 54855\n\
            000000005497d1db: 00000002 00000000 00010000 0001 01    17 /run/a b.sock\n\
            000000005497d1dc: 00000002 00000000 00010000 0001 01 18 @abstract\n\
            000000005497d1dd: 00000002 00000000 00000000 0002 01 19 notes\n";
        let expected = [("17", "/run/a b.sock"), ("19", "notes")];
        assert_eq!(
            names(list),
            expected.map(|(n, name)| (n.to_owned(), PathBuf::from(name)))
        );
    }

    #[test]
    fn sockets_that_are_open_are_found_and_what_they_left_is_not() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let [stream, datagram, closed, link] = ["a b", "notes", "closed", "link"].map(|name| top.join(name));
        let _stream = UnixListener::bind(&stream).unwrap();
        let _datagram = UnixDatagram::bind(&datagram).unwrap();
        drop(UnixListener::bind(&closed).unwrap());
        std::os::unix::fs::symlink(&stream, &link).unwrap();
        let found = bound();
        let found: Vec<_> = found.iter().filter(|path| path.starts_with(&top)).collect();
        assert_eq!(found, [&stream, &datagram]);
    }
}
