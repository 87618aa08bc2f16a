//! The state of a repository as text for models, and the changes that a commit message describes.

use std::path::Path;
use std::time::Duration;

use bobbin_agent_api::suggest::SuggestError;
use bobbin_tools::{Git, GitAnswer, GitBounds, GitFailure};

/// Time for the state of a repository: the first Turn of a Thread waits for it.
const STATE_TIME: Duration = Duration::from_secs(2);
/// Most changed files that a state names.
const MAX_NAMED: usize = 20;
/// Most bytes of a line of a state.
const MAX_LINE_BYTES: usize = 120;
/// Returns the branch and the changed files, a zero byte, and the newest commits.
const STATE: &str = "git \"$@\" status --porcelain=v1 --branch --no-renames --untracked-files=normal && printf '\\0' && \
                     git \"$@\" log -5 --no-show-signature --format='%h %s' 2>/dev/null";
/// Untracked files whose content is shown.
const MAX_NEW_FILES: usize = 10;

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

/// Returns the branch, the changed files and the newest commits of a repository, as text for a model; `None` if there is
/// no repository or git does not answer in time.
pub(crate) async fn state_of(git: &Git, root: &Path) -> Option<String> {
    let bounds = GitBounds {
        time: STATE_TIME,
        ..GitBounds::default()
    };
    let GitAnswer { code, text, .. } = git
        .script(root, STATE, Git::ALWAYS, bounds)
        .await
        .inspect_err(|error| tracing::debug!(%error, "the state of a repository is not known"))
        .ok()?;
    // Without a commit there is no log.
    (code == 0 || text.contains('\0')).then(|| state(&text))
}

/// Returns which of some files have changed since the last commit.
///
/// # Errors
/// [`SuggestError::Unusable`]: there is no repository, or no git.
pub(crate) async fn changes_of(
    git: &Git,
    root: &Path,
    paths: &[String],
) -> Result<Vec<Change>, SuggestError> {
    let options = [
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=all",
        "--no-renames",
    ];
    let GitAnswer { code, text, .. } = run(git, root, &options, paths).await?;
    if code != 0 {
        let why = text.lines().next().unwrap_or("it does not say why");
        return Err(SuggestError::Unusable(format!("git cannot be asked: {why}")));
    }
    Ok(changes(&text))
}

/// Returns the changes of files, at most `max_chars` characters.
///
/// # Errors
/// [`SuggestError::Unusable`].
pub(crate) async fn diff_of(
    git: &Git,
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
        let since = |base: &'static str| [&["diff"], Git::DIFF, &[base]].concat();
        let answer = run(git, root, &since("HEAD"), &tracked).await?;
        // A repository without a commit has only staged files.
        all = if answer.code == 0 {
            answer.text
        } else {
            run(git, root, &since("--cached"), &tracked).await?.text
        };
    }
    let untracked = changes.iter().filter(|change| !change.tracked);
    for change in untracked.take(MAX_NEW_FILES) {
        let is_file = std::fs::symlink_metadata(root.join(&change.path)).is_ok_and(|found| found.is_file());
        if is_file && all.len() < max_chars {
            let options = [&["diff", "--no-index"], Git::DIFF].concat();
            let two = ["/dev/null".to_owned(), change.path.clone()];
            all.push_str(&run(git, root, &options, &two).await?.text);
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

async fn run(git: &Git, root: &Path, options: &[&str], paths: &[String]) -> Result<GitAnswer, SuggestError> {
    let answer = git.run(root, options, paths, GitBounds::default()).await;
    answer.map_err(|failure: GitFailure| SuggestError::Unusable(failure.to_string()))
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
