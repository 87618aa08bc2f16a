//! What to start: program, arguments, directory, environment, input, what confines and limits it.
//!
//! A plain value; starting it is the business of `Children`.

use std::ffi::OsString;
use std::path::PathBuf;

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
    /// What it reads on standard input.
    pub input: Input,
    /// What confines it.
    pub confinement: Option<Confinement>,
    /// How much it may have.
    pub limits: ResourceLimits,
}

/// What confines a child, for as long as it and all that it starts live.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// How it is confined.
    pub plan: Plan,
    /// The program of bubblewrap, if that is around it: as [`Plan::outer`] says.
    #[serde(with = "bobbin_sandbox::optional_path")]
    pub bubblewrap: Option<PathBuf>,
}

/// How much a child may have of the machine, with all that it starts. `None` is as much as there is. Systems other than Linux
/// limit nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Processes and threads; in bubblewrap, where that makes a user namespace.
    pub processes: Option<u64>,
    /// Bytes of memory of all its processes together, pages of files left out.
    pub memory_bytes: Option<u64>,
    /// Bytes of each file that it writes.
    pub file_bytes: Option<u64>,
}

/// What a child finds on its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Nothing: end of file at once.
    Null,
    /// These bytes, then end of file. A child that does not read them is no error.
    Bytes(Vec<u8>),
}

/// The shell that reads a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shell {
    /// `/bin/sh`, which POSIX systems have.
    Posix,
    /// A shell at this path that understands `-c`, such as bash.
    At(PathBuf),
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
        }
    }

    /// Returns a spec that has `shell` run `command_line`.
    pub fn shell(shell: &Shell, command_line: &str, cwd: impl Into<PathBuf>, env: Environment) -> Self {
        let program = match shell {
            Shell::Posix => OsString::from("/bin/sh"),
            Shell::At(path) => path.clone().into_os_string(),
        };
        Self::new(program, cwd, env).arg("-c").arg(command_line)
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

    /// Has it confined.
    #[must_use]
    pub fn confined(mut self, confinement: Confinement) -> Self {
        self.confinement = Some(confinement);
        self
    }
}
