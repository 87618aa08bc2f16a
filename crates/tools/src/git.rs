//! Runs git for the server.
//!
//! A repository's configuration can name programs that git runs, and agents' commands can write that configuration. So
//! options disable these programs where git has such options, and git runs in a sandbox: without write access and network
//! where it only reads, and in that of commands where it writes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bobbin_children::{ChildError, Children, Environment, Exit, Input, Limits, ProcessSpec, Shell};
use bobbin_sandbox::{Files, Network, Profile};
use tokio_util::sync::CancellationToken;

use super::sandbox::{CommandSandbox, Sandbox};

/// Time for one run of git.
const TIME: Duration = Duration::from_secs(20);
/// Most output of one run.
const MAX_OUTPUT_BYTES: usize = 1 << 20;

/// Runs git. Cheap to clone.
#[derive(Clone)]
pub struct Git {
    children: Children,
    environment: Environment,
    /// The sandbox of commands.
    sandbox: Sandbox,
    /// The only places that it writes, if these are not those of commands.
    only: Option<Vec<PathBuf>>,
    /// Places that it reads even if they are hidden from commands.
    reads: Vec<PathBuf>,
}

/// An answer of git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitAnswer {
    /// The code it ended with.
    pub code: i32,
    /// Its output, with what it says of errors.
    pub text: String,
    /// Whether the middle of the output was left out.
    pub is_cut: bool,
}

/// Git was not run, or did not end. The text is a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GitFailure(String);

/// Bounds of one run of git, and whether it may write.
#[derive(Debug, Clone, Copy)]
pub struct GitBounds {
    /// The longest time.
    pub time: Duration,
    /// Most bytes of output.
    pub bytes: usize,
    /// Whether it runs with the rights of commands, and not without write access.
    pub writes: bool,
}

impl Default for GitBounds {
    /// 20 seconds, 1 MiB, without write access.
    fn default() -> Self {
        Self {
            time: TIME,
            bytes: MAX_OUTPUT_BYTES,
            writes: false,
        }
    }
}

impl Git {
    /// Options before every command: nothing is locked for reading, a path is no pattern, and no program of the repository
    /// watches its files.
    pub const ALWAYS: &[&str] = &[
        "--no-optional-locks",
        "--literal-pathspecs",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.quotePath=false",
        "-c",
        "core.pager=cat",
    ];
    /// A shell function that makes the diff in a file, with further options of `git apply`. It first says which of the diff's
    /// files cannot be written: git removes them all before it writes the first one, and one that it cannot write would
    /// cost the others.
    pub const APPLY: &str = r#"apply_all() {
  patch=$1; shift
  git apply --numstat -z "$@" "$patch" 2>/dev/null | tr '\0' '\n' | cut -f3- | while IFS= read -r name; do
    case /$name/ in */.git/*|*/.craft/*) echo "$name cannot be changed."; exit 1 ;; esac
    [ ! -e "$name" ] || [ -w "$name" ] || { echo "$name cannot be written."; exit 1; }
    folder=$(dirname -- "$name")
    until [ -d "$folder" ]; do folder=$(dirname -- "$folder"); done
    [ -w "$folder" ] || { echo "$name cannot be written."; exit 1; }
  done || return 1
  git -c core.fsmonitor=false apply --whitespace=nowarn "$@" "$patch"
}
"#;
    /// Options of every diff.
    pub const DIFF: &[&str] = &["--no-ext-diff", "--no-textconv", "--no-color", "--no-renames"];

    /// Returns a value that runs git with the variables of `environment`, confined at least as `sandbox` says.
    pub fn new(children: Children, mut environment: Environment, sandbox: Sandbox) -> Self {
        for (name, value) in [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("LC_ALL", "C"),
        ] {
            environment.set(name, value);
        }
        Self {
            children,
            environment,
            sandbox,
            only: None,
            reads: Vec::new(),
        }
    }

    /// Returns a value whose runs read these places even if they are hidden from commands.
    #[must_use]
    pub fn reading(&self, places: Vec<PathBuf>) -> Self {
        Self {
            reads: places,
            ..self.clone()
        }
    }

    /// Returns a value whose runs write these places and temporary files, and not the folder in which they run. Use it for
    /// commands of git that start no program of the repository.
    #[must_use]
    pub fn writing_only(&self, places: Vec<PathBuf>) -> Self {
        Self {
            only: Some(places),
            ..self.clone()
        }
    }

    /// Runs `git OPTIONS -- PATHS`, with [`Git::ALWAYS`].
    ///
    /// # Errors
    /// [`GitFailure`]: git cannot be run or confined, or takes too long.
    pub async fn run(
        &self,
        root: &Path,
        options: &[&str],
        paths: &[String],
        bounds: GitBounds,
    ) -> Result<GitAnswer, GitFailure> {
        let words: Vec<&str> = [Self::ALWAYS, options, &["--"]].concat();
        let words: Vec<&str> = words
            .into_iter()
            .chain(paths.iter().map(String::as_str))
            .collect();
        self.script(root, "exec git \"$@\"", &words, bounds).await
    }

    /// Runs a script that calls git with `words`. The shell finds git; the words are arguments, so the shell never
    /// parses them.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub async fn script(
        &self,
        root: &Path,
        script: &str,
        words: &[&str],
        bounds: GitBounds,
    ) -> Result<GitAnswer, GitFailure> {
        self.script_with_input(root, script, words, Vec::new(), bounds)
            .await
    }

    /// As [`Git::script`], with bytes to read from standard input.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub async fn script_with_input(
        &self,
        root: &Path,
        script: &str,
        words: &[&str],
        input: Vec<u8>,
        bounds: GitBounds,
    ) -> Result<GitAnswer, GitFailure> {
        let spec = ProcessSpec::shell(&Shell::Posix, script, root, self.environment.clone())
            .arg("git")
            .args(words)
            .input(Input::Bytes(input));
        let unheld = |why: String| GitFailure(format!("git is not run, since it cannot be sandboxed: {why}"));
        let mut sandbox = self.sandbox.clone();
        if !bounds.writes && sandbox.profile.restricts_something() {
            sandbox.profile = Profile {
                files: Files::ReadOnly,
                network: Network::Off,
            };
        }
        sandbox.settle().await;
        let spec = match sandbox.of_command(root) {
            CommandSandbox::NotNeeded => spec,
            CommandSandbox::Confined(mut plan) => {
                if let Some(only) = &self.only {
                    plan.write.clone_from(only);
                    plan.write.extend(self.sandbox.temporary.clone());
                    plan.show.push(root.to_owned());
                }
                plan.reveal.extend(self.reads.clone());
                plan.show.extend(self.reads.clone());
                sandbox.confined(&plan, spec).map_err(unheld)?
            }
            CommandSandbox::Missing(why) | CommandSandbox::Refused(why) => return Err(unheld(why)),
        };
        self.finish(spec, bounds).await.map_err(|error| match error {
            ChildError::Confinement(why) => {
                sandbox.bubblewrap.has_failed();
                unheld(why)
            }
            error => GitFailure(format!("git cannot be run: {error}")),
        })?
    }

    /// Runs git, or another program for repositories, outside of the sandbox, with the network and the user's settings, in a
    /// directory of the server that no repository of others has settings for.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub async fn outside(
        &self,
        program: &str,
        directory: &Path,
        words: &[&str],
        bounds: GitBounds,
    ) -> Result<GitAnswer, GitFailure> {
        let spec = ProcessSpec::new(program, directory, self.environment.clone()).args(words);
        let done = self.finish(spec, bounds).await;
        done.map_err(|error| GitFailure(format!("{program} cannot be run: {error}")))?
    }

    async fn finish(
        &self,
        spec: ProcessSpec,
        bounds: GitBounds,
    ) -> Result<Result<GitAnswer, GitFailure>, ChildError> {
        let limits = Limits {
            wall_clock: bounds.time,
            grace: Duration::from_secs(1),
            captured_bytes: bounds.bytes,
        };
        let outcome = self
            .children
            .run(spec, &limits, None, &CancellationToken::new())
            .await?;
        Ok(match outcome.exit {
            Exit::Exited(code) => Ok(GitAnswer {
                code,
                is_cut: outcome.output.is_truncated(),
                text: outcome.output.text,
            }),
            Exit::Signaled(_) | Exit::OverMemory(_) | Exit::TimedOut | Exit::Cancelled => {
                Err(GitFailure("git did not answer in time.".to_owned()))
            }
        })
    }
}
