//! System calls, by seccomp: no way into other processes, into the kernel's works, or to the network.
//!
//! A list of what is refused, not of what is allowed: commands are any programs at all, and what they may do with
//! files is Landlock's business. Refused calls fail with "operation not permitted".

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

use crate::{Network, SandboxError};

/// Into other processes.
const PROCESSES: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_perf_event_open,
];
/// Into other views of the machine.
const NAMESPACES: &[i64] = &[
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
];
/// Into the kernel.
const KERNEL: &[i64] = &[
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];
/// A second way to do most calls, which no filter sees.
const RINGS: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];
/// Memory, queues and locks that programs share by a number or a name; no file stands for them, so Landlock does not
/// see them. The kernel may have been built without them, and programs take another way then.
const SHARED: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];
/// Kinds of sockets of which even one of a pair can send to any place that it names: those of messages, and raw ones,
/// which are the same to the kernel here.
const LOOSE_PAIRS: [i32; 2] = [libc::SOCK_DGRAM, libc::SOCK_RAW];
/// Bits of a socket's type that say its kind; the others are flags.
const KIND: u64 = 0xf;
/// The ways to a socket; pairs within the process stay, where they can speak with each other only.
const SOCKETS: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
];
/// Limits and scheduling of a process that the first argument names; 0 is the caller.
const OF_A_PROCESS: &[i64] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setaffinity,
];
/// Priorities of what the first argument says of which kind it is, and the second names; 0 is the caller, its group, or
/// its user. With the kind that means all processes of a user.
const OF_A_KIND: [(i64, u32); 2] = [
    (libc::SYS_setpriority, libc::PRIO_USER),
    (libc::SYS_ioprio_set, IOPRIO_WHO_USER),
];
/// As the kernel has it.
const IOPRIO_WHO_USER: u32 = 3;
/// Flags of `clone` that make a new view of the machine.
const NEW_NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;
/// Bit of a number that means the same call in another arrangement (x32).
#[cfg(target_arch = "x86_64")]
const OTHER_ARRANGEMENT: u32 = 0x4000_0000;

/// Refuses calls to this process, which must have one thread, for good.
pub(crate) fn restrict(network: Network) -> Result<(), SandboxError> {
    let failed = |error: String| SandboxError::Kernel(format!("seccomp: {error}"));
    for (calls, error) in [
        (refused(network), libc::EPERM),
        (Ok(unknown(network)), libc::ENOSYS),
    ] {
        let program = program(calls.map_err(|error| failed(error.to_string()))?, error);
        let program = program.map_err(|error| failed(error.to_string()))?;
        seccompiler::apply_filter(&program).map_err(|error| failed(error.to_string()))?;
    }
    Ok(())
}

type Calls = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that fail with "operation not permitted".
fn refused(network: Network) -> Result<Calls, seccompiler::BackendError> {
    let mut calls = Calls::new();
    for call in [PROCESSES, NAMESPACES, KERNEL].into_iter().flatten() {
        calls.insert(*call, Vec::new());
    }
    if network == Network::Off {
        calls.extend(SOCKETS.iter().map(|call| (*call, Vec::new())));
        let domain = libc::AF_UNIX.cast_unsigned();
        let mut rules = vec![when(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, domain)?];
        for kind in LOOSE_PAIRS {
            let is_kind = SeccompCmpOp::MaskedEq(KIND);
            rules.push(when(1, SeccompCmpArgLen::Dword, is_kind, kind.cast_unsigned())?);
        }
        calls.insert(libc::SYS_socketpair, rules);
    }
    for call in OF_A_PROCESS {
        let others = when(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0_u32)?;
        calls.insert(*call, vec![others]);
    }
    for (call, user) in OF_A_KIND {
        let others = when(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0_u32)?;
        let all = when(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, user)?;
        calls.insert(call, vec![others, all]);
    }
    // Each flag by itself: a rule tells whether masked bits equal a value, not whether any of them is set.
    let flags = (0..32)
        .map(|bit| 1_u64 << bit)
        .filter(|flag| u64::from(NEW_NAMESPACES.cast_unsigned()) & flag != 0);
    let mut rules = Vec::new();
    for flag in flags {
        rules.push(when(
            0,
            SeccompCmpArgLen::Qword,
            SeccompCmpOp::MaskedEq(flag),
            flag,
        )?);
    }
    calls.insert(libc::SYS_clone, rules);
    // Typing on somebody's terminal.
    let types =
        [libc::TIOCSTI, libc::TIOCLINUX].map(|call| when(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, call));
    calls.insert(libc::SYS_ioctl, types.into_iter().collect::<Result<_, _>>()?);
    Ok(calls)
}

/// Calls that the kernel seems not to have: programs then take another way, whose arguments can be seen.
fn unknown(network: Network) -> Calls {
    let shared = match network {
        Network::Off => SHARED,
        Network::On => &[],
    };
    let calls = RINGS.iter().chain(&[libc::SYS_clone3]).chain(shared);
    calls.map(|call| (*call, Vec::new())).collect()
}

fn when(
    argument: u8,
    length: SeccompCmpArgLen,
    operator: SeccompCmpOp,
    value: impl Into<u64>,
) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(
        argument,
        length,
        operator,
        value.into(),
    )?])
}

fn program(calls: Calls, error: i32) -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refusal = SeccompAction::Errno(error.cast_unsigned());
    let filter: BpfProgram = SeccompFilter::new(calls, SeccompAction::Allow, refusal, arch)?.try_into()?;
    Ok(first().into_iter().chain(filter).collect())
}

/// Refuses every call in the other arrangement, which the list does not speak of.
#[cfg(target_arch = "x86_64")]
fn first() -> Vec<sock_filter> {
    /// `BPF_LD | BPF_W | BPF_ABS`: takes up the call's number, which comes first.
    const LOAD: u16 = 0x20;
    /// `BPF_JMP | BPF_JGE | BPF_K`
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    /// `BPF_RET | BPF_K`
    const RETURN: u16 = 0x06;
    /// `SECCOMP_RET_ERRNO`
    const ERROR: u32 = 0x0005_0000;
    let instruction = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        instruction(LOAD, 0, 0, 0),
        instruction(JUMP_IF_AT_LEAST, 0, 1, OTHER_ARRANGEMENT),
        instruction(RETURN, 0, 0, ERROR | libc::ENOSYS.cast_unsigned()),
    ]
}

/// Other machines have one arrangement.
#[cfg(not(target_arch = "x86_64"))]
fn first() -> Vec<sock_filter> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_filters_can_be_made() {
        for network in [Network::Off, Network::On] {
            let calls = refused(network).unwrap();
            assert_eq!(calls.contains_key(&libc::SYS_connect), network == Network::Off);
            let program = super::program(calls, libc::EPERM).unwrap();
            // The kernel takes 4,096 instructions.
            assert!(program.len() < 1000, "{}", program.len());
            let calls = unknown(network);
            assert_eq!(calls.contains_key(&libc::SYS_shmat), network == Network::Off);
            assert!(super::program(calls, libc::ENOSYS).is_ok());
        }
    }
}
