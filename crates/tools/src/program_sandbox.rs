//! The sandbox of programs that Bobbin starts by itself: hooks, runners, servers, extensions.
//!
//! A program of a folder, or one that loads files which the agent may write, can run code of the agent. So it is confined
//! as the agent's commands are. Only this module makes the plan of such a program.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bobbin_agent_api::policy::Policy;
use bobbin_children::{ChildError, Confinement, ProcessSpec};
use bobbin_sandbox::hidden_sockets;

use super::sandbox::{CommandSandbox, Sandbox, WhenMissing};
use super::shell_run::mask;

/// Confines programs that Bobbin starts by itself.
#[derive(Debug, Clone)]
pub struct ProgramSandbox {
    sandbox: Sandbox,
    policy: Arc<dyn Policy>,
    /// Whether a program was confined. From then on, no program starts unconfined, even if the agent breaks the sandbox.
    has_confined: Arc<AtomicBool>,
}

/// The additional rights of a program, compared with a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramNeeds {
    /// Its network.
    pub network: ProgramNetwork,
    /// Places of its own that it may write.
    pub write: Vec<PathBuf>,
    /// Whether it has a `/tmp` of its own where bubblewrap works.
    pub private_tmp: bool,
}

/// The network of a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProgramNetwork {
    /// The network of commands.
    #[default]
    AsCommands,
    /// Addresses of this machine and of others, but no local socket.
    Internet,
    /// A loopback of its own and nothing else, whatever commands have. Only bubblewrap makes one
    /// ([`Plan::is_apart`](bobbin_sandbox::Plan::is_apart)).
    Own,
}

/// Why a program is not confined, although it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotConfined {
    /// The reason, as half a sentence.
    pub why: String,
    /// The consequence for the program: as for commands, but it is refused if this machine confines other programs.
    pub otherwise: WhenMissing,
}

/// The bounds of a program, as of its start: files and sockets that are hidden from it are searched only then.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramBounds {
    confinement: Option<Confinement>,
    sockets: BTreeSet<PathBuf>,
}

impl ProgramBounds {
    /// Returns the bounds of a process that [`ProgramSandbox::confine`] has confined just now.
    pub async fn of(process: &ProcessSpec) -> Self {
        let Some(confinement) = process.confinement.clone() else {
            return Self::default();
        };
        let mut bounds = Self {
            confinement: Some(confinement.clone()),
            sockets: BTreeSet::new(),
        };
        let search = move || hidden_sockets(&confinement.plan);
        match tokio::task::spawn_blocking(search).await {
            Ok(sockets) => bounds.sockets = sockets,
            Err(error) => tracing::warn!(%error, "the sockets of services cannot be searched"),
        }
        bounds
    }

    /// Whether a program with these bounds reaches nothing that is hidden from one that starts `now`.
    pub fn hold(&self, now: &Self) -> bool {
        self.confinement == now.confinement && now.sockets.is_subset(&self.sockets)
    }
}

impl ProgramSandbox {
    /// Returns the sandbox of programs. `sandbox` is that of commands; `policy` names the files that no command may read.
    pub fn new(sandbox: Sandbox, policy: Arc<dyn Policy>) -> Self {
        Self {
            sandbox,
            policy,
            has_confined: Arc::default(),
        }
    }

    /// Returns the sandbox of commands.
    pub fn of_commands(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Returns a process confined as a command that runs in `root`; unchanged if commands are not confined by configuration.
    ///
    /// # Errors
    /// It cannot be confined.
    pub async fn confine(
        &self,
        root: &Path,
        mut process: ProcessSpec,
        needs: &ProgramNeeds,
    ) -> Result<ProcessSpec, NotConfined> {
        self.sandbox.settle().await;
        let sandbox = self.sandbox.of_program(needs);
        let mut plan = match sandbox.of_command(root) {
            CommandSandbox::NotNeeded => return Ok(process),
            CommandSandbox::Confined(plan) => plan,
            CommandSandbox::Missing(why) => {
                let can_confine = sandbox.missing().is_none() || self.has_confined.load(Ordering::Relaxed);
                let otherwise = if can_confine {
                    WhenMissing::Refuse
                } else {
                    sandbox.when_missing()
                };
                return Err(NotConfined { why, otherwise });
            }
            CommandSandbox::Refused(why) => return Err(NotConfined::refused(why)),
        };
        let masked = mask(&mut plan, self.policy.clone(), root.to_owned()).await;
        masked.map_err(|why| {
            NotConfined::refused(format!(
                "rules refuse files that could not all be hidden from it: {why}"
            ))
        })?;
        process.limits = sandbox.limits;
        let process = sandbox.confined(&plan, process).map_err(NotConfined::refused)?;
        self.has_confined.store(true, Ordering::Relaxed);
        Ok(process)
    }

    /// Notes that a confined process did not start.
    pub fn has_failed(&self, error: &ChildError) {
        if let ChildError::Confinement(_) = error {
            self.sandbox.bubblewrap.has_failed();
        }
    }
}

impl NotConfined {
    fn refused(why: String) -> Self {
        let otherwise = WhenMissing::Refuse;
        Self { why, otherwise }
    }
}

#[cfg(test)]
mod tests {
    use bobbin_children::Environment;
    use bobbin_policy::RulesPolicy;
    use bobbin_rules::{RuleSet, RuleText};
    use bobbin_sandbox::{Files, Network, Outer, Plan, Profile, Support};

    use super::*;

    fn programs(support: Support, profile: Profile) -> ProgramSandbox {
        let sandbox = Sandbox {
            profile,
            support,
            ..Sandbox::default()
        };
        ProgramSandbox::new(sandbox, Arc::new(RulesPolicy::default()))
    }

    fn process() -> ProcessSpec {
        ProcessSpec::new("x", "/", Environment::empty())
    }

    #[tokio::test]
    async fn bounds_hold_until_a_file_or_a_socket_is_to_be_hidden_that_was_not_there_before() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let plan = Plan {
            profile: Profile {
                files: Files::WorkspaceWrite,
                network: Network::Off,
            },
            write: vec![root.clone()],
            services: vec!["/run".into()],
            outer: Outer::Bubblewrap,
            ..Plan::default()
        };
        let rule = RuleText {
            action: "deny".to_owned(),
            path: Some("*.key".to_owned()),
            ..RuleText::default()
        };
        let policy = Arc::new(RulesPolicy::new(RuleSet::new([rule], None).unwrap()));
        let bounds = async || {
            let mut plan = plan.clone();
            mask(&mut plan, policy.clone(), root.clone()).await.unwrap();
            let bubblewrap = None;
            ProgramBounds::of(&process().confined(Confinement { plan, bubblewrap })).await
        };
        let start = bounds().await;
        std::fs::write(root.join("tea.txt"), "").unwrap();
        assert!(start.hold(&bounds().await));
        std::fs::write(root.join("b.key"), "").unwrap();
        let later = bounds().await;
        assert!(!start.hold(&later), "a file is to be hidden");
        std::fs::write(root.join("a.key"), "").unwrap();
        assert!(!later.hold(&bounds().await), "another file is to be hidden");
        std::fs::remove_file(root.join("a.key")).unwrap();
        let _service = std::os::unix::net::UnixListener::bind(root.join("service")).unwrap();
        let with_service = bounds().await;
        assert_eq!(later.hold(&with_service), !cfg!(target_os = "linux"));
        assert!(with_service.hold(&later), "a socket is gone");
    }

    #[tokio::test]
    async fn a_program_is_confined_as_a_command_and_reaches_the_network_only_where_it_needs_that() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let cache = root.join("cache");
        let support = Support {
            landlock: 6,
            seccomp: true,
            outer: Outer::Nothing,
        };
        let strict = Profile {
            files: Files::WorkspaceWrite,
            network: Network::Off,
        };
        let internet = ProgramNeeds {
            network: ProgramNetwork::Internet,
            write: vec![cache.clone()],
            private_tmp: false,
        };
        let programs_here = programs(support, strict);
        for (needs, network) in [
            (ProgramNeeds::default(), Network::Off),
            (internet.clone(), Network::Internet),
        ] {
            let confined = programs_here.confine(&root, process(), &needs).await.unwrap();
            let plan = confined.confinement.unwrap().plan;
            assert_eq!(plan.profile.network, network);
            assert_eq!(plan.write.contains(&cache), !needs.write.is_empty());
            assert!(plan.write.contains(&root));
        }
        let own = ProgramNeeds {
            network: ProgramNetwork::Own,
            ..ProgramNeeds::default()
        };
        let with_network = Profile {
            network: Network::On,
            ..strict
        };
        let confined = programs(support, with_network)
            .confine(&root, process(), &own)
            .await
            .unwrap();
        assert_eq!(confined.confinement.unwrap().plan.profile.network, Network::Off);
        let open = programs(support, Profile::OPEN);
        for needs in [&internet, &own] {
            let free = open.confine(&root, process(), needs).await.unwrap();
            assert!(free.confinement.is_none());
        }
        // Bubblewrap no longer works, on a kernel that confines nothing.
        let mut failed = programs_here.clone();
        failed.sandbox.support = Support::NONE;
        let not = failed.confine(&root, process(), &internet).await.unwrap_err();
        assert_eq!(
            not.otherwise,
            WhenMissing::Refuse,
            "a program was confined before"
        );
        let mut home = programs(support, strict);
        home.sandbox.hide = vec![root.join(".ssh")];
        std::fs::create_dir(root.join(".ssh")).unwrap();
        let not = home.confine(&root, process(), &internet).await.unwrap_err();
        assert_eq!(not.otherwise, WhenMissing::Refuse, "{}", not.why);
        let nothing = programs(Support::NONE, strict);
        let not = nothing.confine(&root, process(), &internet).await.unwrap_err();
        assert_eq!(not.otherwise, WhenMissing::Ask);
    }
}
