//! The settings of the core, fixed at its start.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_model::{ApprovalPolicy, Need, ThreadConfig, TurnFeatures, Worktree};
use parking_lot::Mutex;

use crate::Limits;
use bobbin_agent_api::client::ThreadClients;
use bobbin_agent_api::policy::{NoRules, Policy};
use bobbin_agent_api::tool::{OutsideWorkspace, ToolEnvironment};
use bobbin_agent_api::undo::Undo;

/// Tools whose effects outlive a Turn and have the rights of the server's owner: jobs run later in nobody's name.
const TOOLS_OF_OWNERS: [&str; 1] = ["Cron"];
/// Most symbolic links on the way to a folder, like the system's own limit.
const MAX_LINKS: usize = 40;

/// Most subagents that a Thread may ever have had; nobody reads more.
pub const MAX_CHILDREN: u32 = 1000;

/// Limits of subagents. The defaults are guesses at what a user can follow and a provider serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubAgentLimits {
    /// Depth of the tree; 0 means no subagents (05 §10.2: 1).
    pub depth: u32,
    /// Open subagents of one Thread.
    pub open: usize,
    /// Running subagents of one Turn.
    pub running: usize,
    /// Running subagents of the whole workspace.
    pub in_workspace: usize,
}

impl Default for SubAgentLimits {
    fn default() -> Self {
        Self {
            depth: 1,
            open: 16,
            running: 4,
            in_workspace: 16,
        }
    }
}

/// The policy of Threads without their own. It can change while Threads run. Clones share it.
#[derive(Clone, Default)]
pub struct SharedPolicy(Arc<Mutex<DefaultPolicy>>);

/// The facts that decide the policy of a Thread without its own.
#[derive(Default)]
struct DefaultPolicy {
    /// The configured policy; `None` if it depends on who starts a Turn.
    configured: Option<ApprovalPolicy>,
    /// Whether the configuration sets a policy.
    is_set: bool,
    /// Whether nothing in the folder waits for trust.
    nothing_waits: bool,
    /// Reports whether bubblewrap confines commands here.
    confines: Option<Confines>,
}

/// Reports whether commands are confined, as far as known.
pub type Confines = Arc<dyn Fn() -> bool + Send + Sync>;

impl SharedPolicy {
    /// Returns the present policy of Turns that no person has started: of schedules, chats and scripts.
    pub fn get(&self) -> ApprovalPolicy {
        self.0.lock().configured.unwrap_or_default()
    }

    /// Returns the present policy of a Turn that a person has started. If none is configured and nothing in the folder waits
    /// for trust, sandboxed commands run without a question.
    pub fn for_person(&self) -> ApprovalPolicy {
        let policy = self.0.lock();
        match (policy.configured, &policy.confines) {
            (Some(configured), _) => configured,
            (None, Some(confines)) if policy.nothing_waits && confines() => ApprovalPolicy::Sandboxed,
            (None, _) => ApprovalPolicy::Default,
        }
    }

    /// Whether bubblewrap confines commands, as far as known.
    pub fn confines(&self) -> bool {
        let confines = self.0.lock().confines.clone();
        confines.is_some_and(|confines| confines())
    }

    /// Whether the configuration sets a policy for calls that no rule is about.
    pub fn is_set(&self) -> bool {
        self.0.lock().is_set
    }

    /// Sets the configured policy for later calls. `None` with `is_set` means that it depends on who starts a Turn.
    pub fn set(&self, configured: Option<ApprovalPolicy>, is_set: bool) {
        let mut policy = self.0.lock();
        (policy.configured, policy.is_set) = (configured, is_set);
    }

    /// Sets whether nothing in the folder waits for trust.
    pub fn set_nothing_waits(&self, nothing_waits: bool) {
        self.0.lock().nothing_waits = nothing_waits;
    }

    /// Sets the function that reports whether bubblewrap confines commands.
    pub fn set_confines(&self, confines: Confines) {
        self.0.lock().confines = Some(confines);
    }
}

impl fmt::Debug for SharedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedPolicy").field(&self.get()).finish()
    }
}

impl From<ApprovalPolicy> for SharedPolicy {
    fn from(policy: ApprovalPolicy) -> Self {
        let shared = Self::default();
        shared.set(Some(policy), true);
        shared
    }
}

/// Settings of [`crate::Threads`].
#[derive(Debug, Clone)]
pub struct Settings {
    /// The workspace, absolute and free of symbolic links.
    pub workspace: PathBuf,
    /// Policy of Threads without their own.
    pub approval_policy: SharedPolicy,
    /// Paths outside of the workspace, for Threads without their own setting: `true` asks, `false` refuses.
    pub ask_outside_workspace: bool,
    /// Time after which an unanswered Approval is declined.
    pub approval_max_wait: Duration,
    /// Longest time until streamed text is stored.
    pub checkpoint_interval: Duration,
    /// Most bytes of streamed text that are not stored.
    pub checkpoint_bytes: usize,
    /// Time after which an unused Thread is unloaded.
    pub unload_after: Duration,
    /// Time after which an interrupted engine is aborted.
    pub cancel_grace: Duration,
    /// Bound of each Thread's log and of the workspace's.
    pub log: Limits,
    /// The rules of users.
    pub policy: Arc<dyn Policy>,
    /// Limits of subagents.
    pub sub_agents: SubAgentLimits,
    /// Undoes file changes of Turns, if the server can do that.
    pub undo: Option<Arc<dyn Undo>>,
    /// The directory with the worktrees of Threads, absolute and free of symbolic links.
    pub worktrees: Option<PathBuf>,
}

impl Settings {
    /// Returns the defaults for a workspace: the values of the design.
    pub fn new(workspace: PathBuf) -> Self {
        Self {
            workspace,
            approval_policy: SharedPolicy::default(),
            ask_outside_workspace: true,
            approval_max_wait: Duration::from_hours(24),
            checkpoint_interval: Duration::from_millis(250),
            checkpoint_bytes: 16 << 10,
            unload_after: Duration::from_mins(1),
            cancel_grace: Duration::from_secs(3),
            log: Limits::default(),
            policy: Arc::new(NoRules),
            sub_agents: SubAgentLimits::default(),
            undo: None,
            worktrees: None,
        }
    }

    /// Returns the approval policy of a Thread for a Turn with these features. `Default` stands for `Ask`, which is never
    /// returned. In a Turn of a person who does not own the server nothing runs unconfined without an answer.
    pub fn approval_policy_of(&self, config: Option<&ThreadConfig>, turn: &TurnFeatures) -> ApprovalPolicy {
        let policy = match config.and_then(|config| config.approval_policy) {
            None | Some(ApprovalPolicy::Default) if turn.person => self.approval_policy.for_person(),
            None | Some(ApprovalPolicy::Default) => self.approval_policy.get(),
            Some(ApprovalPolicy::Ask) => ApprovalPolicy::Default,
            Some(policy) => policy,
        };
        if turn.actor.may(Need::Own) {
            policy
        } else {
            policy.stricter(ApprovalPolicy::Sandboxed)
        }
    }

    /// Returns the real path of a Thread's folder, unless a link in the workspace leads out of it: commands can replace
    /// anything they may write by such a link.
    fn folder(&self, path: &str) -> Option<PathBuf> {
        match self.follow(Path::new(path)) {
            Ok(Some(real)) => Some(real),
            Ok(None) => {
                tracing::warn!(
                    path,
                    "a thread's folder is a link out of the workspace, and not followed"
                );
                None
            }
            Err(error) => {
                tracing::warn!(path, %error, "a thread's folder cannot be found");
                None
            }
        }
    }

    fn follow(&self, path: &Path) -> std::io::Result<Option<PathBuf>> {
        let parts = |path: &Path| -> Vec<OsString> {
            let parts = path.components().rev();
            parts.map(|part| part.as_os_str().to_owned()).collect()
        };
        let mut left = parts(&std::path::absolute(path)?);
        let (mut real, mut links, mut is_led) = (PathBuf::new(), 0, false);
        while let Some(part) = left.pop() {
            if part == ".." {
                real.pop();
                continue;
            }
            // A root replaces the path so far.
            let next = real.join(&part);
            let Ok(target) = std::fs::read_link(&next) else {
                real = next;
                continue;
            };
            links += 1;
            if links > MAX_LINKS {
                return Err(std::io::ErrorKind::TooManyLinks.into());
            }
            is_led |= real.starts_with(&self.workspace);
            left.extend(parts(&target));
        }
        std::fs::metadata(&real)?;
        Ok((!is_led || real.starts_with(&self.workspace)).then_some(real))
    }

    /// Returns the folder of a Thread in its worktree. A missing worktree is no reason to work in the workspace.
    fn folder_of_worktree(&self, worktree: &Worktree) -> Option<PathBuf> {
        let directory = self.worktrees.as_ref()?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        if worktree.id.is_empty() || !worktree.id.chars().all(is_plain) {
            return None;
        }
        let top = directory.join(&worktree.id);
        // Commands can replace a folder in the worktree by a link.
        let folder = Path::new(&worktree.workspace_path).canonicalize();
        Some(
            folder
                .ok()
                .filter(|folder| folder.starts_with(&top))
                .unwrap_or(top),
        )
    }

    /// Returns the rules of a Turn.
    fn policy_of(&self, turn: &TurnFeatures) -> Arc<dyn Policy> {
        if turn.allow.is_empty() {
            return self.policy.clone();
        }
        // The rules were checked when the Turn started, but perhaps by another version.
        self.policy.allowing(&turn.allow).unwrap_or_else(|why| {
            tracing::warn!(why, "the rules of a turn are not used");
            self.policy.clone()
        })
    }

    /// Returns the directory and the rules of a Thread's calls. The directory is the workspace if the Thread has no valid
    /// folder of its own.
    pub fn environment_of(&self, config: Option<&ThreadConfig>, turn: &TurnFeatures) -> ToolEnvironment {
        let approvals = self.approval_policy_of(config, turn);
        let mut config = config.cloned().unwrap_or_default();
        if !turn.actor.may(Need::Own) {
            let denied = config.tool_deny_list.get_or_insert_default();
            denied.extend(TOOLS_OF_OWNERS.map(str::to_owned));
        }
        let root = config
            .workspace_override
            .as_deref()
            .and_then(|path| self.folder(path));
        let worktree = || self.folder_of_worktree(config.worktree.as_ref()?);
        let root = root.or_else(worktree).unwrap_or_else(|| self.workspace.clone());
        let ask = config
            .require_approval_outside_workspace
            .unwrap_or(self.ask_outside_workspace);
        ToolEnvironment {
            root,
            mode: config.mode(),
            outside_workspace: if ask {
                OutsideWorkspace::Ask
            } else {
                OutsideWorkspace::Refuse
            },
            config: Arc::new(config),
            policy: self.policy_of(turn),
            approvals,
            clients: ThreadClients::default(),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_turn_of_another_person_is_confined_and_makes_no_jobs() {
        use bobbin_model::{Actor, Person, Role};
        let settings = Settings {
            approval_policy: ApprovalPolicy::AutoApprove.into(),
            ..Settings::new("/w".into())
        };
        let by = |role| TurnFeatures {
            actor: Actor::Person(Box::new(Person {
                name: "ana".to_owned(),
                role,
                device: None,
            })),
            ..TurnFeatures::default()
        };
        let refusing = ThreadConfig {
            approval_policy: Some(ApprovalPolicy::Refuse),
            ..ThreadConfig::default()
        };
        for (role, policy, has_jobs) in [
            (Role::Author, ApprovalPolicy::Sandboxed, false),
            (Role::Approver, ApprovalPolicy::Sandboxed, false),
            (Role::Owner, ApprovalPolicy::AutoApprove, true),
        ] {
            let environment = settings.environment_of(None, &by(role));
            assert_eq!(environment.approvals, policy, "{role:?}");
            assert_eq!(environment.config.offers("Cron"), has_jobs, "{role:?}");
            let strict = settings.approval_policy_of(Some(&refusing), &by(role));
            assert_eq!(strict, ApprovalPolicy::Refuse);
        }
        assert_eq!(
            settings.environment_of(None, &TurnFeatures::default()).approvals,
            ApprovalPolicy::AutoApprove
        );
    }

    #[test]
    fn a_thread_asks_whatever_is_configured_if_it_says_so() {
        use ApprovalPolicy::{Ask, AutoApprove, Default, Sandboxed};
        let settings = Settings {
            approval_policy: AutoApprove.into(),
            ..Settings::new("/w".into())
        };
        let person = TurnFeatures {
            person: true,
            ..TurnFeatures::default()
        };
        for turn in [person, TurnFeatures::default()] {
            for (own, in_force) in [
                (None, AutoApprove),
                (Some(Default), AutoApprove),
                (Some(Ask), Default),
                (Some(Sandboxed), Sandboxed),
            ] {
                let config = ThreadConfig {
                    approval_policy: own,
                    ..ThreadConfig::default()
                };
                assert_eq!(settings.approval_policy_of(Some(&config), &turn), in_force);
            }
        }
        assert_eq!(Default.of_thread(), Ask);
    }

    #[test]
    fn a_threads_folder_inside_the_workspace_is_not_followed_out_of_it() {
        let place = tempfile::tempdir().unwrap();
        let place = std::fs::canonicalize(place.path()).unwrap();
        let (work, outside) = (place.join("work"), place.join("outside"));
        for made in [work.join("sub"), outside.clone()] {
            std::fs::create_dir_all(made).unwrap();
        }
        symlink(&outside, work.join("left")).unwrap();
        symlink("sub", work.join("stays")).unwrap();
        symlink(&work, place.join("alias")).unwrap();
        let settings = Settings::new(work.clone());
        let root = |folder: &Path| {
            let config = ThreadConfig {
                workspace_override: Some(folder.to_string_lossy().into_owned()),
                ..ThreadConfig::default()
            };
            settings
                .environment_of(Some(&config), &TurnFeatures::default())
                .root
        };
        assert_eq!(root(&work.join("sub")), work.join("sub"));
        assert_eq!(root(&work.join("stays")), work.join("sub"));
        assert_eq!(root(&outside), outside);
        assert_eq!(root(&work.join("left")), work);
        assert_eq!(root(&place.join("alias/left")), work);
        assert_eq!(root(&place.join("alias/sub")), work.join("sub"));
        symlink(work.join("left"), place.join("to-the-link")).unwrap();
        assert_eq!(root(&place.join("to-the-link")), work);
        assert_eq!(root(&work.join("../outside")), outside);
        assert_eq!(root(&work.join("left/../outside")), work);
        symlink("round", work.join("round")).unwrap();
        assert_eq!(root(&work.join("round")), work);
        assert_eq!(root(&work.join("nowhere")), work);
    }

    #[test]
    fn a_thread_works_in_its_worktree_or_nowhere() {
        let place = tempfile::tempdir().unwrap();
        let place = std::fs::canonicalize(place.path()).unwrap();
        let (work, trees) = (place.join("work"), place.join("trees"));
        for made in [work.clone(), trees.join("a/leaf"), place.join("outside")] {
            std::fs::create_dir_all(made).unwrap();
        }
        symlink(place.join("outside"), trees.join("a/left")).unwrap();
        let settings = Settings {
            worktrees: Some(trees.clone()),
            ..Settings::new(work.clone())
        };
        let root = |id: &str, folder: &Path| {
            let text = |path: &Path| path.to_string_lossy().into_owned();
            let worktree = Worktree {
                id: id.to_owned(),
                source_thread_id: String::new(),
                workspace_path: text(folder),
                source_workspace_path: text(&work),
                path: text(&trees.join(id)),
                branch_name: String::new(),
                base_ref: String::new(),
                base_head: String::new(),
                head: String::new(),
                created_at: String::new(),
                dirty_handoff: None,
            };
            let config = ThreadConfig {
                worktree: Some(Box::new(worktree)),
                ..ThreadConfig::default()
            };
            settings
                .environment_of(Some(&config), &TurnFeatures::default())
                .root
        };
        let own = trees.join("a");
        assert_eq!(root("a", &own), own);
        assert_eq!(root("a", &own.join("leaf")), own.join("leaf"));
        for elsewhere in [
            own.join("left"),
            own.join("none"),
            place.join("outside"),
            work.clone(),
        ] {
            assert_eq!(root("a", &elsewhere), own, "{elsewhere:?}");
        }
        assert_eq!(root("gone", &trees.join("gone")), trees.join("gone"));
        assert_eq!(root("../outside", &place.join("outside")), work);
    }
}
