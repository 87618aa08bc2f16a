//! Starts the child, with or without bubblewrap.

#![expect(
    unsafe_code,
    reason = "code between fork and exec has no safe form; each block says why it is sound"
)]

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use bobbin_sandbox::{CommandNetwork, Failure, HELPER_ARGUMENT, Handed, confine, join, view_of};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Pid, getpid, getppid};

use super::message::{ChildOrder, NetworkOrder, StartFailure};
use super::tree::Tree;
use crate::{Confinement, ResourceLimits};

/// A child that was started.
pub(super) struct Launched {
    pub(super) tree: Tree,
    /// The report of the helper in bubblewrap. At its end, either the program runs or the failure has been read.
    pub(super) report: Option<File>,
}

/// Starts the child of an order. `network` is what its network takes.
///
/// # Errors
/// The reason; nothing of the child runs.
pub(super) fn launch(order: ChildOrder, network: Option<OwnedFd>) -> Result<Launched, StartFailure> {
    std::env::set_current_dir(&order.directory)
        .map_err(|error| StartFailure::Directory(error.raw_os_error().unwrap_or_default()))?;
    match &order.confinement {
        Some(confinement) if let Some(bubblewrap) = confinement.bubblewrap.clone() => {
            in_bubblewrap(&order, &bubblewrap, network).map_err(|error| not_confined(&error))
        }
        Some(_) | None => directly(order).map_err(StartFailure::Start),
    }
}

fn not_confined(error: &io::Error) -> StartFailure {
    StartFailure::Start(Failure::Confinement(format!(
        "what confines it cannot be started: {error}"
    )))
}

/// Starts the program itself; the new process confines itself before it runs the program.
fn directly(order: ChildOrder) -> Result<Launched, Failure> {
    let not_heard = |error: io::Error| Failure::Confinement(format!("it cannot be heard of: {error}"));
    let (mut reader, writer) = io::pipe().map_err(not_heard)?;
    let mut command = command(&order.program, &order);
    command.args(&order.arguments);
    let plan = order.confinement.map(|confinement| confinement.plan.resolved());
    let mut writer = Some(writer);
    let (parent, limits, files, in_terminal) = (getpid(), order.limits, order.files, order.in_terminal);
    let prepare = move || {
        before_exec(parent, limits, files)?;
        if in_terminal {
            control_terminal()?;
        }
        let Some(plan) = &plan else { return Ok(()) };
        confine(plan).map_err(|error| {
            // A `pre_exec` closure can return only an error number.
            drop(
                writer
                    .take()
                    .map(|mut writer| writer.write_all(error.full().as_bytes())),
            );
            io::ErrorKind::Other.into()
        })
    };
    // SAFETY: this process has one thread, so its copy may make any call.
    unsafe { command.pre_exec(prepare) };
    let started = command.spawn();
    drop(command);
    match started {
        Ok(child) => Ok(Launched {
            tree: Tree::new(child),
            report: None,
        }),
        Err(error) => {
            let mut why = String::new();
            drop(io::Read::read_to_string(&mut reader, &mut why));
            Err(if why.is_empty() {
                Failure::Program(error.raw_os_error().unwrap_or(nix::libc::EINVAL))
            } else {
                Failure::Confinement(why)
            })
        }
    }
}

/// Starts bubblewrap, which starts the helper, which becomes the program.
fn in_bubblewrap(order: &ChildOrder, bubblewrap: &Path, network: Option<OwnedFd>) -> io::Result<Launched> {
    let Some(Confinement { plan, .. }) = &order.confinement else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let (joined, shown) = match order.network {
        NetworkOrder::Own => (None, None),
        NetworkOrder::Shown => (None, network),
        // The machine's, or none at all, is no network to join for.
        NetworkOrder::Joined => (network.filter(|_| plan.is_apart()), None),
    };
    let whose = match joined {
        Some(_) => CommandNetwork::Joined,
        None => CommandNetwork::New,
    };
    // By its real name: in the view, a link may lead elsewhere.
    let view = view_of(plan, &order.directory.canonicalize()?, whose);
    let view = view.map_err(|error| io::Error::other(error.full()))?;
    let handed = Handed {
        plan: plan.within(),
        mounts: view.mounts,
        program: order.program.clone(),
        arguments: order.arguments.clone(),
        processes: order.limits.processes,
        namespace: Handed::namespace(),
        network: Handed::network(),
    };
    let view = in_memory(&separated(view.arguments))?;
    let handed = in_memory(&handed.encode()?)?;
    // By descriptor: in the view, or after an upgrade, the name may lead elsewhere.
    let helper = OwnedFd::from(File::open("/proc/self/exe")?);
    let (reader, writer) = io::pipe()?;
    let writer = OwnedFd::from(writer);
    let number = |descriptor: &OwnedFd| descriptor.as_raw_fd().to_string();
    let mut command = command(bubblewrap, order);
    // Other users can see arguments, and the view's arguments name hidden places.
    command
        .args(["--args", &number(&view)])
        .arg(format!("/proc/self/fd/{}", number(&helper)))
        .args([HELPER_ARGUMENT, &number(&writer), &number(&handed)])
        .args(shown.as_ref().map(number));
    let (parent, limits, files) = (getpid(), order.limits, order.files);
    let prepare = move || {
        if let Some(network) = &joined {
            join(network)?;
        }
        before_exec(parent, limits, files)?;
        for descriptor in [&view, &handed, &helper, &writer].into_iter().chain(&shown) {
            fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::empty()))?;
        }
        // Bubblewrap must not end before its processes had time to end, so TERM stays blocked; the helper unblocks
        // TERM.
        SigSet::from(Signal::SIGTERM).thread_set_mask()?;
        Ok(())
    };
    // SAFETY: this process has one thread, so its copy may make any call.
    unsafe { command.pre_exec(prepare) };
    let child = command.spawn()?;
    // Dropping it closes our copies of the passed descriptors, among them the report's writing end.
    drop(command);
    Ok(Launched {
        tree: Tree::new(child),
        report: Some(File::from(OwnedFd::from(reader))),
    })
}

/// Returns the command for a program in a group of its own, with the child's variables and streams. One in a terminal
/// makes its own session, and with it its group.
fn command(program: impl AsRef<std::ffi::OsStr>, order: &ChildOrder) -> Command {
    #[expect(clippy::disallowed_methods, reason = "only this crate starts processes")]
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs(order.environment.iter().map(|(name, value)| (name, value)));
    if !order.in_terminal {
        command.process_group(0);
    }
    command
}

/// Runs in the new process: ties its life to this one, unblocks all signals, and sets the limits on files.
fn before_exec(parent: Pid, limits: ResourceLimits, files: Option<u64>) -> io::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    if getppid() != parent {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    SigSet::empty().thread_set_mask()?;
    if let Some(files) = files {
        crate::files::set_limit(files)?;
    }
    if let Some(most) = limits.file_bytes {
        let (_, hard) = getrlimit(Resource::RLIMIT_FSIZE)?;
        setrlimit(Resource::RLIMIT_FSIZE, most.min(hard), most.min(hard))?;
    }
    Ok(())
}

/// Runs in the new process: makes it the leader of a session that its standard input, a terminal, controls. Job control
/// needs that: `Ctrl-C` and `Ctrl-Z` go to the group in front.
fn control_terminal() -> io::Result<()> {
    rustix::process::setsid()?;
    rustix::process::ioctl_tiocsctty(io::stdin())?;
    Ok(())
}

/// Returns arguments in bubblewrap's format: each followed by a zero byte.
fn separated(arguments: Vec<OsString>) -> Vec<u8> {
    let mut text = Vec::new();
    for argument in arguments {
        text.extend(argument.into_vec());
        text.push(0);
    }
    text
}

/// Returns a file in memory with this content, positioned at its beginning.
fn in_memory(text: &[u8]) -> io::Result<OwnedFd> {
    let file = File::from(memfd_create(c"arguments", MFdFlags::MFD_CLOEXEC)?);
    file.write_all_at(text, 0)?;
    Ok(file.into())
}
