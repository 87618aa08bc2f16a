//! The repository of the workspace, and what is asked of git.
//!
//! A worktree is made in two steps. The first writes the repository and starts no program: hooks are off, and no file is
//! checked out. The second checks the files out and copies the changes of the workspace. Filters of the repository run
//! there, in the sandbox of commands of the new worktree, so they cannot write the workspace.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bobbin_model::DirtyHandoff;
use bobbin_tools::{Git, GitAnswer, GitBounds};

/// Time to check files out and to copy changes; a client waits 180 seconds.
const FILL_TIME: Duration = Duration::from_secs(150);
/// Longest name of a branch or of a base.
const MAX_NAME_BYTES: usize = 200;

/// Programs of the repository that git would run by itself.
const QUIET: &str =
    "git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.pager=cat \"$@\"; }\n";
/// Prints the commit of `$1`, after checking that `$2` is a name for a branch.
const RESOLVE: &str = "exec 2>/dev/null\n[ \"$(git check-ref-format --branch \"$2\")\" = \"$2\" ] || { echo \"'$2' is no name for a branch.\"; exit 3; }\n\
     if git show-ref --verify --quiet \"refs/heads/$2\"; then echo \"There is a branch '$2' already.\"; exit 3; fi\n\
     git rev-parse --verify --quiet --end-of-options \"$1^{commit}\" || { echo \"'$1' is no commit of this repository.\"; exit 3; }";
/// Makes the worktree `$2` on a new branch `$1` at the commit `$3`, without files.
const ADD: &str = "exec 2>&1; git worktree add --quiet --no-track --no-checkout -b \"$1\" -- \"$2\" \"$3\"";
/// Checks the files of the commit `$3` out; with `$1`, copies the changes of the folder `$2`, except for the server's
/// folder `$4`. `refs/worktree/start`, which git removes with the worktree, has the copied files. The copied index has the time of the original: git takes an entry of that time for changed until it has
/// looked at the file. The last line has the numbers of copied and of deleted files.
const FILL: &str = r#"set -e
git reset --quiet --hard
[ "$1" = copy ] || exit 0
index=$(mktemp); changed=$(mktemp); moved=$(mktemp)
trap 'rm -f "$index" "$index.lock" "$changed" "$moved"' EXIT
at_source() { git -C "$folder" "$@"; }
folder=$2
(cd "$folder" && cp -p -- "$(git rev-parse --git-path index)" "$index") || rm -f "$index"
GIT_INDEX_FILE=$index; export GIT_INDEX_FILE
at_source -c core.splitIndex=false -c advice.addEmbeddedRepo=false add --all --ignore-errors -- ':(top)' ":(top,exclude,literal)$4" || :
tree=$(at_source write-tree)
unset GIT_INDEX_FILE
at_source diff-tree -r --no-renames --name-only -z HEAD "$tree" > "$changed"
[ -s "$changed" ] || { echo '0 0'; exit 0; }
at_source diff-tree -r --no-renames --name-only -z HEAD "$3" > "$moved"
both=$(tr '\0' '\n' < "$moved" | sort | { tr '\0' '\n' < "$changed" | sort > "$index"; comm -12 - "$index"; } | head -n 5)
[ -z "$both" ] || { echo "The base has other versions of files with uncommitted changes:"; echo "$both"; exit 3; }
git --literal-pathspecs restore --source="$tree" --worktree --pathspec-from-file="$changed" --pathspec-file-nul
git update-ref refs/worktree/start "$tree"
all=$(tr -cd '\0' < "$changed" | wc -c)
gone=$(at_source diff-tree -r --no-renames --diff-filter=D --name-only -z HEAD "$tree" | tr -cd '\0' | wc -c)
echo "$((all - gone)) $gone""#;
/// Prints the tree or commit that the worktree started from, else `$1`, and the tree of its files as they are now.
const TREES: &str = r#"set -e
index=$(mktemp); trap 'rm -f "$index" "$index.lock"' EXIT
cp -p -- "$(git rev-parse --git-path index)" "$index"
git rev-parse --verify --quiet refs/worktree/start || echo "$1"
export GIT_INDEX_FILE=$index
git -c advice.addEmbeddedRepo=false add --all --ignore-errors -- ':(top)' >/dev/null 2>&1 || :
git write-tree"#;
/// Makes the difference of the trees `$1` and `$2` in the files of the repository that the folder is in: all of it or
/// nothing. The last line has the number of files.
const TAKE: &str = r#"set -e
cd -- "$(git rev-parse --show-toplevel)"
patch=$(mktemp); trap 'rm -f "$patch"' EXIT
git diff-tree -r -p --binary --full-index --no-renames --no-ext-diff --no-textconv "$1" "$2" > "$patch"
[ ! -s "$patch" ] || apply_all "$patch" 2>&1
git diff-tree -r --no-renames --name-only -z "$1" "$2" | tr -cd '\0' | wc -c"#;
/// Prints the top, the commit, the branch, the number of commits since `$1` and whether a file has changed, a line each.
const STATUS: &str = "exec 2>/dev/null\ngit rev-parse --show-toplevel && git rev-parse --verify HEAD || exit 1\n\
     git symbolic-ref --quiet --short HEAD || echo\n\
     git rev-list --count \"$1..HEAD\" || echo 0\n\
     git status --porcelain --untracked-files=normal | head -c 1 | wc -c";
/// Removes the worktree `$1`, and its branch `$2` if that is still at `$3`. The last line says whether the branch is there.
const REMOVE: &str = "exec 2>&1; if ! git worktree remove --force -- \"$1\"; then [ -e \"$1/.git\" ] && exit 1; rm -rf -- \"$1\" || exit 1; fi\n\
     git update-ref -d \"refs/heads/$2\" \"$3\" >/dev/null 2>&1\n\
     if git show-ref --verify --quiet \"refs/heads/$2\"; then echo remains; else echo removed; fi";

/// The repository that the workspace is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The folder with `.git`.
    pub(crate) top: PathBuf,
    /// The workspace's path in it.
    pub(crate) prefix: PathBuf,
}

/// A worktree to be made.
pub(crate) struct NewWorktree<'a> {
    pub(crate) path: &'a Path,
    /// The folder whose uncommitted changes are copied.
    pub(crate) source: &'a Path,
    pub(crate) branch: &'a str,
    pub(crate) base: &'a str,
    pub(crate) copy: bool,
}

/// The present state of a worktree, as git reports it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundWorktree {
    pub(crate) head: String,
    pub(crate) branch: String,
    pub(crate) ahead: u64,
    pub(crate) is_changed: bool,
}

impl Repository {
    /// Returns the repository of a folder, if its `.git` is a directory around the folder or in it. A worktree of the
    /// user's or a submodule is none: its `.git` is a file, which the folder may have brought.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let top = folder
            .ancestors()
            .find(|place| place.join(".git").symlink_metadata().is_ok())?;
        let is_directory = top.join(".git").symlink_metadata().is_ok_and(|git| git.is_dir());
        is_directory.then(|| Self {
            top: top.to_owned(),
            prefix: folder.strip_prefix(top).unwrap_or(Path::new("")).to_owned(),
        })
    }

    /// Returns the commit of a base as `folder` names it, after checking the name of the new branch.
    pub(crate) async fn resolve(
        &self,
        git: &Git,
        folder: &Path,
        base: &str,
        branch: &str,
    ) -> Result<String, String> {
        for name in [base, branch] {
            if name.is_empty() || name.len() > MAX_NAME_BYTES || name.starts_with('-') {
                return Err(format!("'{name}' is no name for a branch or a base."));
            }
        }
        let answer = ask(git, folder, RESOLVE, &[base, branch], GitBounds::default()).await?;
        Ok(answer.trim().to_owned())
    }

    /// Makes a worktree at a commit, and fills it.
    pub(crate) async fn add(
        &self,
        git: &Git,
        worktrees: &Path,
        new: &NewWorktree<'_>,
    ) -> Result<DirtyHandoff, String> {
        let path = text(new.path);
        let writing = git.writing_only(vec![worktrees.to_owned(), self.top.join(".git")]);
        let bounds = GitBounds {
            writes: true,
            ..GitBounds::default()
        };
        ask(&writing, &self.top, ADD, &[new.branch, &path, new.base], bounds).await?;
        let reading = git.reading(vec![new.source.to_owned()]);
        let bounds = GitBounds {
            writes: true,
            time: FILL_TIME,
            ..GitBounds::default()
        };
        let craft = text(&self.prefix.join(".craft"));
        let copy = if new.copy { "copy" } else { "" };
        let words = [copy, &text(new.source), new.base, &craft];
        let answer = ask(&reading, new.path, FILL, &words, bounds).await?;
        let (copied, deleted) = counts(&answer);
        Ok(DirtyHandoff {
            requested: new.copy,
            status: match (new.copy, copied + deleted) {
                (false, _) => "skipped",
                (true, 0) => "clean",
                (true, _) => "applied",
            }
            .to_owned(),
            copied_file_count: copied,
            deleted_file_count: deleted,
        })
    }

    /// Makes in `folder` what has changed in the worktree at `path` since it started. Returns the number of files.
    pub(crate) async fn take(
        &self,
        git: &Git,
        folder: &Path,
        path: &Path,
        base: &str,
    ) -> Result<u32, String> {
        let bounds = GitBounds {
            writes: true,
            time: FILL_TIME,
            ..GitBounds::default()
        };
        let trees = ask(git, path, TREES, &[base], bounds).await?;
        let mut lines = trees.lines().rev();
        let (Some(now), Some(start)) = (lines.next(), lines.next()) else {
            return Err(trees);
        };
        let script = format!("{}{TAKE}", Git::APPLY);
        let taken = ask(git, folder, &script, &[start, now], bounds).await?;
        let count = taken.lines().last().unwrap_or_default();
        Ok(count.trim().parse().unwrap_or_default())
    }

    /// Removes a worktree. Returns whether its branch remains, since it has commits after `base`.
    pub(crate) async fn remove(
        &self,
        git: &Git,
        path: &Path,
        branch: &str,
        base: &str,
    ) -> Result<bool, String> {
        let worktrees = path.parent().unwrap_or(path).to_owned();
        let writing = git.writing_only(vec![worktrees, self.top.join(".git")]);
        let bounds = GitBounds {
            writes: true,
            time: FILL_TIME,
            ..GitBounds::default()
        };
        let answer = ask(&writing, &self.top, REMOVE, &[&text(path), branch, base], bounds).await?;
        Ok(answer.trim_end().ends_with("remains"))
    }
}

/// Asks git about a worktree; `None` where git takes it for none.
pub(crate) async fn found(git: &Git, path: &Path, base: &str) -> Option<FoundWorktree> {
    let answer = ask(git, path, STATUS, &[base], GitBounds::default()).await;
    read_status(&answer.ok()?, path)
}

fn read_status(said: &str, path: &Path) -> Option<FoundWorktree> {
    let mut lines = said.lines();
    // Without a `.git`, git finds a repository further up.
    if lines.next().map(Path::new) != Some(path) {
        return None;
    }
    Some(FoundWorktree {
        head: lines.next()?.to_owned(),
        branch: lines.next()?.to_owned(),
        ahead: lines.next()?.parse().ok()?,
        is_changed: lines.next()?.trim() != "0",
    })
}

/// Runs a script that succeeds.
async fn ask(
    git: &Git,
    folder: &Path,
    script: &str,
    words: &[&str],
    bounds: GitBounds,
) -> Result<String, String> {
    let script = format!("{QUIET}{script}");
    let GitAnswer { code, text, .. } = git
        .script(folder, &script, words, bounds)
        .await
        .map_err(|failure| failure.to_string())?;
    if code == 0 {
        return Ok(text);
    }
    let text = text.trim();
    Err(if text.is_empty() {
        "git does not say why."
    } else {
        text
    }
    .to_owned())
}

/// Reads the numbers on the last line.
fn counts(said: &str) -> (u32, u32) {
    let numbers = said.lines().last().and_then(|line| line.split_once(' '));
    let number = |text: &str| text.trim().parse().unwrap_or_default();
    numbers.map_or((0, 0), |(copied, deleted)| (number(copied), number(deleted)))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_directory_git_makes_a_repository() {
        let place = tempfile::tempdir().unwrap();
        let (tea, green) = (place.path().join("tea"), place.path().join("tea/leaf/green"));
        std::fs::create_dir_all(&green).unwrap();
        assert_eq!(Repository::of(&green), None);
        std::fs::create_dir(tea.join(".git")).unwrap();
        let found = Repository::of(&green).unwrap();
        assert_eq!((&found.top, found.prefix), (&tea, PathBuf::from("leaf/green")));
        assert_eq!(Repository::of(&tea).unwrap().prefix, Path::new(""));
        std::fs::write(green.join(".git"), "gitdir: /elsewhere\n").unwrap();
        assert_eq!(Repository::of(&green), None);
    }

    #[test]
    fn a_status_is_read() {
        let found = read_status("/w/a\n12ab\nbobbin/a\n2\n1\n", Path::new("/w/a")).unwrap();
        assert_eq!((found.head.as_str(), found.branch.as_str()), ("12ab", "bobbin/a"));
        assert_eq!((found.ahead, found.is_changed), (2, true));
        let detached = read_status("/w/a\n12ab\n\n0\n0\n", Path::new("/w/a")).unwrap();
        assert_eq!((detached.branch.as_str(), detached.is_changed), ("", false));
        assert_eq!(read_status("/w\n12ab\nmain\n0\n0\n", Path::new("/w/a")), None);
        assert_eq!(read_status("", Path::new("/w/a")), None);
        assert_eq!((counts("x\n3 1\n"), counts("")), ((3, 1), (0, 0)));
    }
}
