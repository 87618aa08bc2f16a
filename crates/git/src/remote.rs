//! A repository of the server's own, between the user's one and a remote.
//!
//! Settings of a repository name programs that a push or a fetch would start: hooks, transports, helpers of credentials,
//! commands of ssh. A cloned folder and the agent's commands can have written them. So the user's repository is only asked,
//! in the sandbox. What talks to the remote is an empty repository of the server's own that has the objects of the other one
//! and none of its settings. It gets an address, and settings of the user alone count.

use std::path::Path;
use std::time::Duration;

use bobbin_native_wire::RpcError;
use bobbin_tools::{Git, GitAnswer, GitBounds};
use tempfile::TempDir;

use crate::repository::{unusable, why};

/// Bounds of what talks to a remote.
pub(crate) const BOUNDS: GitBounds = GitBounds {
    time: Duration::from_mins(5),
    bytes: 64 << 10,
    writes: true,
};

/// Sets `remote` to the first argument, or else to `origin`, or else to the first remote; and `names` and `common`.
macro_rules! choose_remote {
    () => {
        "set -f; remote=$1; names=$(git remote) || exit 1; \
         if [ -z \"$remote\" ]; then for name in $names; do \
         [ -n \"$remote\" ] && [ \"$name\" != origin ] || remote=$name; done; fi; \
         [ -n \"$remote\" ] || { echo 'The repository has no remote.'; exit 1; }; \
         common=$(git rev-parse --path-format=absolute --git-common-dir) || exit 1; "
    };
}
pub(crate) use choose_remote;

/// An empty repository with the objects of another one. It goes away with the value.
pub(crate) struct Between {
    place: TempDir,
    git: Git,
}

impl Between {
    /// Makes one. `common` is the git directory of the other repository.
    pub(crate) async fn new(git: Git, common: &str) -> Result<Self, RpcError> {
        let place = tempfile::tempdir()
            .map_err(|error| RpcError::internal_error(format!("no temporary directory: {error}")))?;
        let between = Self { place, git };
        let made = between.run(&["init", "--quiet", "--bare", "."]).await?;
        if made.code != 0 {
            return Err(RpcError::internal_error(why(&made)));
        }
        let objects = Path::new(common).join("objects");
        between
            .write("objects/info/alternates", &format!("{}\n", objects.display()))
            .await?;
        Ok(between)
    }

    /// Returns its directory.
    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    /// Writes one of its files.
    pub(crate) async fn write(&self, name: &str, text: &str) -> Result<(), RpcError> {
        let written = tokio::fs::write(self.path().join(name), text).await;
        written.map_err(|error| RpcError::internal_error(format!("{name} cannot be written: {error}")))
    }

    /// Runs git in it, outside of the sandbox.
    pub(crate) async fn run(&self, words: &[&str]) -> Result<GitAnswer, RpcError> {
        let always = [
            "-c",
            "protocol.ext.allow=never",
            // Git would start another git in the user's repository for the names there.
            "-c",
            "core.alternateRefsCommand=true",
            "-c",
            "gc.auto=0",
            "-c",
            "maintenance.auto=false",
        ];
        let words = [always.as_slice(), words].concat();
        let done = self.git.outside("git", self.path(), &words, BOUNDS).await;
        done.map_err(|failure| unusable(&failure))
    }
}

/// Returns the host and the path of the repository at an address, without the user and the ending `.git`.
pub(crate) fn place(url: &str) -> Option<(&str, &str)> {
    let (authority, path) = match url.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?,
        None if url.starts_with('/') => return None,
        None => url.split_once(':')?,
    };
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let is_plain = |text: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-._/".contains(c);
        !text.is_empty() && !text.starts_with('-') && text.chars().all(allowed)
    };
    (is_plain(host) && is_plain(path) && path.contains('/')).then_some((host, path))
}

/// Checks that an address starts no program of the repository.
pub(crate) fn check(url: &str) -> Result<(), RpcError> {
    if is_plain(url) {
        return Ok(());
    }
    Err(RpcError::invalid_request(format!(
        "Bobbin does not use the remote {}: only https, ssh and absolute paths are addresses that start no program of the \
         repository.",
        masked(url)
    )))
}

/// Whether an address is that of a repository on this machine.
pub(crate) fn is_local(url: &str) -> bool {
    url.starts_with('/') || url.starts_with("file:")
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
pub(crate) fn masked(url: &str) -> String {
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
    fn only_addresses_that_start_no_program_are_used() {
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
    fn an_address_names_a_host_and_a_repository() {
        for url in [
            "https://mika:leaf@git.example/shop/tea.git",
            "ssh://git@git.example:22/shop/tea.git",
            "git@git.example:shop/tea.git",
            "https://git.example/shop/tea/",
        ] {
            assert_eq!(place(url), Some(("git.example", "shop/tea")), "{url}");
        }
        for url in [
            "/srv/git/tea.git",
            "https://git.example",
            "https://git.example/tea",
            "git@git.example:-x/tea",
            "https://git.example/shop/tea?x=1",
            "https://-git.example/shop/tea",
        ] {
            assert_eq!(place(url), None, "{url}");
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
