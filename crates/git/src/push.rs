//! Pushes the branch, with the user's keys and the network.
//!
//! Settings of a repository name programs that a push would start: hooks, transports, helpers of credentials, commands of
//! ssh. A cloned folder and the agent's commands can have written them. So the repository is only read, in the sandbox. What
//! pushes is an empty repository of the server's own that has the objects of the other one and none of its settings. It gets
//! an address and a commit, and settings of the user alone count.

use std::path::Path;
use std::time::Duration;

use bobbin_native_wire::RpcError;
use bobbin_tools::GitBounds;

use crate::repository::{Repository, unusable, why};
use crate::types::{GitPushParams, GitPushPlan, GitPushResult};

/// Time for a push.
const TIME: Duration = Duration::from_mins(5);
/// Most output of a push, bytes.
const MAX_BYTES: usize = 64 << 10;

/// Prints the parts of a plan, each with a zero byte behind it.
const PLAN: &str = "set -f; remote=$1; \
    branch=$(git symbolic-ref --short -q HEAD) || { echo 'No branch is checked out.'; exit 1; }; \
    head=$(git rev-parse HEAD) || exit 1; names=$(git remote) || exit 1; \
    if [ -z \"$remote\" ]; then for name in $names; do \
    [ -n \"$remote\" ] && [ \"$name\" != origin ] || remote=$name; done; fi; \
    [ -n \"$remote\" ] || { echo 'The repository has no remote.'; exit 1; }; \
    url=$(git remote get-url --push -- \"$remote\") || exit 1; \
    common=$(git rev-parse --path-format=absolute --git-common-dir) || exit 1; \
    count=$(git rev-list --count HEAD --not --remotes=\"$remote\") || exit 1; \
    printf '%s\\0' \"$names\" \"$remote\" \"$url\" \"$branch\" \"$head\" \"$common\" \"$count\"; \
    git log -50 --no-show-signature --format='%h %s' HEAD --not --remotes=\"$remote\"";

/// A plan, with what the client is not shown.
pub(crate) struct Ready {
    pub(crate) plan: GitPushPlan,
    url: String,
    /// The directory with the objects.
    common: String,
}

/// Returns what a push would send, and where to.
pub(crate) async fn plan(repository: &Repository, remote: Option<&str>) -> Result<Ready, RpcError> {
    let answer = repository
        .ask(PLAN, &[remote.unwrap_or_default()], GitBounds::default())
        .await?;
    let parts: Vec<&str> = answer.text.split('\0').collect();
    let &[names, remote, url, branch, head, common, count, commits] = parts.as_slice() else {
        return Err(RpcError::invalid_request(why(&answer)));
    };
    if !is_plain(url) {
        return Err(RpcError::invalid_request(format!(
            "Bobbin does not push to {}: only https, ssh and absolute paths are addresses that start no program of the \
             repository.",
            masked(url)
        )));
    }
    Ok(Ready {
        plan: GitPushPlan {
            remotes: names.lines().map(str::to_owned).collect(),
            remote: remote.to_owned(),
            url: masked(url),
            branch: branch.to_owned(),
            head: head.to_owned(),
            count: count.parse().unwrap_or(0),
            commits: commits.lines().map(str::to_owned).collect(),
        },
        url: url.to_owned(),
        common: common.to_owned(),
    })
}

/// Pushes what the user has seen.
pub(crate) async fn push(repository: &Repository, seen: &GitPushParams) -> Result<GitPushResult, RpcError> {
    let Ready { plan, url, common } = plan(repository, Some(&seen.remote)).await?;
    let same = plan.url == seen.url && plan.branch == seen.branch && plan.head == seen.head;
    if !same {
        let text =
            "The branch, its commit or the address has changed since you looked. Look again, then push.";
        return Err(RpcError::invalid_request(text));
    }
    let place = tempfile::tempdir();
    let place =
        place.map_err(|error| RpcError::internal_error(format!("no temporary directory: {error}")))?;
    let directory = place.path();
    let bounds = GitBounds {
        time: TIME,
        bytes: MAX_BYTES,
        writes: true,
    };
    let git = &repository.git;
    let made = git
        .outside(directory, &["init", "--quiet", "--bare", "."], bounds)
        .await;
    let made = made.map_err(|failure| unusable(&failure))?;
    if made.code != 0 {
        return Err(RpcError::internal_error(why(&made)));
    }
    let (from, to) = (
        Path::new(&common).join("objects"),
        directory.join("objects/info/alternates"),
    );
    tokio::fs::write(to, format!("{}\n", from.display()))
        .await
        .map_err(|error| RpcError::internal_error(format!("the objects cannot be named: {error}")))?;
    let sent = format!("{}:refs/heads/{}", plan.head, plan.branch);
    let words = [
        "-c",
        "protocol.ext.allow=never",
        "push",
        "--porcelain",
        "--no-verify",
        "--",
        &url,
        &sent,
    ];
    let pushed = git.outside(directory, &words, bounds).await;
    let pushed = pushed.map_err(|failure| unusable(&failure))?;
    let output = pushed.text.replace(&url, &plan.url).trim().to_owned();
    if pushed.code != 0 {
        return Err(RpcError::invalid_request(output));
    }
    // What git would note itself, so that the next plan knows it.
    let note = "git update-ref \"refs/remotes/$1/$2\" \"$3\"";
    let writes = GitBounds {
        writes: true,
        ..GitBounds::default()
    };
    repository
        .ask(note, &[&plan.remote, &plan.branch, &plan.head], writes)
        .await?;
    Ok(GitPushResult { output })
}

/// Whether an address starts no program but git's own transports and ssh.
fn is_plain(url: &str) -> bool {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    let host = match scheme {
        Some("https" | "http" | "ssh" | "git" | "file") => url.split_once("://").map_or("", |(_, rest)| rest),
        Some(_) => return false,
        // `HELPER::ADDRESS` starts a helper.
        None if url.contains("::") => return false,
        // The directory that a relative path starts from is not the one that pushes.
        None if !url.starts_with('/') && !url.split('/').next().is_some_and(|host| host.contains(':')) => {
            return false;
        }
        None => url,
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    !url.starts_with('-') && !host.starts_with('-') && !url.chars().any(char::is_control) && !url.is_empty()
}

/// Returns an address without the password in it.
fn masked(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split_once(':').map_or(user, |(user, _)| user);
            let secret = if authority.contains(&format!("{user}:")) {
                ":***"
            } else {
                ""
            };
            format!("{scheme}://{user}{secret}@{host}{path}")
        }
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_start_no_program_are_pushed_to() {
        for url in [
            "https://git.example/tea.git",
            "ssh://git@git.example:22/tea.git",
            "git@git.example:tea.git",
            "/srv/git/tea.git",
            "file:///srv/git/tea.git",
        ] {
            assert!(is_plain(url), "{url}");
        }
        for url in [
            "ext::sh -c touch% x",
            "fd::3",
            "../tea.git",
            "tea.git",
            "persistent-https://git.example/x",
            "-oProxyCommand=x",
            "ssh://-oProxyCommand=x/tea",
            "ssh://git@-oProxyCommand=x/tea",
            "git@-oProxyCommand=x:tea",
            "https://git.example/a\nb",
            "",
        ] {
            assert!(!is_plain(url), "{url:?}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        for (url, shown) in [
            (
                "https://mika:leaf@git.example/tea@x.git",
                "https://mika:***@git.example/tea@x.git",
            ),
            (
                "https://mika@git.example/tea.git",
                "https://mika@git.example/tea.git",
            ),
            ("git@git.example:tea.git", "git@git.example:tea.git"),
            (
                "https://git.example/tea:green.git",
                "https://git.example/tea:green.git",
            ),
        ] {
            assert_eq!(masked(url), shown);
        }
    }
}
