//! Whether bubblewrap has mounted what a view plans, and nothing else.
//!
//! Bubblewrap takes paths, and follows links to the source of a mount and to its place. A command that runs meanwhile can
//! exchange a directory on the way for a link, so that another place is mounted, or elsewhere. So the parent records which
//! file or directory each path is, without following a link, and hands these records to the helper. The helper compares
//! them with its mounts before the command runs. A difference means that the command does not run.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

use crate::SandboxError;
use crate::plain::{open, seen};

/// The kernel's list of the mounts that this process sees.
const LIST: &str = "/proc/self/mountinfo";
/// Directories that bubblewrap makes for every command.
const MADE: [&str; 2] = ["/dev", "/proc"];

/// The mounts of a view, and those of the machine, which bubblewrap copies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedMounts {
    planned: Vec<PlannedMount>,
    machine: BTreeSet<MachineMount>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PlannedMount {
    #[serde(with = "crate::serialized::path")]
    path: PathBuf,
    content: Content,
    access: Access,
}

/// The content of a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Content {
    /// A file or directory of the machine, by its device and number.
    Place(u64, u64),
    /// A new file system.
    New,
}

/// Whether a command may write a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Access {
    /// It may.
    Write,
    /// It may not.
    Read,
    /// It may not, and the place may be missing.
    ReadIfThere,
}

/// A mount as any list shows it: its path, its device, and the directory of that device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct MachineMount {
    #[serde(with = "crate::serialized::path")]
    path: PathBuf,
    device: String,
    root: Vec<u8>,
}

/// A mount of this process's list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mounted {
    id: u64,
    parent: u64,
    mount: MachineMount,
    is_read_only: bool,
}

/// A place as the helper finds it: the number of its mount, its device and its own number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FoundPlace {
    mount: u64,
    content: Content,
}

impl PlannedMounts {
    /// Returns no mounts, beside those of the machine as of now.
    pub(super) fn of_machine() -> Result<Self, SandboxError> {
        let machine = list()?.into_iter().map(|mounted| mounted.mount).collect();
        Ok(Self {
            planned: Vec::new(),
            machine,
        })
    }

    pub(super) fn add(&mut self, path: &Path, content: Content, access: Access) {
        let path = path.to_owned();
        self.planned.push(PlannedMount {
            path,
            content,
            access,
        });
    }

    /// Compares this process's mounts with the plan.
    pub(crate) fn check(&self) -> Result<(), SandboxError> {
        let is_device = |path: &Path| {
            path.symlink_metadata()
                .is_ok_and(|about| about.file_type().is_char_device())
        };
        self.compare(&list()?, found_place, is_device)
    }

    fn compare(
        &self,
        found: &[Mounted],
        look: impl Fn(&Path) -> Result<Option<FoundPlace>, SandboxError>,
        is_device: impl Fn(&Path) -> bool,
    ) -> Result<(), SandboxError> {
        let by_id: BTreeMap<u64, &Mounted> = found.iter().map(|mounted| (mounted.id, mounted)).collect();
        let devices: BTreeSet<&str> = self.machine.iter().map(|mount| mount.device.as_str()).collect();
        let is_new = |mounted: &Mounted| !devices.contains(mounted.mount.device.as_str());
        let mut known = BTreeSet::new();
        for PlannedMount {
            path,
            content,
            access,
        } in &self.planned
        {
            let replaced = || SandboxError::Replaced(path.clone());
            let Some(place) = look(path)? else {
                if *access == Access::ReadIfThere {
                    continue;
                }
                return Err(replaced());
            };
            let mounted = by_id.get(&place.mount).ok_or_else(replaced)?;
            let is_content = match content {
                Content::Place(..) => place.content == *content,
                Content::New => is_new(mounted),
            };
            let is_closed = *access == Access::Write || mounted.is_read_only;
            if mounted.mount.path != *path || !is_content || !is_closed {
                return Err(replaced());
            }
            known.insert(mounted.id);
        }
        let covered: BTreeSet<(u64, &Path)> = found
            .iter()
            .map(|mounted| (mounted.parent, mounted.mount.path.as_path()))
            .collect();
        for mounted in found.iter().filter(|mounted| !known.contains(&mounted.id)) {
            let path = &mounted.mount.path;
            let is_made =
                || MADE.iter().any(|made| path.starts_with(made)) && (is_new(mounted) || is_device(path));
            let is_written = || {
                let mut write = self
                    .planned
                    .iter()
                    .filter(|planned| planned.access == Access::Write);
                write.any(|planned| path.starts_with(&planned.path))
            };
            let is_copy = self.machine.contains(&mounted.mount)
                && (mounted.is_read_only || covered.contains(&(mounted.id, path.as_path())) || is_written());
            if !is_copy && !is_made() {
                return Err(SandboxError::Replaced(path.clone()));
            }
        }
        Ok(())
    }
}

/// Returns which file or directory a path is, without following a link; `None` if it is missing.
///
/// # Errors
/// [`SandboxError::Replaced`] where a link is on the way, [`SandboxError::Closed`].
pub(super) fn content(path: &Path) -> Result<Option<Content>, SandboxError> {
    match open(path) {
        Ok((_, about)) => Ok(Some(Content::Place(about.st_dev, about.st_ino))),
        Err(error) => missing(path, error).map(|()| None),
    }
}

fn missing(path: &Path, error: Errno) -> Result<(), SandboxError> {
    match error {
        Errno::ENOENT => Ok(()),
        Errno::EACCES => seen(path).and(Err(SandboxError::Replaced(path.to_owned()))),
        _ => Err(SandboxError::Replaced(path.to_owned())),
    }
}

fn found_place(path: &Path) -> Result<Option<FoundPlace>, SandboxError> {
    let (place, about) = match open(path) {
        Ok(opened) => opened,
        Err(error) => return missing(path, error).map(|()| None),
    };
    let about_it = read(&format!("/proc/self/fdinfo/{}", place.as_raw_fd()))?;
    let about_it = String::from_utf8_lossy(&about_it).into_owned();
    let number = about_it.lines().find_map(|line| line.strip_prefix("mnt_id:"));
    let mount = number
        .and_then(|number| number.trim().parse().ok())
        .ok_or_else(|| SandboxError::Kernel("it does not number mounts".to_owned()))?;
    let content = Content::Place(about.st_dev, about.st_ino);
    Ok(Some(FoundPlace { mount, content }))
}

fn read(path: &str) -> Result<Vec<u8>, SandboxError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    let path = PathBuf::from(path);
    read.map_err(|source| SandboxError::Path { path, source })?;
    Ok(bytes)
}

/// Returns the mounts that this process sees.
fn list() -> Result<Vec<Mounted>, SandboxError> {
    Ok(mounts(&read(LIST)?))
}

/// Returns the mounts of a list. A line that is none is no reason to doubt the others: what it mounts is not planned, or is
/// missed.
fn mounts(list: &[u8]) -> Vec<Mounted> {
    let mounted = |line: &[u8]| {
        let mut fields = line.split(|byte| *byte == b' ');
        let mut next = || fields.next();
        let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse().ok();
        let (id, parent) = (number(next()?)?, number(next()?)?);
        let device = String::from_utf8_lossy(next()?).into_owned();
        let (root, path, options) = (next()?, next()?, next()?);
        let mount = MachineMount {
            path: OsString::from_vec(unescaped(path)).into(),
            device,
            root: root.to_owned(),
        };
        let is_read_only = options.split(|byte| *byte == b',').any(|option| option == b"ro");
        Some(Mounted {
            id,
            parent,
            mount,
            is_read_only,
        })
    };
    list.split(|byte| *byte == b'\n').filter_map(mounted).collect()
}

/// Returns a path without the kernel's escapes: a backslash and three octal digits.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| byte == b'\\');
        let code = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        let (byte, after) = match (code, after.get(3..)) {
            (Some(code), Some(after)) => (code, after),
            _ => (byte, after),
        };
        path.push(byte);
        rest = after;
    }
    path
}
