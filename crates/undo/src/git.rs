//! The program git on the shadow repository: no configuration, hooks, filters, prompts or variables of the user's.
//!
//! Time, output and memory of a run are bounded; of its messages at most [`MAX_COMPLAINT`] bytes are used. A run that is
//! given up is killed with all it started.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bobbin_children::{ChildError, Children, Environment, Exit, ProcessSpec};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Bytes kept of what git says went wrong.
const MAX_COMPLAINT: u64 = 4 << 10;
/// How long git has to exit once it has closed its output.
const GRACE: Duration = Duration::from_secs(1);

/// The whole configuration of the shadow repository. `hooksPath` and `fsmonitor` keep programs from being run; the
/// conversions are off, so that contents stay as they are; windows and threads bound the memory of packing.
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
/// Attributes that stand above those of the workspace: every file is stored byte for byte.
pub(crate) const ATTRIBUTES: &str = "* -text -eol -crlf -filter -ident -working-tree-encoding\n";

/// Why a run of git gave nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    /// It could not be run.
    #[error("git cannot be run")]
    Run(#[from] ChildError),
    /// Its pipes broke.
    #[error("git cannot be spoken with")]
    Pipe(#[from] std::io::Error),
    /// It said no.
    #[error("git {command} failed: {complaint}")]
    Failed { command: String, complaint: String },
    /// It said more than there is room for.
    #[error("git {0} said more than {1} bytes")]
    TooMuch(String, usize),
    /// It took longer than it may.
    #[error("git {0} took longer than {1:?}")]
    TooLong(String, Duration),
}

/// One run.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    args: Vec<OsString>,
    tree: Option<(&'a Path, &'a Path)>,
    input: Vec<u8>,
    max_output: usize,
    time: Duration,
}

impl<'a> Job<'a> {
    /// A run that says little and takes no longer than `time`.
    pub(crate) fn new<I: AsRef<OsStr>>(args: impl IntoIterator<Item = I>, time: Duration) -> Self {
        Self {
            args: args.into_iter().map(|arg| arg.as_ref().to_owned()).collect(),
            tree: None,
            input: Vec::new(),
            max_output: 64 << 10,
            time,
        }
    }

    /// Works on files below `root`, with this index.
    pub(crate) fn on(mut self, root: &'a Path, index: &'a Path) -> Self {
        self.tree = Some((root, index));
        self
    }

    /// Gives it something to read.
    pub(crate) fn input(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    /// Lets it say more.
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
    /// `variables` are searched for `PATH` and for nothing else.
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

    /// Runs it to its end and returns what it said.
    ///
    /// # Errors
    /// Any [`GitError`].
    ///
    /// # Cancel safety
    /// Dropping the future kills the run.
    pub(crate) async fn run(&self, job: Job<'_>) -> Result<Vec<u8>, GitError> {
        let name = job.args.first().cloned().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let time = job.time;
        tokio::time::timeout(time, self.run_to_its_end(job, &name))
            .await
            .unwrap_or(Err(GitError::TooLong(name, time)))
    }

    async fn run_to_its_end(&self, job: Job<'_>, name: &str) -> Result<Vec<u8>, GitError> {
        let mut environment = self.environment.clone();
        let mut directory = self.directory.as_path();
        if let Some((root, index)) = job.tree {
            environment.set("GIT_WORK_TREE", root.as_os_str());
            environment.set("GIT_INDEX_FILE", index.as_os_str());
            directory = root;
        }
        let spec = ProcessSpec::new("git", directory, environment).args(job.args);
        let (child, pipes) = self.children.start_piped(spec).await?;
        let (mut input, mut output, mut errors) = (pipes.input, pipes.output, pipes.errors);
        let feed = async {
            // Who does not read it says why.
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
