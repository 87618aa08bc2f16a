//! Reads what `git status` and `git for-each-ref` print.

use crate::types::{GitBranch, GitFile, GitFileState, GitStatusResult};

/// Most files of an answer.
const MAX_FILES: usize = 2_000;

/// The server's own file in a folder, which is there while it runs.
const LOCK: &str = ".craft/appserver.lock";

/// Reads `git status --porcelain=v2 --branch -z --no-renames`. `prefix` is the folder in the repository, which ends with a
/// slash, or is empty.
pub(crate) fn status(said: &str, prefix: &str, is_cut: bool) -> GitStatusResult {
    let mut result = GitStatusResult {
        repository: true,
        truncated: is_cut,
        ..GitStatusResult::default()
    };
    for entry in said.split('\0') {
        // A line in the place of what was left out is no path.
        if is_cut && entry.contains('\n') {
            continue;
        }
        if let Some(header) = entry.strip_prefix("# branch.") {
            branch(header, &mut result);
        } else if let Some(file) = file(entry, prefix) {
            result.files.push(file);
        }
    }
    result.files.sort_by(|one, other| one.path.cmp(&other.path));
    // Git names a file that it is to forget and that is still there twice.
    result.files.dedup_by(|one, other| one.path == other.path);
    result.truncated |= result.files.len() > MAX_FILES;
    result.files.truncate(MAX_FILES);
    result
}

fn branch(header: &str, result: &mut GitStatusResult) {
    let Some((name, value)) = header.split_once(' ') else {
        return;
    };
    match name {
        "oid" if value != "(initial)" => result.head = Some(value.to_owned()),
        "head" if value != "(detached)" => result.branch = Some(value.to_owned()),
        "upstream" => result.upstream = Some(value.to_owned()),
        "ab" => {
            let mut counts = value.split(' ').map(|count| count[1..].parse().unwrap_or(0));
            result.ahead = counts.next().unwrap_or(0);
            result.behind = counts.next().unwrap_or(0);
        }
        _ => {}
    }
}

fn file(entry: &str, prefix: &str) -> Option<GitFile> {
    let (kind, rest) = entry.split_once(' ')?;
    // The count of fields before the path.
    let fields = match kind {
        "1" => 7,
        "u" => 9,
        "?" => 0,
        _ => return None,
    };
    let path = rest.splitn(fields + 1, ' ').nth(fields)?;
    // Of a file that git does not know, the path stands where others have two letters.
    let (staged, unstaged) = match rest.as_bytes() {
        [staged, unstaged, ..] => (*staged, *unstaged),
        _ => (b'?', b'?'),
    };
    let state = match kind {
        "?" => GitFileState::Untracked,
        "u" => GitFileState::Conflicted,
        _ if unstaged == b'D' || (staged == b'D' && unstaged == b'.') => GitFileState::Deleted,
        // `A` behind the dot: git knows the file by name only.
        _ if staged == b'A' || unstaged == b'A' => GitFileState::Added,
        _ => GitFileState::Modified,
    };
    let path = path.strip_prefix(prefix)?;
    // A new file that is staged and gone differs in nothing from the last commit.
    if path == LOCK || (staged, unstaged) == (b'A', b'D') {
        return None;
    }
    Some(GitFile {
        path: path.to_owned(),
        state,
        staged: kind == "1" && staged != b'.',
    })
}

/// Reads `git for-each-ref --format='%(HEAD)%(refname)'`.
pub(crate) fn branches(said: &str) -> Vec<GitBranch> {
    let branch = |line: &str| {
        let (mark, name) = line.split_at_checked(1)?;
        let label = name
            .strip_prefix("refs/heads/")
            .or_else(|| name.strip_prefix("refs/remotes/"))?;
        // What a remote calls its usual branch is the same branch again.
        (!label.ends_with("/HEAD")).then(|| GitBranch {
            name: name.to_owned(),
            label: label.to_owned(),
            current: mark == "*",
        })
    };
    said.lines().filter_map(branch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read() {
        let said = "# branch.oid 12ab\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +2 -1\0\
                    1 .M N... 100644 100644 100644 aa bb tea/a b.rs\x001 A. N... 000000 100644 100644 00 bb tea/new\0\
                    1 D. N... 100644 000000 000000 aa 00 tea/old\x001 AD N... 000000 100644 000000 00 bb tea/twice\0\
                    u UU N... 100644 100644 100644 100644 aa bb cc tea/both\0? tea/what is this\0? other/x\0? tea/.craft/appserver.lock\0";
        let read = status(said, "tea/", false);
        assert_eq!(
            (
                read.branch.as_deref(),
                read.head.as_deref(),
                read.upstream.as_deref(),
                read.ahead,
                read.behind
            ),
            (Some("main"), Some("12ab"), Some("origin/main"), 2, 1)
        );
        let files: Vec<_> = read
            .files
            .iter()
            .map(|file| (file.path.as_str(), file.state, file.staged))
            .collect();
        assert_eq!(
            files,
            [
                ("a b.rs", GitFileState::Modified, false),
                ("both", GitFileState::Conflicted, false),
                ("new", GitFileState::Added, true),
                ("old", GitFileState::Deleted, true),
                ("what is this", GitFileState::Untracked, false),
            ]
        );
        let fresh = status("# branch.oid (initial)\0# branch.head (detached)\0", "", false);
        assert_eq!((fresh.branch, fresh.head, fresh.truncated), (None, None, false));
        let many: Vec<_> = (0..=MAX_FILES).map(|at| format!("? {at}")).collect();
        let many = status(&many.join("\0"), "", false);
        assert!(many.truncated && many.files.len() == MAX_FILES);
        assert_eq!(status("1 \0 \0garbage", "", true).files, []);
    }

    #[test]
    fn branches_are_read() {
        let said =
            "*refs/heads/main\n refs/heads/tea/green\n refs/remotes/origin/HEAD\n refs/remotes/origin/main\n";
        let read: Vec<_> = branches(said)
            .into_iter()
            .map(|branch| (branch.label, branch.current))
            .collect();
        let expected = [("main", true), ("tea/green", false), ("origin/main", false)];
        assert_eq!(read, expected.map(|(label, current)| (label.to_owned(), current)));
    }
}
