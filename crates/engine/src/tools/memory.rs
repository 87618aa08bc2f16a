//! Files in memory: what a process is told without anybody seeing it, and a program that needs no place on a disk.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Returns a file in memory with a text, which is read from its beginning.
pub(super) fn file(text: &[u8]) -> io::Result<Arc<OwnedFd>> {
    Ok(Arc::new(linux::file(text)?))
}

/// Returns a program in memory, which nobody can change, to be executed.
///
/// # Errors
/// There can be none here.
pub(super) fn program(bytes: &[u8]) -> io::Result<OwnedFd> {
    linux::program(bytes)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::CStr;
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsRawFd as _, OwnedFd};
    use std::os::unix::fs::FileExt as _;

    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, SealFlag, fcntl};
    use nix::libc::{MFD_EXEC, MFD_NOEXEC_SEAL, c_uint};
    use nix::sys::memfd::{MFdFlags, memfd_create};

    pub(super) fn file(text: &[u8]) -> io::Result<OwnedFd> {
        Ok(made(c"arguments", MFdFlags::empty(), MFD_NOEXEC_SEAL, text)?.into())
    }

    pub(super) fn program(bytes: &[u8]) -> io::Result<OwnedFd> {
        let file = made(c"bobbin-hold", MFdFlags::MFD_ALLOW_SEALING, MFD_EXEC, bytes)?;
        let seals = [
            SealFlag::F_SEAL_WRITE,
            SealFlag::F_SEAL_GROW,
            SealFlag::F_SEAL_SHRINK,
            SealFlag::F_SEAL_SEAL,
        ];
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals.into_iter().collect()))?;
        // Another descriptor: what is open to be written is not executed.
        Ok(File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))?.into())
    }

    /// Makes one. Some systems want it said whether anybody executes it; those before 6.3 do not know how that is said.
    fn made(name: &CStr, flags: MFdFlags, executed: c_uint, bytes: &[u8]) -> io::Result<File> {
        let create = |more| memfd_create(name, MFdFlags::MFD_CLOEXEC | flags | more);
        let made = match create(MFdFlags::from_bits_retain(executed)) {
            Err(Errno::EINVAL) => create(MFdFlags::empty()),
            made => made,
        };
        let file = File::from(made?);
        file.write_all_at(bytes, 0)?;
        Ok(file)
    }
}

/// Nothing is held on other systems.
#[cfg(not(target_os = "linux"))]
mod linux {
    use std::io::{self, ErrorKind};
    use std::os::fd::OwnedFd;

    pub(super) fn file(_: &[u8]) -> io::Result<OwnedFd> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(super) fn program(_: &[u8]) -> io::Result<OwnedFd> {
        Err(ErrorKind::Unsupported.into())
    }
}
