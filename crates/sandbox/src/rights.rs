//! Capabilities: the rights that root has beyond its own files. Other users have none to drop.
//!
//! With all capabilities, root in the sandbox could read the memory maps and environment of any process. Landlock
//! does not prevent that for processes that may profile the machine.

#![expect(
    unsafe_code,
    reason = "capabilities have no safe form in our libraries; each block says why it is sound"
)]

use nix::libc;

use crate::SandboxError;

/// The remaining capabilities: owners and modes of files, other users, small ports. Programs run by root in a
/// workspace use them, and Landlock and seccomp still restrict these programs.
const RETAINED: u64 = 1 << 0 // CAP_CHOWN
    | 1 << 1 // CAP_DAC_OVERRIDE
    | 1 << 3 // CAP_FOWNER
    | 1 << 4 // CAP_FSETID
    | 1 << 6 // CAP_SETGID
    | 1 << 7 // CAP_SETUID
    | 1 << 10; // CAP_NET_BIND_SERVICE
/// `_LINUX_CAPABILITY_VERSION_3`: two words of each set.
const VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Drops capabilities of this process and its descendants for good: no program gets them back.
pub(crate) fn restrict() -> Result<(), SandboxError> {
    let failed = |what: &str| {
        let error = std::io::Error::last_os_error();
        SandboxError::Kernel(format!("{what}: {error}"))
    };
    let mut sets = get().ok_or_else(|| failed("capabilities cannot be read"))?;
    if sets
        .iter()
        .all(|word| word.permitted == 0 && word.inheritable == 0)
    {
        return Ok(());
    }
    for capability in (0..64).filter(|capability| RETAINED & (1 << capability) == 0) {
        // SAFETY: takes integers only. Fails for numbers the kernel does not know, and without the right to drop;
        // the next lines check the result.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
    // SAFETY: takes integers only. Kernels before 4.3 have no ambient set.
    unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
    for (word, shift) in sets.iter_mut().zip([0, 32]) {
        let retained = u32::try_from(RETAINED >> shift & u64::from(u32::MAX)).unwrap_or(0);
        word.effective &= retained;
        word.permitted &= retained;
        word.inheritable = 0;
    }
    let mut header = Header {
        version: VERSION,
        pid: 0,
    };
    // SAFETY: both pointers are to values with the kernel's layout that live through the call.
    let done = unsafe { libc::syscall(libc::SYS_capset, &raw mut header, sets.as_ptr()) };
    if done != 0 {
        return Err(failed("capabilities cannot be taken away"));
    }
    Ok(())
}

fn get() -> Option<[Sets; 2]> {
    let mut header = Header {
        version: VERSION,
        pid: 0,
    };
    let mut sets = [Sets::default(); 2];
    // SAFETY: both pointers are to values with the kernel's layout that live through the call.
    let done = unsafe { libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) };
    (done == 0).then_some(sets)
}
