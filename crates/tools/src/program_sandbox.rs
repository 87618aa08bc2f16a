//! The sandbox of programs that Bobbin starts by itself: hooks, runners, servers, extensions.
//!
//! A program of a folder, or one that loads files which the agent may write, can run code of the agent. So it is confined
//! as the agent's commands are. Only this module makes the plan of such a program.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bobbin_agent_api::policy::Policy;
use bobbin_children::{ChildError, ProcessSpec};

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
    use bobbin_sandbox::{Files, Network, Outer, Profile, Support};

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
