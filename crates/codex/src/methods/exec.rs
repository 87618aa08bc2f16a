//! `command/exec`: the commands of git by which `/diff` shows what has changed, and no others.
//!
//! A client could name any program here, and nobody would be asked. So each command is compared with the list as a whole.

use std::path::Path;
use std::time::Duration;

use bobbin_policy::Shown;
use bobbin_tools::{Git, GitBounds};
use serde_json::{Value, json};

use super::{Answer, Client};
use crate::errors;

/// The first words of every command.
const GIT: [&str; 3] = ["git", "-c", "safe.bareRepository=explicit"];
/// The next words of every command but the one that asks for the watcher of files.
const QUIET: [&str; 4] = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
/// Asks for the watcher of files.
const WATCHER: [&str; 4] = ["config", "--null", "--get", "core.fsmonitor"];
const IN_WORK_TREE: [&str; 2] = ["rev-parse", "--is-inside-work-tree"];
const FILTERS: [&str; 5] = [
    "config",
    "--null",
    "--name-only",
    "--get-regexp",
    r"^filter\..*\.(clean|process)$",
];
const NEW_FILES: [&str; 3] = ["ls-files", "--others", "--exclude-standard"];
const DIFF: [&str; 6] = [
    "diff",
    "--no-textconv",
    "--no-ext-diff",
    "--submodule=short",
    "--ignore-submodules=dirty",
    "--color",
];
/// The words before the path of a new file.
const OF_NEW_FILE: [&str; 3] = ["--no-index", "--", "/dev/null"];

/// Bounds of one command.
const BOUNDS: GitBounds = GitBounds {
    time: Duration::from_secs(30),
    bytes: 8 << 20,
    writes: false,
};

/// Runs one of the commands, without write access and network.
pub(super) async fn run(client: &Client, params: &Value) -> Answer {
    let words: Option<Vec<&str>> = params["command"]
        .as_array()
        .and_then(|words| words.iter().map(Value::as_str).collect());
    let arguments = words.filter(|words| is_served(words));
    let (Some(words), Some(git)) = (arguments, client.offer.services.others.get::<Git>()) else {
        return Err(errors::invalid(
            "this server runs only the commands of git that /diff needs; type ! and a command to run it",
        ));
    };
    let settings = client.threads().settings();
    let root = &settings.workspace;
    if let [.., "/dev/null", path] = words.as_slice() {
        let (path, root, policy) = ((*path).to_owned(), root.clone(), settings.policy.clone());
        let judging = tokio::task::spawn_blocking(move || {
            Shown::of(&root, &*policy)
                .path(&path)
                .map_err(|why| format!("{path} {why}"))
        });
        let judged = judging
            .await
            .map_err(|_| errors::invalid("the file could not be judged"))?;
        judged.map_err(|why| errors::invalid(&why))?;
    }
    if params["cwd"].as_str().is_some_and(|cwd| Path::new(cwd) != root) {
        let root = root.display();
        return Err(errors::invalid(format!("a command runs in {root} only")));
    }
    // Standard output alone: a client reads it as data.
    let answer = git
        .script(root, "exec git \"$@\" 2>/dev/null", &words[1..], BOUNDS)
        .await;
    let answer = answer.map_err(|failure| errors::invalid(failure.to_string()))?;
    Ok(json!({ "exitCode": answer.code, "stdout": answer.text, "stderr": "" }))
}

/// Whether a command is in the list.
fn is_served(words: &[&str]) -> bool {
    let Some(rest) = words.strip_prefix(&GIT) else {
        return false;
    };
    if rest == WATCHER {
        return true;
    }
    let Some(rest) = rest.strip_prefix(&QUIET) else {
        return false;
    };
    if let Some(rest) = rest.strip_prefix(&DIFF) {
        return match rest.strip_prefix(&OF_NEW_FILE) {
            Some([path]) => is_inside(path),
            Some(_) => false,
            None => rest.is_empty(),
        };
    }
    rest == IN_WORK_TREE || rest == FILTERS || rest == NEW_FILES
}

/// Whether a path stays in the folder, as those of [`NEW_FILES`] do.
fn is_inside(path: &str) -> bool {
    let is_name = |part: &str| !matches!(part, "" | "." | "..");
    path.split('/').all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_served_in(line: &str) -> bool {
        is_served(&line.split(' ').collect::<Vec<_>>())
    }

    #[test]
    fn only_the_commands_of_the_list_are_served() {
        let quiet = "git -c safe.bareRepository=explicit -c core.fsmonitor=false -c core.hooksPath=/dev/null";
        let diff = "diff --no-textconv --no-ext-diff --submodule=short --ignore-submodules=dirty --color";
        for line in [
            "git -c safe.bareRepository=explicit config --null --get core.fsmonitor".to_owned(),
            format!("{quiet} rev-parse --is-inside-work-tree"),
            format!(r"{quiet} config --null --name-only --get-regexp ^filter\..*\.(clean|process)$"),
            format!("{quiet} ls-files --others --exclude-standard"),
            format!("{quiet} {diff}"),
            format!("{quiet} {diff} --no-index -- /dev/null src/new.rs"),
        ] {
            assert!(is_served_in(&line), "{line}");
        }
        for line in [
            "git status".to_owned(),
            "sh -c true".to_owned(),
            "git -c safe.bareRepository=explicit rev-parse --is-inside-work-tree".to_owned(),
            "git -c core.fsmonitor=/tmp/x config --null --get core.fsmonitor".to_owned(),
            format!("{quiet} {diff} --output=x"),
            format!("{quiet} {diff} --no-index -- /dev/null ../../etc/shadow"),
            format!("{quiet} {diff} --no-index -- /dev/null /etc/shadow"),
            format!("{quiet} {diff} --no-index -- /etc/shadow src/new.rs"),
            format!("{quiet} {diff} --no-index -- /dev/null a b"),
            format!("{quiet} diff"),
            format!("{quiet} config --null --name-only --get-regexp ."),
        ] {
            assert!(!is_served_in(&line), "{line}");
        }
    }
}
