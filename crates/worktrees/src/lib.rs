//! `worktree/*`: a Thread can have a worktree of git and a branch of its own (07 §8.5).
//!
//! A worktree lies in the workspace's state directory. The Thread's configuration names it, so that its subagents and its
//! copies work there too, and a record lies beside it, which outlives the Thread. The sandbox lets a command that runs in a
//! worktree write the worktree and what a commit changes in the repository, and nothing of the workspace.

mod handlers;
mod records;
mod repository;
pub mod types;

use std::path::PathBuf;
use std::sync::Arc;

use bobbin_native::group::page::Page;
use bobbin_native::group::{Group, rows};
use bobbin_native::groups::thread::LOOSENING;
use bobbin_tools::Git;
use tokio::sync::{Mutex, Semaphore};

use records::Records;
use repository::Repository;
use types::{
    WorktreeApplyParams, WorktreeApplyResult, WorktreeCreateAndForkParams, WorktreeCreateAndStartParams,
    WorktreeCreateResult, WorktreeListParams, WorktreeListResult, WorktreeRemoveParams, WorktreeRemoveResult,
    WorktreeStatusParams, WorktreeStatusResult,
};

/// Most looks at worktrees at once; others wait.
const AT_ONCE: usize = 2;

/// The worktrees of the workspace. Cheap to clone.
#[derive(Clone)]
pub struct Worktrees {
    git: Git,
    workspace: PathBuf,
    records: Records,
    looks: Arc<Semaphore>,
    /// One worktree is made or removed at a time: git locks the repository for it anyway.
    changes: Arc<Mutex<()>>,
}

impl Worktrees {
    /// Returns the worktrees of a workspace, given by real name, that lie in `directory`.
    pub fn new(git: Git, workspace: PathBuf, directory: PathBuf) -> Self {
        Self {
            git,
            workspace,
            records: Records(directory),
            looks: Arc::new(Semaphore::new(AT_ONCE)),
            changes: Arc::default(),
        }
    }

    /// Returns the repository of the workspace, as of now.
    fn repository(&self) -> Option<Repository> {
        Repository::of(&self.workspace)
    }
}

/// The groups of this crate.
pub static GROUPS: &[&Group] = &[&GROUP];

static GROUP: Group = Group {
    methods: rows! {
        Page::new("worktrees", "Worktrees"), Some("gitWorktrees");
        request "worktree/createAndStart" (WorktreeCreateAndStartParams => WorktreeCreateResult)
            [] wait_with(of Worktrees) handlers::create_and_start, needs Approve:
            "Makes a worktree on a branch of its own, and a Thread that works in it.", members LOOSENING,
            spec "07 §8.5", test "server/worktrees: a_thread_works_and_commits_in_its_worktree",
            partial "without `path`; uncommitted changes are copied as unstaged ones; where the workspace is itself a \
                worktree or a submodule there is no `gitWorktrees`";
        request "worktree/createAndFork" (WorktreeCreateAndForkParams => WorktreeCreateResult)
            [ThreadNotFound, TurnNotFound] wait_with(of Worktrees) handlers::create_and_fork, needs Approve:
            "Makes a worktree on a branch of its own, and a copy of a Thread that works in it.", members LOOSENING,
            spec "07 §8.5", test "server/worktrees: a_copy_starts_from_the_worktree_of_its_original",
            partial "as `worktree/createAndStart`";
        request "worktree/list" (WorktreeListParams => WorktreeListResult)
            [] wait_with(of Worktrees) handlers::list, needs Read:
            "Lists the worktrees of Threads with their state.", spec "07 §8.5",
            test "server/worktrees: a_deleted_thread_leaves_its_worktree";
        request "worktree/status" (WorktreeStatusParams => WorktreeStatusResult)
            [ThreadNotFound] wait_with(of Worktrees) handlers::status, needs Read:
            "Returns the state of a Thread's worktree: whether it exists, and what is not committed or not in its base.",
            spec "07 §8.5", test "server/worktrees: a_thread_works_and_commits_in_its_worktree";
        request "worktree/apply" (WorktreeApplyParams => WorktreeApplyResult)
            [ThreadNotFound, TurnInProgress] wait_with(of Worktrees) handlers::apply, needs Approve:
            "Extension: makes in the workspace what a Thread has changed in its worktree, as uncommitted changes.",
            test "server/worktrees: the_work_of_one_of_several_worktrees_is_taken",
            note "commits and uncommitted changes since the worktree was made, all of it or nothing. A file that has \
                changed otherwise in the same lines in the workspace is a reason to refuse; the worktree remains";
        request "worktree/remove" (WorktreeRemoveParams => WorktreeRemoveResult)
            [ThreadNotFound, TurnInProgress] wait_with(of Worktrees) handlers::remove, needs Own:
            "Extension: removes the worktree of a Thread, and its branch if that has no commits of its own.",
            test "server/worktrees: work_that_would_be_lost_is_removed_only_by_force",
            note "with uncommitted changes or commits of its own only with `force`, and never while a Turn runs in it. \
                A branch with commits remains";
    },
    capabilities: |server, capabilities| {
        let worktrees = server.services().others.get::<Worktrees>();
        let has_repository = worktrees.is_some_and(|worktrees| worktrees.repository().is_some());
        // Undo says whether the server found git.
        capabilities.git_worktrees = has_repository && server.threads().settings().undo.is_some();
    },
    ..Group::EMPTY
};
