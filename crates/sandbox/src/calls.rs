//! System calls, filtered by seccomp: no access to other processes, to kernel administration, or to the network.
//!
//! The list names refused calls, not allowed ones: a command may be any program, and Landlock covers its files.
//! Refused calls fail with "operation not permitted".

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

use crate::SandboxError;
use crate::plan::Reach;

/// Access to other processes.
const PROCESSES: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_perf_event_open,
];
/// New views of the machine.
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
/// Kernel administration.
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
/// A second way to make most calls, which seccomp cannot see.
const RINGS: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];
/// Memory, queues and locks that programs share by a number or a name. They are no files, so Landlock does not
/// cover them. A kernel may lack them, and programs have another way then.
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
/// Types of sockets of which even one end of a pair can send to any address: datagram and raw sockets, which the
/// kernel treats alike here.
const LOOSE_PAIRS: [i32; 2] = [libc::SOCK_DGRAM, libc::SOCK_RAW];
/// Bits of a socket's type that are the type itself; the others are flags.
const KIND: u64 = 0xf;
/// Families of sockets of a command that has any. The others reach other machines (`AF_VSOCK`), devices or the kernel.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
/// Families of sockets of a program that reaches addresses and no local socket.
const ADDRESS_FAMILIES: [i32; 3] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
/// Protocols of sockets of a command whose network and view are its own: the family's usual one, echo requests, TCP, UDP, and TCP over several paths, which Go
/// asks for. The kernel loads a module for each of the others.
const OWN_PROTOCOLS: [i32; 6] = [
    0,
    libc::IPPROTO_ICMP,
    libc::IPPROTO_ICMPV6,
    libc::IPPROTO_TCP,
    libc::IPPROTO_UDP,
    libc::IPPROTO_MPTCP,
];
/// Calls that make a socket. Pairs within the process stay allowed: their ends reach only each other.
const SOCKETS: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
];
/// Limits and scheduling of the process in the first argument; 0 is the caller.
const OF_A_PROCESS: &[i64] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setaffinity,
];
/// Priorities. The first argument is the kind of the second, which is a process, a group or a user; 0 is the
/// caller's own. With the kind that means all processes of a user.
const OF_A_KIND: [(i64, u32); 2] = [
    (libc::SYS_setpriority, libc::PRIO_USER),
    (libc::SYS_ioprio_set, IOPRIO_WHO_USER),
];
/// The kernel's value.
const IOPRIO_WHO_USER: u32 = 3;
/// Flags of `clone` that make a namespace.
const NEW_NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;
/// Bit of a call number that selects the x32 interface.
#[cfg(target_arch = "x86_64")]
const OTHER_ARRANGEMENT: u32 = 0x4000_0000;

/// Refuses calls to this process for good. The process must have one thread.
pub(crate) fn restrict(reach: Reach) -> Result<(), SandboxError> {
    let failed = |error: String| SandboxError::Kernel(format!("seccomp: {error}"));
    for (calls, error) in [(refused(reach), libc::EPERM), (Ok(unknown(reach)), libc::ENOSYS)] {
        let program = program(calls.map_err(|error| failed(error.to_string()))?, error);
        let program = program.map_err(|error| failed(error.to_string()))?;
        seccompiler::apply_filter(&program).map_err(|error| failed(error.to_string()))?;
    }
    Ok(())
}

type Calls = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that fail with "operation not permitted".
fn refused(reach: Reach) -> Result<Calls, seccompiler::BackendError> {
    let mut calls = Calls::new();
    for call in [PROCESSES, NAMESPACES, KERNEL].into_iter().flatten() {
        calls.insert(*call, Vec::new());
    }
    let pairs = when(
        0,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::Ne,
        libc::AF_UNIX.cast_unsigned(),
    );
    match reach {
        Reach::Everything => {
            calls.insert(libc::SYS_socket, sockets_of(&FAMILIES)?);
        }
        Reach::Own => {
            let mut sockets = sockets_of(&FAMILIES)?;
            sockets.push(none_of(2, &OWN_PROTOCOLS)?);
            calls.insert(libc::SYS_socket, sockets);
            calls.insert(libc::SYS_socketpair, vec![pairs?]);
        }
        Reach::Addresses => {
            let mut sockets = sockets_of(&ADDRESS_FAMILIES)?;
            sockets.push(none_of(2, &OWN_PROTOCOLS)?);
            calls.insert(libc::SYS_socket, sockets);
            calls.insert(libc::SYS_socketpair, tight_pairs(pairs?)?);
        }
        Reach::Pairs => {
            calls.extend(SOCKETS.iter().map(|call| (*call, Vec::new())));
            calls.insert(libc::SYS_socketpair, tight_pairs(pairs?)?);
        }
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
    // One rule for each flag: a rule can compare masked bits with a value, but cannot test whether any bit is set.
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
    // Typing on a terminal in the user's place.
    let types =
        [libc::TIOCSTI, libc::TIOCLINUX].map(|call| when(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, call));
    calls.insert(libc::SYS_ioctl, types.into_iter().collect::<Result<_, _>>()?);
    Ok(calls)
}

/// Returns rules that refuse sockets of all but some families.
fn sockets_of(families: &[i32]) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    // Programs list the network's interfaces through `NETLINK_ROUTE` (0), the dev servers of Node for example. The
    // other protocols speak with the kernel about devices, filters and whatever its modules offer.
    let netlink = condition(0, SeccompCmpOp::Eq, libc::AF_NETLINK)?;
    let other = condition(2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE)?;
    Ok(vec![
        none_of(0, families)?,
        SeccompRule::new(vec![netlink, other])?,
    ])
}

/// Returns rules that refuse pairs of which one end can send elsewhere, beside those that `pairs` refuses.
fn tight_pairs(pairs: SeccompRule) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut rules = vec![pairs];
    for kind in LOOSE_PAIRS {
        let is_kind = SeccompCmpOp::MaskedEq(KIND);
        rules.push(when(1, SeccompCmpArgLen::Dword, is_kind, kind.cast_unsigned())?);
    }
    Ok(rules)
}

/// Calls that fail as if the kernel did not have them. Programs then use other calls, whose arguments seccomp can
/// check.
fn unknown(reach: Reach) -> Calls {
    let shared = match reach {
        Reach::Pairs | Reach::Addresses => SHARED,
        Reach::Everything | Reach::Own => &[],
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

/// Returns a rule for an argument that has none of some values.
fn none_of(argument: u8, values: &[i32]) -> Result<SeccompRule, seccompiler::BackendError> {
    let differs = |value: &i32| condition(argument, SeccompCmpOp::Ne, *value);
    SeccompRule::new(values.iter().map(differs).collect::<Result<_, _>>()?)
}

fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: i32,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(
        argument,
        SeccompCmpArgLen::Dword,
        operator,
        u64::from(value.cast_unsigned()),
    )
}

fn program(calls: Calls, error: i32) -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refusal = SeccompAction::Errno(error.cast_unsigned());
    let filter: BpfProgram = SeccompFilter::new(calls, SeccompAction::Allow, refusal, arch)?.try_into()?;
    Ok(first().into_iter().chain(filter).collect())
}

/// Refuses every call of the x32 interface, which the lists do not cover.
#[cfg(target_arch = "x86_64")]
fn first() -> Vec<sock_filter> {
    /// `BPF_LD | BPF_W | BPF_ABS`: loads the call's number, the first field.
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

/// Other machines have one interface.
#[cfg(not(target_arch = "x86_64"))]
fn first() -> Vec<sock_filter> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_filters_can_be_made() {
        for reach in [Reach::Pairs, Reach::Own, Reach::Addresses, Reach::Everything] {
            let calls = refused(reach).unwrap();
            assert_eq!(calls.contains_key(&libc::SYS_connect), reach == Reach::Pairs);
            // Without a condition, each call is refused.
            assert_eq!(calls[&libc::SYS_socket].is_empty(), reach == Reach::Pairs);
            let program = super::program(calls, libc::EPERM).unwrap();
            // The kernel takes 4,096 instructions.
            assert!(program.len() < 1000, "{}", program.len());
            let calls = unknown(reach);
            let shares_nothing = matches!(reach, Reach::Pairs | Reach::Addresses);
            assert_eq!(calls.contains_key(&libc::SYS_shmat), shares_nothing);
            assert!(super::program(calls, libc::ENOSYS).is_ok());
        }
    }
}
