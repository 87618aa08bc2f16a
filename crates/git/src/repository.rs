//! Questions to git, and acts with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::policy::Policy;
use bobbin_native_wire::RpcError;
use bobbin_policy::Shown;
use bobbin_tools::{Git, GitAnswer, GitBounds, GitFailure};

use crate::status;
use crate::types::{
    GitApplyResult, GitBranchesResult, GitCommitResult, GitDiffResult, GitFastForwardResult, GitFile,
    GitFileState, GitStatusResult,
};

/// Most files that a request names: as many as a status.
const MAX_PATHS: usize = 2_000;
/// Most bytes of the names of these files.
const MAX_PATH_BYTES: usize = 512 << 10;
/// Longest message of a commit, bytes.
const MAX_MESSAGE_BYTES: usize = 16 << 10;
/// Longest diff, bytes.
const MAX_DIFF_BYTES: usize = 4 << 20;
/// Bounds of a commit and its hooks, and of what else writes.
pub(crate) const WRITE_BOUNDS: GitBounds = GitBounds {
    time: Duration::from_mins(5),
    bytes: 64 << 10,
    writes: true,
};
/// Bounds of a comparison.
const DIFF_BOUNDS: GitBounds = GitBounds {
    time: Duration::from_secs(20),
    bytes: MAX_DIFF_BYTES,
    writes: false,
};
/// Most files that git does not know and a diff shows.
const MAX_NEW_FILES: usize = 40;
/// Most branches of an answer.
const MAX_BRANCHES: &str = "--count=500";
/// The tree without files, which a repository without a commit is compared with.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// Prints the folder in the repository and a zero byte, then what git prints without what it says of errors; where that
/// fails, what it says of them.
const QUIET: &str = "git rev-parse --show-prefix 2>/dev/null || { git rev-parse --show-prefix; exit 1; }; printf '\\0'; \
                     git \"$@\" 2>/dev/null || { git \"$@\" >/dev/null; exit 1; }";
/// Runs git without what it says of errors; where it fails, with what it says of them.
const SILENT: &str = "git \"$@\" 2>/dev/null || { git \"$@\" >/dev/null; exit 1; }";
/// Compares each file with nothing.
const NEW_FILES: &str = "for file do git --literal-pathspecs diff --no-index --no-ext-diff --no-textconv --no-color \
                         --src-prefix=a/ --dst-prefix=b/ -- /dev/null \"$file\" 2>/dev/null; done; exit 0";
/// Commits the files behind the message, and prints the commit on the last line.
const COMMIT: &str = "message=$1; shift; \
                      git -c core.fsmonitor=false --literal-pathspecs commit -q -m \"$message\" --only -- \"$@\" && \
                      git rev-parse HEAD";
/// Has git know new files. Their content comes with the commit alone.
const INTEND: &str = "git -c core.fsmonitor=false --literal-pathspecs add --intent-to-add -- \"$@\"";
/// Takes that back.
const FORGET: &str = "git -c core.fsmonitor=false --literal-pathspecs rm -q --cached -- \"$@\"";
/// Takes a diff from standard input into the files. Git reads its paths from the top of the repository, if there is one.
///
/// A change that is taken back may be staged. Once a file is as in the last commit again, nothing of it stays staged: the script resets
/// it in a copy of the index, and in the index if git then sees no difference. A file whose merge is not settled stays as it is.
const APPLY: &str = r#"quiet_git() {
  git -c core.fsmonitor=false -c core.hooksPath=/dev/null --literal-pathspecs "$@"
}
unstage() {
  IFS='
'
  set -f
  set -- $(git apply --numstat -z "$@" "$patch" | tr '\0' '\n' | cut -f3-)
  [ $# != 0 ] || return
  set -- $(quiet_git status --porcelain -z --no-renames --untracked-files=no -- "$@" | tr '\0' '\n' |
    grep -v -e '^.U' -e '^U' -e '^AA' -e '^DD' | cut -c4-)
  [ $# != 0 ] || return
  index=$(mktemp) && cp -- "$(git rev-parse --git-path index)" "$index" || return
  GIT_INDEX_FILE=$index quiet_git reset -q -- "$@"
  for name do
    shift
    if GIT_INDEX_FILE=$index quiet_git ls-files --error-unmatch -- "$name"; then
      GIT_INDEX_FILE=$index quiet_git diff --quiet --no-ext-diff -- "$name"
    else
      [ ! -e "$name" ] && [ ! -L "$name" ]
    fi && set -- "$@" "$name"
  done
  [ $# = 0 ] || quiet_git reset -q -- "$@"
}
patch=$(mktemp) || exit 1
trap 'rm -f "$patch" "$index"' EXIT
cat > "$patch"
if prefix=$(git rev-parse --show-prefix 2>/dev/null); then
  cd -- "$(git rev-parse --show-toplevel)" || exit 1
  [ -z "$prefix" ] || set -- "$@" "--directory=$prefix"
fi
apply_all "$patch" "$@" || exit 1
[ "$1" != --reverse ] || unstage "$@" >/dev/null 2>&1
exit 0"#;
/// The character in the place of bytes that are no UTF-8.
const REPLACED: char = '\u{fffd}';
/// Moves the branch to the commit of its upstream, and prints it on the last line.
const FAST_FORWARD: &str =
    "git -c core.fsmonitor=false merge --quiet --ff-only '@{upstream}' && git rev-parse HEAD";

/// The repository that a folder is in.
pub(crate) struct Repository {
    pub(crate) git: Git,
    pub(crate) root: PathBuf,
    /// The rules of the folder's agent: what it may not read is shown to nobody.
    pub(crate) policy: Arc<dyn Policy>,
}

impl Repository {
    /// Returns the branch and the changed files.
    pub(crate) async fn status(&self) -> Result<GitStatusResult, RpcError> {
        let options = [
            Git::ALWAYS,
            &[
                "status",
                "--porcelain=v2",
                "--branch",
                "-z",
                "--untracked-files=all",
                "--no-renames",
                "--",
                ".",
            ],
        ];
        let answer = self.ask(QUIET, &options.concat(), GitBounds::default()).await?;
        if answer.code != 0 {
            return Ok(GitStatusResult {
                problem: Some(why(&answer)),
                ..GitStatusResult::default()
            });
        }
        let (prefix, said) = answer.text.split_once('\0').unwrap_or_default();
        Ok(status::status(said, prefix.trim_end_matches('\n'), answer.is_cut))
    }

    /// Returns the difference to the last commit, or to where the files left a branch.
    pub(crate) async fn diff(&self, base: Option<&str>, paths: &[String]) -> Result<GitDiffResult, RpcError> {
        bounded(paths)?;
        let base = match base {
            Some(base) if is_branch(base) => Some(base),
            Some(_) => {
                let why = "'base' must be a branch by its full name, as `git/branches` gives it.";
                return Err(RpcError::invalid_params(why));
            }
            None => None,
        };
        let status = self.status().await?;
        if let Some(problem) = status.problem {
            return Err(RpcError::invalid_request(problem));
        }
        let against: &[&str] = match (base, &status.head) {
            (Some(base), _) => &["--merge-base", base],
            (None, Some(_)) => &["HEAD"],
            (None, None) => &[EMPTY_TREE],
        };
        let is_unknown = |file: &&GitFile| file.state == GitFileState::Untracked;
        let unknown = status
            .files
            .iter()
            .filter(is_unknown)
            .map(|file| file.path.clone());
        let unknown: Vec<String> = unknown.filter(|path| is_among(path, paths)).collect();
        let (unknown, hidden_new) = self.split(unknown).await?;
        let known = if base.is_some() {
            self.changed(against).await?
        } else {
            let known = status.files.iter().filter(|file| !is_unknown(file));
            known.map(|file| file.path.clone()).collect()
        };
        let (_, hidden) = self.split(known).await?;
        let shown = &unknown[..unknown.len().min(MAX_NEW_FILES)];
        let mut diff = self.compare(against, paths, &hidden).await?;
        if !shown.is_empty() {
            let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
            let new = self.ask(NEW_FILES, &shown, DIFF_BOUNDS).await?;
            diff.is_cut |= new.is_cut;
            diff.text.push_str(&new.text);
        }
        let is_cut = diff.is_cut || diff.text.len() > MAX_DIFF_BYTES;
        Ok(GitDiffResult {
            diff: if is_cut { String::new() } else { diff.text },
            truncated: is_cut
                || status.truncated
                || shown.len() < unknown.len()
                || !hidden.is_empty()
                || !hidden_new.is_empty(),
        })
    }

    /// Compares files that git knows, but the hidden ones.
    async fn compare(
        &self,
        against: &[&str],
        paths: &[String],
        hidden: &[String],
    ) -> Result<GitAnswer, RpcError> {
        let options = [
            // Its paths are patterns, some of which leave files out.
            &Git::ALWAYS[..1],
            &Git::ALWAYS[2..],
            &["diff"],
            Git::DIFF,
            &["--relative", "--src-prefix=a/", "--dst-prefix=b/"],
            against,
            &["--"],
        ]
        .concat();
        let paths = paths.iter().map(|path| format!(":(literal){path}"));
        let hidden = hidden.iter().map(|path| format!(":(exclude,literal){path}"));
        let patterns: Vec<String> = paths.chain(hidden).collect();
        let words = options.into_iter().chain(patterns.iter().map(String::as_str));
        let answer = self.ask(SILENT, &words.collect::<Vec<_>>(), DIFF_BOUNDS).await?;
        if answer.code != 0 {
            return Err(RpcError::invalid_request(why(&answer)));
        }
        Ok(answer)
    }

    /// Returns the files that differ from where they left a branch.
    async fn changed(&self, against: &[&str]) -> Result<Vec<String>, RpcError> {
        let options = [
            Git::ALWAYS,
            &["diff"],
            Git::DIFF,
            &["--relative", "--name-only", "-z"],
            against,
            &["--"],
        ];
        let answer = self.ask(SILENT, &options.concat(), DIFF_BOUNDS).await?;
        if answer.code != 0 || answer.is_cut {
            return Err(RpcError::invalid_request(why(&answer)));
        }
        let names = answer.text.split('\0').filter(|name| !name.is_empty());
        Ok(names.map(str::to_owned).collect())
    }

    /// Returns which of some files may be shown, and which may not.
    async fn split(&self, paths: Vec<String>) -> Result<(Vec<String>, Vec<String>), RpcError> {
        let (root, policy) = (self.root.clone(), self.policy.clone());
        let judging = tokio::task::spawn_blocking(move || {
            let check = Shown::of(&root, &*policy);
            paths.into_iter().partition(|path| check.path(path).is_ok())
        });
        let judged = judging.await;
        let (shown, hidden): (Vec<String>, Vec<String>) =
            judged.map_err(|_| RpcError::internal_error("The files could not be judged."))?;
        if hidden.iter().map(String::len).sum::<usize>() > MAX_PATH_BYTES {
            return Err(RpcError::invalid_request(
                "Too many of the changed files may not be shown.",
            ));
        }
        Ok((shown, hidden))
    }

    /// Returns the branches.
    pub(crate) async fn branches(&self) -> Result<GitBranchesResult, RpcError> {
        let options = [
            "for-each-ref",
            MAX_BRANCHES,
            "--sort=-committerdate",
            "--format=%(HEAD)%(refname)",
            "refs/heads",
            "refs/remotes",
        ];
        let answer = self.ask(QUIET, &options, GitBounds::default()).await?;
        if answer.code != 0 {
            return Err(RpcError::invalid_request(why(&answer)));
        }
        let (_, said) = answer.text.split_once('\0').unwrap_or_default();
        Ok(GitBranchesResult {
            branches: status::branches(said),
        })
    }

    /// Commits files.
    pub(crate) async fn commit(&self, message: &str, paths: &[String]) -> Result<GitCommitResult, RpcError> {
        bounded(paths)?;
        if paths.is_empty() {
            return Err(RpcError::invalid_params("'paths' must name at least one file."));
        }
        if message.trim().is_empty() || message.len() > MAX_MESSAGE_BYTES {
            let why = format!("'message' must have 1 to {MAX_MESSAGE_BYTES} bytes.");
            return Err(RpcError::invalid_params(why));
        }
        let status = self.status().await?;
        let is_new = |file: &&GitFile| file.state == GitFileState::Untracked && is_among(&file.path, paths);
        let new: Vec<&str> = status
            .files
            .iter()
            .filter(is_new)
            .map(|file| file.path.as_str())
            .collect();
        if !new.is_empty() {
            let intended = self.ask(INTEND, &new, WRITE_BOUNDS).await?;
            if intended.code != 0 {
                return Err(RpcError::invalid_request(why(&intended)));
            }
        }
        let words = std::iter::once(message).chain(paths.iter().map(String::as_str));
        let answer = self.ask(COMMIT, &words.collect::<Vec<_>>(), WRITE_BOUNDS).await?;
        if answer.code != 0 && !new.is_empty() {
            self.ask(FORGET, &new, WRITE_BOUNDS).await?;
        }
        let said = answer.text.trim_end();
        if answer.code != 0 {
            return Err(RpcError::invalid_request(said));
        }
        let (output, commit) = said.rsplit_once('\n').unwrap_or(("", said));
        Ok(GitCommitResult {
            commit: commit.to_owned(),
            output: output.to_owned(),
        })
    }

    /// Makes a diff in the files, or takes it back: all of it or nothing. A file that is as in the last commit again is no longer
    /// staged.
    pub(crate) async fn apply(&self, patch: String, reverse: bool) -> Result<GitApplyResult, RpcError> {
        if patch.is_empty() || patch.len() > MAX_DIFF_BYTES {
            let why = format!("'patch' must have 1 to {MAX_DIFF_BYTES} bytes.");
            return Err(RpcError::invalid_params(why));
        }
        if patch.contains(REPLACED) {
            return Err(RpcError::invalid_request(
                "The diff has bytes that are no UTF-8, and they are not known any more. Use git for this file.",
            ));
        }
        let words: &[&str] = if reverse { &["--reverse"] } else { &[] };
        let script = format!("{}{APPLY}", Git::APPLY);
        let applying =
            self.git
                .script_with_input(&self.root, &script, words, patch.into_bytes(), WRITE_BOUNDS);
        let answer = applying.await.map_err(|failure| unusable(&failure))?;
        if answer.code != 0 {
            return Err(RpcError::invalid_request(why(&answer)));
        }
        Ok(GitApplyResult {})
    }

    /// Moves the branch to its upstream, if it has no commits of its own.
    pub(crate) async fn fast_forward(&self) -> Result<GitFastForwardResult, RpcError> {
        let status = self.status().await?;
        let refused = |why: &str| Err(RpcError::invalid_request(why));
        if status.upstream.is_none() {
            return refused("The branch follows no other one. Push it first, or set its upstream.");
        }
        if status.ahead > 0 && status.behind > 0 {
            return refused(
                "The branch and its upstream both have new commits. Merge or rebase it, or ask the agent to.",
            );
        }
        let answer = self.ask(FAST_FORWARD, &[], WRITE_BOUNDS).await?;
        let said = answer.text.trim_end();
        if answer.code != 0 {
            return refused(said);
        }
        let head = said.rsplit_once('\n').map_or(said, |(_, head)| head);
        Ok(GitFastForwardResult {
            head: head.to_owned(),
        })
    }

    pub(crate) async fn ask(
        &self,
        script: &str,
        words: &[&str],
        bounds: GitBounds,
    ) -> Result<GitAnswer, RpcError> {
        let answer = self.git.script(&self.root, script, words, bounds).await;
        answer.map_err(|failure| unusable(&failure))
    }
}

pub(crate) fn unusable(failure: &GitFailure) -> RpcError {
    RpcError::invalid_request(failure.to_string())
}

/// Returns the first line of what git says of an error.
pub(crate) fn why(answer: &GitAnswer) -> String {
    let line = answer.text.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or("git does not say why")
        .trim_matches('\0')
        .to_owned()
}

/// Whether a name is that of a branch; git checks whether it exists.
fn is_branch(name: &str) -> bool {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !"~^:?*[\\".contains(c);
    (name.starts_with("refs/heads/") || name.starts_with("refs/remotes/"))
        && name.len() < 1_000
        && name.chars().all(is_plain)
        && !name.contains("..")
        && !name.contains("@{")
}

/// Whether a path is one of some files and directories, or lies in one; all are where none is named.
fn is_among(path: &str, chosen: &[String]) -> bool {
    let is_in = |chosen: &String| chosen == "." || Path::new(path).starts_with(chosen);
    chosen.is_empty() || chosen.iter().any(is_in)
}

fn bounded(paths: &[String]) -> Result<(), RpcError> {
    let bytes: usize = paths.iter().map(String::len).sum();
    if paths.len() > MAX_PATHS || bytes > MAX_PATH_BYTES {
        let why = format!("'paths' must name at most {MAX_PATHS} files, in {MAX_PATH_BYTES} bytes.");
        return Err(RpcError::invalid_params(why));
    }
    if paths.iter().any(|path| path.is_empty() || path.contains('\0')) {
        return Err(RpcError::invalid_params("A path in 'paths' is empty."));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_the_full_name_of_a_branch() {
        for name in ["refs/heads/main", "refs/remotes/origin/tea/green"] {
            assert!(is_branch(name), "{name}");
        }
        for name in [
            "main",
            "--output=x",
            "refs/heads/a b",
            "refs/heads/a..b",
            "refs/heads/a@{1}",
            "refs/tags/x",
        ] {
            assert!(!is_branch(name), "{name}");
        }
    }
}
