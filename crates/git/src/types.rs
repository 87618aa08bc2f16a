//! The messages of the group.

use bobbin_native_wire::handshake::types::ClientRequestId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `git/status`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitStatusParams {
    /// The Thread whose folder is meant; the workspace when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
}

/// Result of `git/status`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitStatusResult {
    /// Whether git can be asked here.
    pub repository: bool,
    /// Why git cannot be asked, in git's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The branch; absent where no branch is checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit that is checked out, in hexadecimal; absent before the first commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The branch that it follows, as `origin/main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// Commits that the upstream lacks.
    pub ahead: u64,
    /// Commits of the upstream that are missing here.
    pub behind: u64,
    /// The changed files in the folder, sorted by path. At most 2,000.
    pub files: Vec<GitFile>,
    /// Whether there are more.
    pub truncated: bool,
}

/// A file that has changed since the last commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitFile {
    /// Its path, relative to the folder.
    pub path: String,
    /// Its change.
    pub state: GitFileState,
    /// Whether a part of the change, or all of it, is staged.
    pub staged: bool,
}

/// The change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GitFileState {
    /// Git will know it from the next commit on.
    Added,
    /// Its content or mode is another one.
    Modified,
    /// It is gone.
    Deleted,
    /// Git does not know it.
    Untracked,
    /// A merge has to be settled in it.
    Conflicted,
}

/// Parameters of `git/diff`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitDiffParams {
    /// The Thread whose folder is meant; the workspace when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The branch to compare with, by its full name (`refs/heads/main`); the last commit when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The files to compare, relative to the folder; all when empty. At most 2,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

/// Result of `git/diff`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitDiffResult {
    /// Unified diff, git style, paths relative to the folder. Files that git does not know are in it, 40 of them at most.
    /// Empty when it would be longer than 4 MiB: ask for fewer files. Files that may have secrets, or that a rule refuses, are not in it.
    pub diff: String,
    /// Whether something is left out.
    pub truncated: bool,
}

/// Parameters of `git/branches`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitBranchesParams {
    /// The Thread whose folder is meant; the workspace when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
}

/// Result of `git/branches`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitBranchesResult {
    /// The branches, local and remote, by their newest commits. At most 500.
    pub branches: Vec<GitBranch>,
}

/// A branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitBranch {
    /// Its full name, as `refs/heads/main` or `refs/remotes/origin/main`.
    pub name: String,
    /// Its short name, as `main` or `origin/main`.
    pub label: String,
    /// Whether it is checked out.
    pub current: bool,
}

/// Parameters of `git/commit`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitCommitParams {
    /// The Thread whose folder is meant; the workspace when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The message, 1 to 16,384 bytes.
    pub message: String,
    /// The files whose changes are committed, relative to the folder. 1 to 2,000.
    pub paths: Vec<String>,
    /// Extension: makes a repeated request safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_request_id: Option<ClientRequestId>,
}

/// Parameters of `git/apply`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitApplyParams {
    /// The Thread whose folder is meant; the workspace when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// A unified diff, git style, paths relative to the folder: files of `git/diff` or of a Turn's diff as they are, or
    /// the lines before a file's first hunk with some of its hunks. 1 byte to 4 MiB.
    pub patch: String,
    /// Whether the diff is taken back, and not made.
    pub reverse: bool,
    /// Extension: makes a repeated request safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `git/apply`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GitApplyResult {}

/// Parameters of `git/fetch/plan`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitFetchPlanParams {
    /// The Thread whose folder is meant; the workspace when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The remote; `origin` when left out, or the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
}

/// The place that a fetch reads, as a user should see it before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitFetchPlan {
    /// The remotes, by name.
    pub remotes: Vec<String>,
    /// The chosen one.
    pub remote: String,
    /// Its address, as git would use it. A password in it is shown as `***`.
    pub url: String,
}

/// Parameters of `git/fetch`: what the user has seen in the plan. Nothing is fetched when the address is another one now.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitFetchParams {
    /// The Thread whose folder is meant; the workspace when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// `remote` of the plan.
    pub remote: String,
    /// `url` of the plan.
    pub url: String,
    /// Extension: makes a repeated request safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `git/fetch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitFetchResult {
    /// Commits of the branch's upstream that the branch lacks now.
    pub behind: u64,
}

/// Parameters of `git/fastForward`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitFastForwardParams {
    /// The Thread whose folder is meant; the workspace when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// Extension: makes a repeated request safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `git/fastForward`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitFastForwardResult {
    /// The commit that is checked out now, in hexadecimal.
    pub head: String,
}

/// Parameters of `git/push/plan`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitPushPlanParams {
    /// The Thread whose folder is meant; the workspace when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The remote; `origin` when left out, or the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
}

/// The content and the place of a push, as a user should see them before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitPushPlan {
    /// The remotes, by name.
    pub remotes: Vec<String>,
    /// The chosen one.
    pub remote: String,
    /// Its address for pushes, as git would use it. A password in it is shown as `***`.
    pub url: String,
    /// The branch, here and there.
    pub branch: String,
    /// The commit that is pushed, in hexadecimal.
    pub head: String,
    /// Commits that no known branch of the remote has.
    pub count: u64,
    /// The newest of them, a line each: the short name and the first line of the message. At most 50.
    pub commits: Vec<String>,
}

/// Parameters of `git/push`: what the user has seen in the plan. Nothing is pushed when any of it is another one now.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitPushParams {
    /// The Thread whose folder is meant; the workspace when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// `remote` of the plan.
    pub remote: String,
    /// `url` of the plan.
    pub url: String,
    /// `branch` of the plan.
    pub branch: String,
    /// `head` of the plan.
    pub head: String,
    /// Extension: makes a repeated request safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `git/push`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitPushResult {
    /// The output of git and the remote, at most 64 KiB.
    pub output: String,
}

/// Result of `git/commit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitCommitResult {
    /// The commit, in hexadecimal.
    pub commit: String,
    /// The output of the hooks, at most 64 KiB.
    pub output: String,
}

/// Parameters of `git/pullRequest/plan`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitPullRequestPlanParams {
    /// The Thread whose folder is meant; the workspace when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The remote; `origin` when left out, or the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
}

/// The place of a pull request and a draft of its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitPullRequestPlan {
    /// The remote.
    pub remote: String,
    /// The program that would send it: the one that the user is signed in with at this host.
    pub tool: GitPullRequestTool,
    /// The repository there, as `github.com/shop/tea`.
    pub repository: String,
    /// The branch with the commits.
    pub branch: String,
    /// The branch that they would go to, if the repository knows which one is usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Whether the remote has the branch as it is here.
    pub pushed: bool,
    /// A title, from the commits. Empty where there is none.
    pub title: String,
    /// A text, from the commits.
    pub body: String,
}

/// A program that sends pull requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GitPullRequestTool {
    /// GitHub's client.
    Gh,
    /// GitLab's client.
    Glab,
}

/// Parameters of `git/pullRequest`: what the user has seen and written. Nothing is sent when the branch or the repository is
/// another one now.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitPullRequestParams {
    /// The Thread whose folder is meant; the workspace when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// `remote` of the plan.
    pub remote: String,
    /// `repository` of the plan.
    pub repository: String,
    /// `branch` of the plan.
    pub branch: String,
    /// The branch that the commits should go to.
    pub base: String,
    /// The title, 1 to 500 bytes.
    pub title: String,
    /// The text, at most 60 KiB.
    pub body: String,
    /// Extension: makes a repeated request safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `git/pullRequest`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitPullRequestResult {
    /// The output of the program, at most 64 KiB.
    pub output: String,
    /// The address of the pull request, if the output names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}
