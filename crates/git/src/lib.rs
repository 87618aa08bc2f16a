//! `git/*`: the state of the workspace's git repository, what has changed in it, and commits.
//!
//! A push and a fetch run outside of the sandbox, see `remote`, and so does what sends a pull request, see `proposal`.
//!
//! These are acts of the user, so no Thread records them. A commit needs the right to answer approvals: a user who may allow
//! a command in the sandbox may make one. Git runs as [`bobbin_tools::Git`] says: it reads in a
//! sandbox without write access and network, and commits in the sandbox of commands, with the hooks of the repository.

mod fetch;
mod handlers;
mod proposal;
mod push;
mod remote;
mod repository;
mod status;
pub mod types;

use std::sync::Arc;

use bobbin_native::group::page::Page;
use bobbin_native::group::{Group, rows};
use bobbin_tools::Git;
use tokio::sync::Semaphore;

use types::{
    GitApplyParams, GitApplyResult, GitBranchesParams, GitBranchesResult, GitCommitParams, GitCommitResult,
    GitDiffParams, GitDiffResult, GitFastForwardParams, GitFastForwardResult, GitFetchParams, GitFetchPlan,
    GitFetchPlanParams, GitFetchResult, GitPullRequestParams, GitPullRequestPlan, GitPullRequestPlanParams,
    GitPullRequestResult, GitPushParams, GitPushPlan, GitPushPlanParams, GitPushResult, GitStatusParams,
    GitStatusResult,
};

/// Most questions to git at once for all clients; others wait.
const READS: usize = 2;
/// Most runs of git that write at once for all clients; others are refused.
const WRITES: usize = 1;

/// The repositories of the workspace. Cheap to clone.
#[derive(Clone)]
pub struct Repositories {
    git: Git,
    reads: Arc<Semaphore>,
    writes: Arc<Semaphore>,
}

impl Repositories {
    /// Returns a value that asks `git`.
    pub fn new(git: Git) -> Self {
        Self {
            git,
            reads: Arc::new(Semaphore::new(READS)),
            writes: Arc::new(Semaphore::new(WRITES)),
        }
    }
}

/// The groups of this crate.
pub static GROUPS: &[&Group] = &[&GROUP];

static GROUP: Group = Group {
    methods: rows! {
        Page::new("git", "Git"), Some("extensions.git");
        request "git/status" (GitStatusParams => GitStatusResult)
            [ThreadNotFound] wait_with(of Repositories) handlers::status, needs Read:
            "Extension: says on which branch the workspace is, and which files have changed since the last commit.",
            test "server/git: a_change_is_seen_compared_and_committed";
        request "git/diff" (GitDiffParams => GitDiffResult)
            [ThreadNotFound] wait_with(of Repositories) handlers::diff, needs Read:
            "Extension: compares the files with the last commit, or with where they left another branch.",
            test "server/git: a_change_is_seen_compared_and_committed";
        request "git/branches" (GitBranchesParams => GitBranchesResult)
            [ThreadNotFound] wait_with(of Repositories) handlers::branches, needs Read:
            "Extension: lists the branches, the newest first.",
            test "server/git: a_change_is_seen_compared_and_committed";
        request "git/commit" (GitCommitParams => GitCommitResult)
            [ThreadNotFound] wait_with(of Repositories) handlers::commit, needs Approve:
            "Extension: commits the changes of some files, and of no others. Hooks of the repository run in the sandbox.",
            test "server/git: a_change_is_seen_compared_and_committed";
        request "git/apply" (GitApplyParams => GitApplyResult)
            [ThreadNotFound] wait_with(of Repositories) handlers::apply, needs Approve:
            "Extension: takes changes of files back, by file or by hunk, or makes them again. A file that has changed since is left alone.",
            test "server/git: changes_are_taken_back_by_file_and_by_hunk";
        request "git/fetch/plan" (GitFetchPlanParams => GitFetchPlan)
            [ThreadNotFound] wait_with(of Repositories) handlers::fetch_plan, needs Own:
            "Extension: says where `git/fetch` would read.",
            test "server/git: a_remote_is_fetched_and_the_branch_follows_it",
            unplayed "the address of a remote differs from one machine to the next";
        request "git/fetch" (GitFetchParams => GitFetchResult)
            [ThreadNotFound] wait_with(of Repositories) handlers::fetch, needs Own:
            "Extension: fetches the branches of a remote, outside of the sandbox and with the user's keys. A client asks its user first.",
            test "server/git: a_remote_is_fetched_and_the_branch_follows_it",
            unplayed "the address of a remote differs from one machine to the next";
        request "git/fastForward" (GitFastForwardParams => GitFastForwardResult)
            [ThreadNotFound] wait_with(of Repositories) handlers::fast_forward, needs Approve:
            "Extension: moves the branch to the commit of its upstream, if it has none of its own.",
            test "server/git: a_remote_is_fetched_and_the_branch_follows_it",
            unplayed "the address of a remote differs from one machine to the next";
        request "git/push/plan" (GitPushPlanParams => GitPushPlan)
            [ThreadNotFound] wait_with(of Repositories) handlers::push_plan, needs Own:
            "Extension: says what `git/push` would send, and where to.",
            test "server/git: a_commit_is_pushed_as_its_user_has_seen_it",
            unplayed "the address of a remote differs from one machine to the next";
        request "git/push" (GitPushParams => GitPushResult)
            [ThreadNotFound] wait_with(of Repositories) handlers::push, needs Own:
            "Extension: pushes the branch, never by force, outside of the sandbox and with the user's keys. A client asks its user first.",
            test "server/git: a_commit_is_pushed_as_its_user_has_seen_it",
            unplayed "the address of a remote differs from one machine to the next";
        request "git/pullRequest/plan" (GitPullRequestPlanParams => GitPullRequestPlan)
            [ThreadNotFound] wait_with(of Repositories) handlers::pull_request_plan, needs Own:
            "Extension: says where a pull request of the branch would go, with a draft of its text from the commits.",
            test "server/git: a_pull_request_is_sent_as_its_user_has_seen_it",
            unplayed "`gh` and `glab` are on some machines only";
        request "git/pullRequest" (GitPullRequestParams => GitPullRequestResult)
            [ThreadNotFound] wait_with(of Repositories) handlers::pull_request, needs Own:
            "Extension: sends a pull request by `gh` or `glab`, outside of the sandbox and as the user who is signed in there.",
            test "server/git: a_pull_request_is_sent_as_its_user_has_seen_it",
            unplayed "`gh` and `glab` are on some machines only";
    },
    capabilities: |server, capabilities| {
        if server.services().others.get::<Repositories>().is_some() {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.others.insert("git".to_owned(), true.into());
        }
    },
    ..Group::EMPTY
};
