//! Opens places through no link.
//!
//! A name that was resolved a moment ago may lead elsewhere now: a command that runs can exchange a directory for a link.
//! So each step of the way is opened by itself. (`openat2` does that in one call, on Linux 5.6 or later.)

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::unistd::geteuid;

use crate::SandboxError;

/// Opens a place by its real name, without rights on its content.
///
/// # Errors
/// Errors of the system; `ENOTDIR` or `ELOOP` if a link is on the way or in its place.
pub(crate) fn open(path: &Path) -> nix::Result<(OwnedFd, FileStat)> {
    let how = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut place = nix::fcntl::open("/", how, Mode::empty())?;
    for part in path.components() {
        match part {
            Component::RootDir => {}
            Component::Normal(name) => place = openat(&place, name, how, Mode::empty())?,
            Component::Prefix(_) | Component::CurDir | Component::ParentDir => return Err(Errno::EINVAL),
        }
    }
    let about = fstat(&place)?;
    if SFlag::from_bits_truncate(about.st_mode & SFlag::S_IFMT.bits()) == SFlag::S_IFLNK {
        return Err(Errno::ELOOP);
    }
    Ok((place, about))
}

/// The type of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Directory,
    File,
    /// It is missing, of another type, or behind a link.
    Other,
}

/// Returns the type of a place, given by real name.
///
/// # Errors
/// [`SandboxError::Closed`]
pub(crate) fn kind(path: &Path) -> Result<Kind, SandboxError> {
    let about = match open(path) {
        Ok((_, about)) => about,
        Err(Errno::EACCES) => return seen(path).map(|()| Kind::Other),
        Err(_) => return Ok(Kind::Other),
    };
    Ok(
        match SFlag::from_bits_truncate(about.st_mode & SFlag::S_IFMT.bits()) {
            SFlag::S_IFDIR => Kind::Directory,
            SFlag::S_IFREG => Kind::File,
            _ => Kind::Other,
        },
    )
}

/// Returns `Ok` if a command cannot change the mode that closes a place to this user: another user owns the place.
///
/// # Errors
/// [`SandboxError::Closed`]: a command could have taken this right away, and could restore it.
pub(crate) fn seen(path: &Path) -> Result<(), SandboxError> {
    let own = geteuid().as_raw();
    let nearest = path
        .ancestors()
        .find_map(|place| Some((place, place.symlink_metadata().ok()?)));
    match nearest {
        Some((place, about)) if about.uid() == own => Err(SandboxError::Closed(place.to_owned())),
        _ => Ok(()),
    }
}
