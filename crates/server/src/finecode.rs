//! FineCode in this server: its host, with the configuration and the trust in the folder.

use std::path::Path;
use std::sync::Arc;

use bobbin_agent_api::tool::ToolSource;
use bobbin_agent_api::trust::{TrustItem, TrustKind};
use bobbin_children::{Children, Environment};
use bobbin_core::Broadcasts;
use bobbin_finecode::agent::{Actions, Hosts, RunnerSandbox};
use bobbin_finecode::group::FineCodeNews;
use bobbin_finecode::{Announce, Host, Parts};
use bobbin_sandbox::Network;
use bobbin_supervise::Confine;
use bobbin_tools::{CommandSandbox, ProgramNeeds, ProgramSandbox, Sandbox, WhenMissing};
use bobbin_workspace::{TrustFile, TrustRecord};

use bobbin_config::Config;

use crate::confine::{ConfinedPrograms, Unconfined};

/// FineCode in a running server.
#[derive(Clone)]
pub(crate) struct FineCode {
    hosts: Hosts,
    /// The actions that the agent may run.
    actions: Arc<Actions>,
}

impl FineCode {
    pub(crate) fn new(
        root: &Path,
        config: &Config,
        trust: &TrustFile,
        (children, environment): (&Children, &Environment),
        programs: &ProgramSandbox,
        broadcasts: &Broadcasts,
    ) -> Self {
        let news = broadcasts.clone();
        let announce: Announce = Arc::new(move |event| news.send(FineCodeNews(event), 0));
        let host = |sandbox| {
            Arc::new(host(
                root,
                config,
                trust.clone(),
                (children.clone(), environment.clone()),
                sandbox,
                announce.clone(),
            ))
        };
        let confined = ConfinedPrograms {
            sandbox: programs.clone(),
            root: root.to_owned(),
            needs: ProgramNeeds::default(),
            unconfined: Unconfined::Refused,
        };
        let hosts = Hosts {
            sandboxed: host(Some(Arc::new(confined))),
            outside: host(None),
        };
        // Settings may name actions for all workspaces, and most of these have no project.
        let settings = &config.finecode;
        let has_projects = !settings.agent.is_empty()
            && (!settings.projects.is_empty() || !bobbin_finecode::projects_of(root).is_empty());
        let trust = trust.clone();
        let counts = move || has_projects && trust.read().trusted;
        let (sandbox, here) = (programs.of_commands().clone(), root.to_owned());
        let over_pipes = settings.all_over_pipes();
        let sandbox = move || runner_sandbox(&sandbox, &here, over_pipes);
        let actions = Actions::new(
            hosts.clone(),
            Box::new(sandbox),
            root.to_owned(),
            settings,
            counts,
        );
        Self {
            hosts,
            actions: Arc::new(actions),
        }
    }

    /// Returns the actions that the agent may run.
    pub(crate) fn source(&self) -> Arc<dyn ToolSource> {
        self.actions.clone()
    }

    /// Returns the feature for clients.
    pub(crate) fn feature(&self) -> bobbin_finecode::group::FineCode {
        let Hosts { outside, sandboxed } = self.hosts.clone();
        bobbin_finecode::group::FineCode::new(outside, sandboxed)
    }

    /// Ends all runners.
    pub(crate) async fn end(&self) {
        tokio::join!(self.hosts.sandboxed.end(), self.hosts.outside.end());
    }
}

/// Returns the current sandbox of the agent's runners. May test bubblewrap and wait for the result.
fn runner_sandbox(sandbox: &Sandbox, root: &Path, over_pipes: bool) -> RunnerSandbox {
    sandbox.settle_now();
    let missing = |why: String| match sandbox.when_missing() {
        WhenMissing::Ask => RunnerSandbox::Missing(why),
        WhenMissing::Refuse => RunnerSandbox::Refused(why),
    };
    match sandbox.of_command(root) {
        CommandSandbox::NotNeeded => RunnerSandbox::NotNeeded,
        CommandSandbox::Refused(why) => RunnerSandbox::Refused(why),
        CommandSandbox::Missing(why) => missing(why),
        CommandSandbox::Confined(plan)
            if plan.is_apart() || plan.profile.network != Network::Off || over_pipes =>
        {
            RunnerSandbox::Confined(format!("{} ({})", plan.profile, plan.holders()))
        }
        CommandSandbox::Confined(_) => missing(
            "without bubblewrap a runner in the sandbox has no port (install bubblewrap, or set Transport to stdio in \
             FineCode.Runners if it speaks over pipes)"
                .to_owned(),
        ),
    }
}

/// Returns the host of a workspace, whose runners `sandbox` confines. It starts a runner only when a run needs it.
pub fn host(
    root: &Path,
    config: &Config,
    trust: TrustFile,
    (children, environment): (Children, Environment),
    sandbox: Option<Arc<dyn Confine>>,
    announce: Announce,
) -> Host {
    let trust = move |project: &Path| {
        if trust.read().trusted {
            return Ok(());
        }
        let folder = trust.root().display();
        Err(format!(
            "{} runs code of the folder {folder}, which you have not trusted: `bobbin trust` shows what it brings",
            project.display()
        ))
    };
    Host::new(Parts {
        root: root.to_owned(),
        settings: config.finecode.clone(),
        children,
        environment,
        sandbox,
        trust: Arc::new(trust),
        announce,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// Returns the trust item of a folder's projects, if it has some. Blocks on the disk.
pub(crate) fn trust_item(root: &Path, record: &TrustRecord) -> Option<TrustItem> {
    let projects = bobbin_finecode::projects_of(root);
    (!projects.is_empty()).then(|| TrustItem {
        kind: TrustKind::Server,
        name: "FineCode actions".to_owned(),
        detail: format!(
            "run what pyproject.toml and .venvs say, in {}",
            projects.join(", ")
        ),
        fingerprint: None,
        trusted: record.trusted,
    })
}
