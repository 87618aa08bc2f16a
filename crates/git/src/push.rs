//! Pushes the branch, with the user's keys and the network.

use bobbin_native_wire::RpcError;
use bobbin_tools::GitBounds;

use crate::remote::{Between, check, choose_remote, is_local, masked};
use crate::repository::{Repository, why};
use crate::types::{GitPushParams, GitPushPlan, GitPushResult};

/// Prints the parts of a plan, each with a zero byte behind it.
const PLAN: &str = concat!(
    choose_remote!(),
    "branch=$(git symbolic-ref --short -q HEAD) || { echo 'No branch is checked out.'; exit 1; }; \
     head=$(git rev-parse HEAD) || exit 1; \
     url=$(git remote get-url --push -- \"$remote\") || exit 1; \
     count=$(git rev-list --count HEAD --not --remotes=\"$remote\") || exit 1; \
     printf '%s\\0' \"$names\" \"$remote\" \"$url\" \"$branch\" \"$head\" \"$common\" \"$count\"; \
     git log -50 --no-show-signature --format='%h %s' HEAD --not --remotes=\"$remote\""
);

/// Receives without programs of the other repository.
const RECEIVE: &str = "--receive-pack=git -c core.hooksPath=/dev/null -c core.fsmonitor=false \
                       -c core.alternateRefsCommand=true -c receive.denyCurrentBranch=refuse -c receive.autogc=false \
                       receive-pack";

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
    check(url)?;
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
    let between = Between::new(repository.git.clone(), &common).await?;
    let sent = format!("{}:refs/heads/{}", plan.head, plan.branch);
    let mut words = vec!["push", "--porcelain", "--no-verify"];
    if is_local(&url) {
        // A repository on this machine can be one that a command has made, and its hooks would run here.
        words.push(RECEIVE);
    }
    words.extend(["--", &url, &sent]);
    let pushed = between.run(&words).await?;
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
