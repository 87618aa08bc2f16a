//! What to start: program, arguments, directory, environment, input.
//!
//! A plain value; starting it is the business of `Children`.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

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
    /// What it gets beside that when all it does is to start the command proper and wait for it.
    pub starter: Option<Starter>,
}

/// What a program gets that only starts another one, in its own group, and ends as that one has ended.
///
/// It starts with TERM blocked, so that the polite signal to the group ends the other one and does not take away
/// who waits for it. The program that it starts has to unblock TERM for itself.
#[derive(Debug, Clone, Default)]
pub struct Starter {
    /// Descriptors that stay open, under the numbers they have here. Few.
    pub open: Vec<Arc<OwnedFd>>,
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
            starter: None,
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

    /// Says that it only starts the command proper.
    #[must_use]
    pub fn starter(mut self, starter: Starter) -> Self {
        self.starter = Some(starter);
        self
    }
}
