//! Pull requests, by the command-line clients of GitHub and GitLab that the user is signed in with.
//!
//! They run outside of the sandbox in an empty directory, so that no file of the repository steers them. They get the
//! repository's name, the branch and the text that the user has seen.

use std::time::Duration;

use bobbin_native_wire::RpcError;
use bobbin_tools::{GitAnswer, GitBounds};

use crate::remote::{BOUNDS, choose_remote, place};
use crate::repository::{Repository, unusable, why};
use crate::types::{GitPullRequestParams, GitPullRequestPlan, GitPullRequestResult, GitPullRequestTool};

/// Bounds of the question whether the user is signed in.
const LOOK: GitBounds = GitBounds {
    time: Duration::from_secs(10),
    ..BOUNDS
};
/// Longest title, bytes.
const MAX_TITLE_BYTES: usize = 500;
/// Longest text, bytes.
const MAX_BODY_BYTES: usize = 60 << 10;

/// Prints the parts of a plan, each with a zero byte behind it: the remote's name, its address, the branch, whether the
/// remote has its commit, and the messages of the commits that the remote's usual branch lacks.
const PLAN: &str = concat!(
    choose_remote!(),
    "branch=$(git symbolic-ref --short -q HEAD) || { echo 'No branch is checked out.'; exit 1; }; \
     url=$(git remote get-url --push -- \"$remote\") || exit 1; \
     head=$(git rev-parse HEAD) || exit 1; \
     there=$(git rev-parse --verify --quiet \"refs/remotes/$remote/$branch\") || there=; \
     pushed=no; [ \"$there\" != \"$head\" ] || pushed=yes; \
     base=$(git rev-parse --abbrev-ref \"$remote/HEAD\" 2>/dev/null) || base=; \
     [ -n \"$base\" ] && [ \"$base\" != \"$remote/HEAD\" ] || for name in main master; do \
     git rev-parse --verify --quiet \"refs/remotes/$remote/$name\" >/dev/null && base=$remote/$name && break; done; \
     printf '%s\\0' \"$remote\" \"$url\" \"$branch\" \"$pushed\" \"${base#\"$remote\"/}\"; \
     [ -z \"$base\" ] || git log -50 --reverse --no-show-signature --format='%s%x00%b%x00' \"$base..HEAD\" --"
);

/// Returns where a pull request would go, and a draft of its text.
pub(crate) async fn plan(
    repository: &Repository,
    remote: Option<&str>,
) -> Result<GitPullRequestPlan, RpcError> {
    let answer = repository
        .ask(PLAN, &[remote.unwrap_or_default()], GitBounds::default())
        .await?;
    let mut parts = answer.text.split('\0');
    let mut next = || parts.next().unwrap_or_default();
    let (remote, url, branch, pushed, base) = (next(), next(), next(), next(), next());
    if answer.code != 0 || branch.is_empty() {
        return Err(RpcError::invalid_request(why(&answer)));
    }
    let Some((host, path)) = place(url) else {
        let text = format!("The remote '{remote}' is at no host of GitHub or GitLab.");
        return Err(RpcError::invalid_request(text));
    };
    let messages: Vec<&str> = parts.map(str::trim).collect();
    let (title, body) = draft(&messages);
    Ok(GitPullRequestPlan {
        remote: remote.to_owned(),
        tool: tool(repository, host).await?,
        repository: format!("{host}/{path}"),
        branch: branch.to_owned(),
        base: Some(base.to_owned()).filter(|base| !base.is_empty()),
        pushed: pushed == "yes",
        title,
        body,
    })
}

/// Makes a title and a text of the subjects and bodies of commits: one commit's own, or the list of several.
fn draft(messages: &[&str]) -> (String, String) {
    let commits: Vec<_> = messages
        .chunks_exact(2)
        .map(|commit| (commit[0], commit[1]))
        .collect();
    match commits.as_slice() {
        [] => (String::new(), String::new()),
        [(subject, body)] => ((*subject).to_owned(), (*body).to_owned()),
        [(subject, _), ..] => {
            let lines: Vec<String> = commits
                .iter()
                .map(|(subject, _)| format!("* {subject}"))
                .collect();
            ((*subject).to_owned(), lines.join("\n"))
        }
    }
}

/// Returns the client that is signed in at a host.
async fn tool(repository: &Repository, host: &str) -> Result<GitPullRequestTool, RpcError> {
    for tool in [GitPullRequestTool::Gh, GitPullRequestTool::Glab] {
        let words = ["auth", "status", "--hostname", host];
        if run(repository, tool, &words, LOOK)
            .await
            .is_ok_and(|answer| answer.code == 0)
        {
            return Ok(tool);
        }
    }
    Err(RpcError::invalid_request(format!(
        "Neither `gh` nor `glab` is signed in at {host}. Use `gh auth login --hostname {host}` on the server's machine."
    )))
}

/// Makes a pull request of a branch that the remote has.
pub(crate) async fn create(
    repository: &Repository,
    seen: &GitPullRequestParams,
) -> Result<GitPullRequestResult, RpcError> {
    if seen.title.trim().is_empty() || seen.title.len() > MAX_TITLE_BYTES || seen.body.len() > MAX_BODY_BYTES
    {
        return Err(RpcError::invalid_params(format!(
            "'title' must have 1 to {MAX_TITLE_BYTES} bytes, and 'body' at most {MAX_BODY_BYTES}."
        )));
    }
    let base = seen.base.trim();
    if base.is_empty() || base.starts_with('-') || base.contains(char::is_whitespace) {
        return Err(RpcError::invalid_params("'base' must be a branch of the remote."));
    }
    let plan = plan(repository, Some(&seen.remote)).await?;
    if plan.repository != seen.repository || plan.branch != seen.branch {
        let text = "The branch or the address has changed since you looked. Look again, then send.";
        return Err(RpcError::invalid_request(text));
    }
    if !plan.pushed {
        return Err(RpcError::invalid_request(
            "The remote does not have the newest commit of the branch. Push it first.",
        ));
    }
    let GitPullRequestPlan {
        tool,
        repository: name,
        branch,
        ..
    } = &plan;
    let (title, body) = (seen.title.trim(), seen.body.as_str());
    let words: &[&str] = match tool {
        GitPullRequestTool::Gh => &[
            "pr", "create", "--repo", name, "--head", branch, "--base", base, "--title", title, "--body",
            body,
        ],
        GitPullRequestTool::Glab => &[
            "mr",
            "create",
            "--repo",
            &format!("https://{name}"),
            "--source-branch",
            branch,
            "--target-branch",
            base,
            "--title",
            title,
            "--description",
            body,
            "--yes",
        ],
    };
    let made = run(repository, *tool, words, BOUNDS).await?;
    let output = made.text.trim().to_owned();
    if made.code != 0 {
        return Err(RpcError::invalid_request(output));
    }
    let url = output
        .split_whitespace()
        .rev()
        .find(|word| word.starts_with("https://"))
        .map(str::to_owned);
    Ok(GitPullRequestResult { output, url })
}

/// Runs a client in an empty directory.
async fn run(
    repository: &Repository,
    tool: GitPullRequestTool,
    words: &[&str],
    bounds: GitBounds,
) -> Result<GitAnswer, RpcError> {
    let place = tempfile::tempdir()
        .map_err(|error| RpcError::internal_error(format!("no temporary directory: {error}")))?;
    let program = match tool {
        GitPullRequestTool::Gh => "gh",
        GitPullRequestTool::Glab => "glab",
    };
    let done = repository.git.outside(program, place.path(), words, bounds).await;
    done.map_err(|failure| unusable(&failure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_the_commits_own_text_or_their_list() {
        let text = |title: &str, body: &str| (title.to_owned(), body.to_owned());
        assert_eq!(draft(&[""]), text("", ""));
        assert_eq!(draft(&["Boil", "At 90.", ""]), text("Boil", "At 90."));
        assert_eq!(
            draft(&["Boil", "At 90.", "Pour", "", ""]),
            text("Boil", "* Boil\n* Pour")
        );
    }
}
