//! Files in memory: what a process is told without anybody seeing it, and a program that needs no place on a disk.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Returns a file in memory with a text, which is read from its beginning.
pub(super) fn file(text: &[u8]) -> io::Result<Arc<OwnedFd>> {
    Ok(Arc::new(linux::file(text)?))
}

/// Returns a program in memory to be executed, whose bytes nobody can change.
///
/// # Errors
/// The system lets nobody make such a program, or has no room.
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
        // One to be read, for those who inherit it.
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

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_in_memory_is_what_it_was_made_from_and_stays_so() {
        use std::fs::File;
        use std::io::Read as _;
        use std::os::fd::AsRawFd as _;

        let Ok(program) = super::program(b"program") else {
            println!("not tested: this system executes nothing in memory");
            return;
        };
        let path = format!("/proc/self/fd/{}", program.as_raw_fd());
        let mut file = File::from(program);
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "program");
        assert!(file.set_len(0).is_err());
        // Some users may open it to be written all the same: nothing is.
        if let Ok(other) = File::options().write(true).open(path) {
            assert!(std::io::Write::write(&mut &other, b"other").is_err());
            assert!(other.set_len(0).is_err());
        }
    }
}
