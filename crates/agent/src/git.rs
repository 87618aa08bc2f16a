//! Asks git which files have changed, and how.
//!
//! A repository's configuration can name programs that git runs, and agents' commands can write that configuration. So
//! options disable these programs where git has such options, and git runs in a sandbox without write access and
//! network.

use std::path::Path;
use std::time::Duration;

use bobbin_agent_api::suggest::SuggestError;
use bobbin_children::{ChildError, Children, Environment, Exit, Limits, ProcessSpec, Shell};
use bobbin_sandbox::{Files, Network, Profile};
use tokio_util::sync::CancellationToken;

use bobbin_tools::CommandSandbox;
use bobbin_tools::Sandbox;

/// Time for one run of git.
const TIME: Duration = Duration::from_secs(20);
/// Time for the state of a repository: the first Turn of a Thread waits for it.
const STATE_TIME: Duration = Duration::from_secs(2);
/// Most changed files that a state names.
const MAX_NAMED: usize = 20;
/// Most bytes of a line of a state.
const MAX_LINE_BYTES: usize = 120;
/// Returns the branch and the changed files, a zero byte, and the newest commits.
const STATE: &str = "git \"$@\" status --porcelain=v1 --branch --no-renames --untracked-files=normal && printf '\\0' && \
                     git \"$@\" log -5 --no-show-signature --format='%h %s' 2>/dev/null";
/// Most output of one run.
const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// Untracked files whose content is shown.
const MAX_NEW_FILES: usize = 10;
/// Options before every command.
const ALWAYS: &[&str] = &[
    "--no-optional-locks",
    "--literal-pathspecs",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.quotePath=false",
    "-c",
    "core.pager=cat",
];
/// Options of every diff.
const DIFF: &[&str] = &["--no-ext-diff", "--no-textconv", "--no-color", "--no-renames"];

/// Runs git.
#[derive(Clone)]
pub(crate) struct Git {
    children: Children,
    environment: Environment,
    sandbox: Sandbox,
}

/// How a file has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Added,
    Changed,
    Removed,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) fate: Fate,
    pub(crate) path: String,
    tracked: bool,
}

impl Git {
    pub(crate) fn new(children: Children, mut environment: Environment, mut sandbox: Sandbox) -> Self {
        for (name, value) in [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("LC_ALL", "C"),
        ] {
            environment.set(name, value);
        }
        if sandbox.profile.restricts_something() {
            sandbox.profile = Profile {
                files: Files::ReadOnly,
                network: Network::Off,
            };
        }
        Self {
            children,
            environment,
            sandbox,
        }
    }

    /// Returns the branch, the changed files and the newest commits of a repository, as text for a model; `None` if
    /// there is no repository or git does not answer in time.
    pub(crate) async fn state(&self, root: &Path) -> Option<String> {
        let (code, said) = self
            .spawn(root, STATE, ALWAYS, STATE_TIME)
            .await
            .inspect_err(|error| tracing::debug!(%error, "the state of a repository is not known"))
            .ok()?;
        // Without a commit there is no log.
        (code == 0 || said.contains('\0')).then(|| state(&said))
    }

    /// Returns which of some files have changed since the last commit.
    ///
    /// # Errors
    /// [`SuggestError::Unusable`]: there is no repository, or no git.
    pub(crate) async fn changes(&self, root: &Path, paths: &[String]) -> Result<Vec<Change>, SuggestError> {
        let options = [
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--no-renames",
        ];
        let (code, said) = self.run(root, &options, paths).await?;
        if code != 0 {
            let why = said.lines().next().unwrap_or("it does not say why");
            return Err(SuggestError::Unusable(format!("git cannot be asked: {why}")));
        }
        Ok(changes(&said))
    }

    /// Returns the changes of files, at most `max_chars` characters.
    ///
    /// # Errors
    /// [`SuggestError::Unusable`].
    pub(crate) async fn diff(
        &self,
        root: &Path,
        changes: &[Change],
        max_chars: usize,
    ) -> Result<String, SuggestError> {
        let tracked: Vec<String> = changes
            .iter()
            .filter(|change| change.tracked)
            .map(|change| change.path.clone())
            .collect();
        let mut all = String::new();
        if !tracked.is_empty() {
            let since = |base: &'static str| [&["diff"], DIFF, &[base]].concat();
            let (code, said) = self.run(root, &since("HEAD"), &tracked).await?;
            // A repository without a commit has only staged files.
            all = if code == 0 {
                said
            } else {
                self.run(root, &since("--cached"), &tracked).await?.1
            };
        }
        let untracked = changes.iter().filter(|change| !change.tracked);
        for change in untracked.take(MAX_NEW_FILES) {
            let is_file =
                std::fs::symlink_metadata(root.join(&change.path)).is_ok_and(|found| found.is_file());
            if is_file && all.len() < max_chars {
                let options = [&["diff", "--no-index"], DIFF].concat();
                let two = ["/dev/null".to_owned(), change.path.clone()];
                all.push_str(&self.run(root, &options, &two).await?.1);
            }
        }
        let end = all
            .char_indices()
            .nth(max_chars)
            .map_or(all.len(), |(end, _)| end);
        if end < all.len() {
            all.truncate(end);
            all.push_str("\n[the rest is left out]\n");
        }
        Ok(all)
    }

    async fn run(
        &self,
        root: &Path,
        options: &[&str],
        paths: &[String],
    ) -> Result<(i32, String), SuggestError> {
        let words: Vec<&str> = [ALWAYS, options, &["--"]].concat();
        let words = words.into_iter().chain(paths.iter().map(String::as_str));
        let words: Vec<&str> = words.collect();
        self.spawn(root, "exec git \"$@\"", &words, TIME).await
    }

    /// Runs a script that calls git with `words`. The shell finds git; the words are arguments, so the shell never
    /// parses them.
    async fn spawn(
        &self,
        root: &Path,
        script: &str,
        words: &[&str],
        time: Duration,
    ) -> Result<(i32, String), SuggestError> {
        let spec = ProcessSpec::shell(&Shell::Posix, script, root, self.environment.clone())
            .arg("git")
            .args(words);
        let unheld = |why: String| {
            let text = format!("git is not run, since it cannot be sandboxed: {why}");
            SuggestError::Unusable(text)
        };
        self.sandbox.settle().await;
        let spec = match self.sandbox.of_command(root) {
            CommandSandbox::NotNeeded => spec,
            CommandSandbox::Confined(plan) => self.sandbox.confined(&plan, spec).map_err(unheld)?,
            CommandSandbox::Missing(why) | CommandSandbox::Refused(why) => return Err(unheld(why)),
        };
        let limits = Limits {
            wall_clock: time,
            grace: Duration::from_secs(1),
            captured_bytes: MAX_OUTPUT_BYTES,
        };
        let outcome = self
            .children
            .run(spec, &limits, None, &CancellationToken::new())
            .await;
        let outcome = outcome.map_err(|error| match error {
            ChildError::Confinement(why) => {
                self.sandbox.bubblewrap.has_failed();
                unheld(why)
            }
            error => SuggestError::Unusable(format!("git cannot be run: {error}")),
        })?;
        match outcome.exit {
            Exit::Exited(code) => Ok((code, outcome.output.text)),
            Exit::Signaled(_) | Exit::OverMemory(_) | Exit::TimedOut | Exit::Cancelled => {
                Err(SuggestError::Unusable("git did not answer in time.".to_owned()))
            }
        }
    }
}

/// Returns the output of [`STATE`] as text for a model.
fn state(said: &str) -> String {
    let (status, log) = said.split_once('\0').unwrap_or((said, ""));
    let line = |line: &str| line[..line.floor_char_boundary(MAX_LINE_BYTES)].to_owned();
    let (branch, changed): (Vec<&str>, Vec<&str>) = status.lines().partition(|line| line.starts_with("## "));
    let mut text = String::new();
    for branch in branch {
        text.extend(["Branch: ", &line(&branch[3..]), "\n"]);
    }
    let count = changed.len().to_string();
    text.extend(["Files with uncommitted changes: ", &count, "\n"]);
    for name in changed.iter().take(MAX_NAMED) {
        text.extend(["  ", &line(name), "\n"]);
    }
    if changed.len() > MAX_NAMED {
        text.push_str("  …\n");
    }
    if !log.is_empty() {
        text.push_str("Newest commits:\n");
        for commit in log.lines() {
            text.extend(["  ", &line(commit), "\n"]);
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// Reads `git status --porcelain=v1 -z --no-renames`.
fn changes(said: &str) -> Vec<Change> {
    let read = |entry: &str| {
        let (state, path) = entry.split_at_checked(3)?;
        let fate = if state.contains(['?', 'A']) {
            Fate::Added
        } else if state.contains('D') {
            Fate::Removed
        } else {
            Fate::Changed
        };
        (!path.is_empty()).then(|| Change {
            fate,
            path: path.to_owned(),
            tracked: !state.starts_with('?'),
        })
    };
    said.split('\0').filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_short() {
        let said = "## main...origin/main [ahead 1]\n M src/a.rs\n?? new\n\0abc1234 Boil\nabc1233 Fill\n";
        assert_eq!(
            state(said),
            "Branch: main...origin/main [ahead 1]\nFiles with uncommitted changes: 2\n   M src/a.rs\n  ?? new\n\
             Newest commits:\n  abc1234 Boil\n  abc1233 Fill"
        );
        let many = format!("## No commits yet on main\n{}\0", "?? x\n".repeat(3_000));
        assert!(state(&many).contains("changes: 3000") && state(&many).len() < 300);
        assert!(state(&format!("## {}\n\0", "é".repeat(900))).len() < 200);
    }

    #[test]
    fn what_git_says_is_read() {
        let said = " M src/a b.rs\0?? new.txt\0D  old\0AM added\0";
        let read: Vec<_> = changes(said)
            .into_iter()
            .map(|change| (change.fate, change.path, change.tracked))
            .collect();
        let expected = [
            (Fate::Changed, "src/a b.rs", true),
            (Fate::Added, "new.txt", false),
            (Fate::Removed, "old", true),
            (Fate::Added, "added", true),
        ];
        assert_eq!(
            read,
            expected.map(|(fate, path, tracked)| (fate, path.to_owned(), tracked))
        );
        assert_eq!(changes("xx"), []);
    }
}
