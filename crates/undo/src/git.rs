//! Runs git on the shadow repository, without the user's configuration, hooks, filters, prompts and variables.
//!
//! Time, output and memory of a run are bounded; at most [`MAX_COMPLAINT`] bytes of its messages are used. An abandoned
//! run is killed with everything that it started.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bobbin_children::{ChildError, Children, Environment, Exit, ProcessSpec};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Most bytes of git's error messages.
const MAX_COMPLAINT: u64 = 4 << 10;
/// How long git has to exit once it has closed its output.
const GRACE: Duration = Duration::from_secs(1);

/// The complete configuration of the shadow repository. `hooksPath` and `fsmonitor` stop git from running programs.
/// Conversions are off, so contents stay unchanged. Windows and threads bound the memory of packing.
pub(crate) const CONFIG: &str = "[core]
\trepositoryformatversion = 0
\tbare = true
\tfilemode = true
\tsymlinks = true
\tignorecase = false
\tprecomposeunicode = false
\tprotectNTFS = false
\thooksPath = /dev/null
\tfsmonitor = false
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tautocrlf = false
\tsafecrlf = false
\tlogAllRefUpdates = false
\tcompression = 1
\tpackedGitLimit = 256m
[pack]
\tthreads = 1
\twindowMemory = 64m
\tdeltaCacheSize = 16m
[gc]
\tauto = 0
[maintenance]
\tauto = false
";
/// Attributes that override those of the workspace: every file is stored byte for byte.
pub(crate) const ATTRIBUTES: &str = "* -text -eol -crlf -filter -ident -working-tree-encoding\n";

/// Why a run of git failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    /// Git could not be run.
    #[error("git cannot be run")]
    Run(#[from] ChildError),
    /// A pipe failed.
    #[error("git cannot be spoken with")]
    Pipe(#[from] std::io::Error),
    /// It said no.
    #[error("git {command} failed: {complaint}")]
    Failed { command: String, complaint: String },
    /// Git's output exceeded its limit.
    #[error("git {0} said more than {1} bytes")]
    TooMuch(String, usize),
    /// Git exceeded its time limit.
    #[error("git {0} took longer than {1:?}")]
    TooLong(String, Duration),
}

/// One run.
#[derive(Debug)]
pub(crate) struct Job {
    args: Vec<OsString>,
    input: Vec<u8>,
    max_output: usize,
    time: Duration,
}

impl Job {
    /// Returns a job with little output that takes at most `time`.
    pub(crate) fn new<I: AsRef<OsStr>>(args: impl IntoIterator<Item = I>, time: Duration) -> Self {
        Self {
            args: args.into_iter().map(|arg| arg.as_ref().to_owned()).collect(),
            input: Vec::new(),
            max_output: 64 << 10,
            time,
        }
    }

    /// Gives it something to read.
    pub(crate) fn input(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    /// Allows more output.
    pub(crate) fn up_to(mut self, max_output: usize) -> Self {
        self.max_output = max_output;
        self
    }
}

/// The program, and the repository it works on.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    children: Children,
    environment: Environment,
    directory: PathBuf,
}

impl Git {
    /// Only `PATH` of `variables` is used, to find git.
    pub(crate) fn new(children: Children, variables: &Environment, directory: &Path) -> Self {
        let mut environment = Environment::empty();
        if let Some(path) = variables.get("PATH") {
            environment.set("PATH", path);
        }
        let nothing = "/dev/null";
        for (name, value) in [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_SYSTEM", nothing),
            ("GIT_CONFIG_GLOBAL", nothing),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("LC_ALL", "C"),
        ] {
            environment.set(name, value);
        }
        for name in ["HOME", "XDG_CONFIG_HOME", "GIT_DIR"] {
            environment.set(name, directory.as_os_str());
        }
        Self {
            children,
            environment,
            directory: directory.to_owned(),
        }
    }

    /// Returns the repository.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Runs git to its end and returns its output.
    ///
    /// # Errors
    /// Any [`GitError`].
    ///
    /// # Cancel safety
    /// Dropping the future kills the run.
    pub(crate) async fn run(&self, job: Job) -> Result<Vec<u8>, GitError> {
        let name = job.args.first().cloned().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let time = job.time;
        tokio::time::timeout(time, self.run_to_its_end(job, &name))
            .await
            .unwrap_or(Err(GitError::TooLong(name, time)))
    }

    async fn run_to_its_end(&self, job: Job, name: &str) -> Result<Vec<u8>, GitError> {
        let spec = ProcessSpec::new("git", &self.directory, self.environment.clone()).args(job.args);
        let (child, pipes) = self.children.start_piped(spec).await?;
        let (mut input, mut output, mut errors) = (pipes.input, pipes.output, pipes.errors);
        let feed = async {
            // If git does not read its input, its messages say why.
            drop(input.write_all(&job.input).await);
            drop(input);
            Ok::<(), GitError>(())
        };
        let listen = async {
            let mut said = Vec::new();
            let limit = job.max_output as u64 + 1;
            (&mut output).take(limit).read_to_end(&mut said).await?;
            Ok::<_, std::io::Error>(said)
        };
        let complain = async {
            let mut complaint = Vec::new();
            (&mut errors)
                .take(MAX_COMPLAINT)
                .read_to_end(&mut complaint)
                .await?;
            tokio::io::copy(&mut errors, &mut tokio::io::sink()).await?;
            Ok::<_, std::io::Error>(complaint)
        };
        let said = async {
            let said = listen.await?;
            if said.len() > job.max_output {
                return Err(GitError::TooMuch(name.to_owned(), job.max_output));
            }
            Ok(said)
        };
        let complaint = async { complain.await.map_err(GitError::from) };
        let (said, complaint, ()) = tokio::try_join!(said, complaint, feed)?;
        match child.end(GRACE).await? {
            Exit::Exited(0) => Ok(said),
            _ => Err(GitError::Failed {
                command: name.to_owned(),
                complaint: String::from_utf8_lossy(&complaint).trim().to_owned(),
            }),
        }
    }
}
