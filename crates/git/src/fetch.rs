//! Fetches the branches of a remote, with the user's keys and the network.

use std::fmt::Write as _;

use bobbin_native_wire::RpcError;
use bobbin_tools::GitBounds;

use crate::remote::{Between, check, choose_remote, masked};
use crate::repository::{Repository, why};
use crate::types::{GitFetchParams, GitFetchPlan, GitFetchResult};

/// Prints the parts of a plan, each with a zero byte behind it, and the commits that are known of the remote.
const PLAN: &str = concat!(
    choose_remote!(),
    "url=$(git remote get-url -- \"$remote\") || exit 1; \
     printf '%s\\0' \"$names\" \"$remote\" \"$url\" \"$common\"; \
     git for-each-ref --count=2000 --sort=-committerdate --format='%(objectname)' \
     \"refs/remotes/$remote\" refs/heads"
);
/// Takes the branches from the server's own repository.
const TAKE: &str = "git -c core.fsmonitor=false -c gc.auto=0 -c maintenance.auto=false fetch --quiet --no-tags \
                    --no-recurse-submodules -- \"$1\" \"+refs/heads/*:refs/remotes/$2/*\"";

/// A plan, with what the client is not shown.
pub(crate) struct Ready {
    pub(crate) plan: GitFetchPlan,
    url: String,
    /// The directory with the objects.
    common: String,
    /// The commits that the remote need not send.
    known: Vec<String>,
}

/// Returns where a fetch would read.
pub(crate) async fn plan(repository: &Repository, remote: Option<&str>) -> Result<Ready, RpcError> {
    let answer = repository
        .ask(PLAN, &[remote.unwrap_or_default()], GitBounds::default())
        .await?;
    let parts: Vec<&str> = answer.text.split('\0').collect();
    let &[names, remote, url, common, known] = parts.as_slice() else {
        return Err(RpcError::invalid_request(why(&answer)));
    };
    check(url)?;
    let is_name = |line: &&str| line.bytes().all(|byte| byte.is_ascii_hexdigit());
    Ok(Ready {
        plan: GitFetchPlan {
            remotes: names.lines().map(str::to_owned).collect(),
            remote: remote.to_owned(),
            url: masked(url),
        },
        url: url.to_owned(),
        common: common.to_owned(),
        known: known.lines().filter(is_name).map(str::to_owned).collect(),
    })
}

/// Fetches from where the user has seen.
pub(crate) async fn fetch(
    repository: &Repository,
    seen: &GitFetchParams,
) -> Result<GitFetchResult, RpcError> {
    let Ready {
        plan,
        url,
        common,
        known,
    } = plan(repository, Some(&seen.remote)).await?;
    if plan.url != seen.url {
        let text = "The address of the remote has changed since you looked. Look again, then fetch.";
        return Err(RpcError::invalid_request(text));
    }
    let between = Between::new(repository.git.clone(), &common).await?;
    // What has a name here is not sent again.
    let mut packed = String::new();
    for (index, commit) in known.iter().enumerate() {
        let _ = writeln!(packed, "{commit} refs/known/{index:04}");
    }
    between.write("packed-refs", &packed).await?;
    let words = [
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-recurse-submodules",
        "--",
        &url,
        "+refs/heads/*:refs/heads/*",
    ];
    let fetched = between.run(&words).await?;
    if fetched.code != 0 {
        return Err(RpcError::invalid_request(
            fetched.text.replace(&url, &plan.url).trim(),
        ));
    }
    let directory = between.path().to_owned();
    let reading = Repository {
        git: repository.git.reading(vec![directory.clone()]),
        root: repository.root.clone(),
        policy: repository.policy.clone(),
    };
    let place = directory.to_string_lossy();
    let taken = reading
        .ask(TAKE, &[&place, &plan.remote], crate::repository::WRITE_BOUNDS)
        .await?;
    if taken.code != 0 {
        return Err(RpcError::invalid_request(taken.text.trim()));
    }
    Ok(GitFetchResult {
        behind: repository.status().await?.behind,
    })
}
