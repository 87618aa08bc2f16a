//! The settings of the core, given once at the start.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_model::{ApprovalPolicy, ThreadConfig, TurnFeatures};
use parking_lot::Mutex;

use crate::Limits;
use bobbin_agent_api::client::ThreadClients;
use bobbin_agent_api::policy::{NoRules, Policy};
use bobbin_agent_api::tool::{OutsideWorkspace, ToolEnvironment};
use bobbin_agent_api::undo::Undo;

/// Most links on the way to a folder, as with the system's own.
const MAX_LINKS: usize = 40;

/// Most subagents that a Thread may ever have had: more are more than anybody reads.
pub const MAX_CHILDREN: u32 = 1000;

/// How many subagents there may be. Start values are guesses at what a person can follow and a provider serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubAgentLimits {
    /// Steps from the top of a tree; 0 is no subagents (05 §10.2: 1).
    pub depth: u32,
    /// Open subagents of one Thread.
    pub open: usize,
    /// At work at a time in one Turn.
    pub running: usize,
    /// At work at a time in the whole workspace.
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

/// The policy of Threads that name none. It can change while Threads run. Clones share it.
#[derive(Clone, Default)]
pub struct SharedPolicy(Arc<Mutex<DefaultPolicy>>);

/// What decides about the policy of a Thread that names none.
#[derive(Default)]
struct DefaultPolicy {
    /// What the configuration says; `None`: it depends on who starts a Turn.
    configured: Option<ApprovalPolicy>,
    /// Whether the configuration says anything.
    is_set: bool,
    /// Whether nothing in the folder waits for trust.
    nothing_waits: bool,
    /// Says whether bubblewrap confines commands here.
    confines: Option<Confines>,
}

/// Says whether commands are confined, as far as is known now.
pub type Confines = Arc<dyn Fn() -> bool + Send + Sync>;

impl SharedPolicy {
    /// Returns the policy of this moment where no person has started a Turn: schedules, chats, scripts.
    pub fn get(&self) -> ApprovalPolicy {
        self.0.lock().configured.unwrap_or_default()
    }

    /// Returns the policy of this moment for a Turn that a person has started: where nothing is configured, what the sandbox
    /// confines runs unasked, once nothing in the folder waits for trust.
    pub fn for_person(&self) -> ApprovalPolicy {
        let policy = self.0.lock();
        match (policy.configured, &policy.confines) {
            (Some(configured), _) => configured,
            (None, Some(confines)) if policy.nothing_waits && confines() => ApprovalPolicy::Sandboxed,
            (None, _) => ApprovalPolicy::Default,
        }
    }

    /// Whether bubblewrap confines commands, as far as is known now.
    pub fn confines(&self) -> bool {
        let confines = self.0.lock().confines.clone();
        confines.is_some_and(|confines| confines())
    }

    /// Whether the configuration says what happens to calls that no rule speaks of.
    pub fn is_set(&self) -> bool {
        self.0.lock().is_set
    }

    /// Sets what the configuration says, for the calls from now on; `None` with `is_set`: it depends on who starts a Turn.
    pub fn set(&self, configured: Option<ApprovalPolicy>, is_set: bool) {
        let mut policy = self.0.lock();
        (policy.configured, policy.is_set) = (configured, is_set);
    }

    /// Sets whether nothing in the folder waits for trust.
    pub fn set_nothing_waits(&self, nothing_waits: bool) {
        self.0.lock().nothing_waits = nothing_waits;
    }

    /// Sets what says whether bubblewrap confines commands.
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

/// Settings of a [`crate::Hub`].
#[derive(Debug, Clone)]
pub struct Settings {
    /// The workspace, absolute and free of symbolic links.
    pub workspace: PathBuf,
    /// Policy of Threads that have none.
    pub approval_policy: SharedPolicy,
    /// Paths outside the workspace: `true` asks, `false` refuses, for Threads that do not say.
    pub ask_outside_workspace: bool,
    /// How long an Approval waits before it is declined.
    pub approval_max_wait: Duration,
    /// Most time for which streamed text exists in memory only.
    pub checkpoint_interval: Duration,
    /// Most bytes of it.
    pub checkpoint_bytes: usize,
    /// How long a Thread that nobody uses stays loaded.
    pub unload_after: Duration,
    /// How long an interrupted engine may take before its task is aborted.
    pub cancel_grace: Duration,
    /// Bound of each Thread's log and of the workspace's.
    pub log: Limits,
    /// What may be done without a question, and what may not be done at all.
    pub policy: Arc<dyn Policy>,
    /// How many subagents there may be.
    pub sub_agents: SubAgentLimits,
    /// Undoes what Turns did to files, where the server can do that.
    pub undo: Option<Arc<dyn Undo>>,
}

impl Settings {
    /// Returns the defaults for a workspace: the figures of the design.
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
        }
    }

    /// Returns the approval policy of a Thread, for a Turn with these features: never `Ask`, for which it is `Default`.
    pub fn approval_policy_of(&self, config: Option<&ThreadConfig>, turn: &TurnFeatures) -> ApprovalPolicy {
        match config.and_then(|config| config.approval_policy) {
            None | Some(ApprovalPolicy::Default) if turn.person => self.approval_policy.for_person(),
            None | Some(ApprovalPolicy::Default) => self.approval_policy.get(),
            Some(ApprovalPolicy::Ask) => ApprovalPolicy::Default,
            Some(policy) => policy,
        }
    }

    /// Returns where a Thread's own folder really lies, unless a link in the workspace leads out of it on the way there: what
    /// commands may write they can replace by a link to anywhere.
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
            // The root replaces what was gone to before.
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

    /// Returns the rules of a Turn.
    fn policy_of(&self, turn: &TurnFeatures) -> Arc<dyn Policy> {
        if turn.allow.is_empty() {
            return self.policy.clone();
        }
        // They were checked when the Turn started, but maybe by another version.
        self.policy.allowing(&turn.allow).unwrap_or_else(|why| {
            tracing::warn!(why, "the rules of a turn are not used");
            self.policy.clone()
        })
    }

    /// Returns where and under which rules the calls of a Thread run: in the workspace where it has no folder of its own that
    /// counts.
    pub fn environment_of(&self, config: Option<&ThreadConfig>, turn: &TurnFeatures) -> ToolEnvironment {
        let approvals = self.approval_policy_of(config, turn);
        let config = config.cloned().unwrap_or_default();
        let root = config
            .workspace_override
            .as_deref()
            .and_then(|path| self.folder(path));
        let root = root.unwrap_or_else(|| self.workspace.clone());
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
}
