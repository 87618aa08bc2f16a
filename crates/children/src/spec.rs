//! A process to start: program, arguments, directory, environment, input, confinement, limits.
//!
//! A plain value; `Children` starts it.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use bobbin_sandbox::Plan;
use serde::{Deserialize, Serialize};

use crate::Environment;

/// A process to start.
#[derive(Debug, Clone)]
pub struct ProcessSpec {
    /// The program: a path, or a name looked up in the `PATH` of `env`.
    pub program: OsString,
    /// Its arguments, without the program itself.
    pub args: Vec<OsString>,
    /// The directory it starts in.
    pub cwd: PathBuf,
    /// All variables it gets.
    pub env: Environment,
    /// Its standard input.
    pub input: Input,
    /// How it is confined; `None` for no confinement.
    pub confinement: Option<Confinement>,
    /// Its limits.
    pub limits: ResourceLimits,
    /// Whose network it has, if its plan gives it one apart from the machine's.
    pub(crate) network: NetworkUse,
    /// Whether its streams are a terminal, which it controls.
    pub(crate) in_terminal: bool,
}

/// A network with a loopback and nothing else, for children whose plans give them one. It ends with the last clone and
/// the last child in it.
#[derive(Debug, Clone)]
pub struct Network(pub(crate) Arc<OwnedFd>);

/// The network of a child.
#[derive(Debug, Clone, Default)]
pub(crate) enum NetworkUse {
    /// A network of its own.
    #[default]
    Own,
    /// A network of its own, a descriptor of which is sent over this socket.
    Shown(Arc<OwnedFd>),
    /// The network of other children.
    Joined(Network),
}

/// How a child and all its descendants are confined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// How it is confined.
    pub plan: Plan,
    /// The path of bubblewrap, if [`Plan::outer`] says that it is used.
    #[serde(with = "bobbin_sandbox::optional_path")]
    pub bubblewrap: Option<PathBuf>,
}

impl Confinement {
    /// Returns whether the child reaches what listens on the machine's loopback.
    pub fn reaches_machine(&self) -> bool {
        self.plan.profile.network != bobbin_sandbox::Network::Off
    }
}

/// The limits of a child and its descendants. `None` means no limit. Systems other than Linux enforce none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Most processes and threads; enforced only in bubblewrap with a user namespace.
    pub processes: Option<u64>,
    /// Most bytes of memory of all its processes together, not counting pages of files.
    pub memory_bytes: Option<u64>,
    /// Most bytes of each file that it writes.
    pub file_bytes: Option<u64>,
}

/// A child's standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Empty: end of file at once.
    Null,
    /// These bytes, then end of file. A child that does not read them is no error.
    Bytes(Vec<u8>),
}

/// The shell that reads a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shell {
    /// `/bin/sh`, which POSIX systems have.
    Posix,
    /// The bash at this path.
    Bash(PathBuf),
}

impl Shell {
    /// Returns its name, as users and models know it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Posix => "sh",
            Self::Bash(_) => "bash",
        }
    }
}

impl ProcessSpec {
    /// Returns a spec without arguments and input.
    pub fn new(program: impl Into<OsString>, cwd: impl Into<PathBuf>, env: Environment) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env,
            input: Input::Null,
            confinement: None,
            limits: ResourceLimits::default(),
            network: NetworkUse::Own,
            in_terminal: false,
        }
    }

    /// Returns a spec that has `shell` run `command_line`.
    pub fn shell(shell: &Shell, command_line: &str, cwd: impl Into<PathBuf>, env: Environment) -> Self {
        let spec = match shell {
            Shell::Posix => Self::new("/bin/sh", cwd, env),
            // It reads the user's `.bashrc` where it takes itself for one of an SSH server.
            Shell::Bash(path) => Self::new(path, cwd, env).arg("--norc"),
        };
        spec.arg("-c").arg(command_line)
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets what the child reads on standard input.
    #[must_use]
    pub fn input(mut self, input: Input) -> Self {
        self.input = input;
        self
    }

    /// Has the child share a network, if it is confined by a plan that gives it one apart from the machine's.
    #[must_use]
    pub fn in_network(mut self, network: Network) -> Self {
        self.network = NetworkUse::Joined(network);
        self
    }

    /// Sets how the child is confined.
    #[must_use]
    pub fn confined(mut self, confinement: Confinement) -> Self {
        self.confinement = Some(confinement);
        self
    }
}
