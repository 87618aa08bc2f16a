//! The Hermes extensions of a workspace, for the server and for `bobbin hermes`.

use std::path::PathBuf;
use std::sync::Arc;

use bobbin_agent_api::{Features, SystemClock};
use bobbin_children::{Children, Environment};
use bobbin_config::Config;
use bobbin_core::Threads;
use bobbin_hermes::settings::fingerprint;
use bobbin_hermes::{AgentTools, Entry, ExtensionSpec, Host, StartCheck, Surroundings};
use bobbin_settings::Declared;
use bobbin_tools::{ProgramNeeds, ProgramNetwork, ProgramSandbox};
use bobbin_workspace::Workspace;
use tokio_util::task::AbortOnDropHandle;

use crate::confine::{ConfinedPrograms, Unconfined};

/// The extensions of a running server; `None` if its configuration lacks the section.
#[derive(Clone)]
pub(crate) struct Hermes(Option<Opened>);

#[derive(Clone)]
struct Opened {
    host: Arc<Host>,
    /// The extensions to start.
    specs: Vec<ExtensionSpec>,
    /// Closes documents with their Threads.
    _follow: Arc<AbortOnDropHandle<()>>,
}

/// The parts of [`Hermes`] that exist before `Threads`.
pub(crate) struct Parts {
    place: Surroundings,
    /// The directory of unsaved changes of documents.
    unsaved: PathBuf,
    children: Children,
    /// Confines the extensions of the folder.
    programs: ProgramSandbox,
    /// The agent's tools. They work once extensions and documents exist.
    pub(crate) tools: Arc<AgentTools>,
}

impl Parts {
    pub(crate) fn new(
        config: &Config,
        workspace: &Workspace,
        environment: &Environment,
        children: &Children,
        programs: &ProgramSandbox,
    ) -> Self {
        Self {
            place: surroundings(workspace, environment),
            unsaved: workspace.folder().join("hermes-unsaved"),
            children: children.clone(),
            programs: programs.clone(),
            tools: Arc::new(AgentTools::new(config.hermes.agent)),
        }
    }
}

impl Hermes {
    pub(crate) fn new(config: &Config, threads: &Arc<Threads>, parts: Parts) -> Self {
        Self(config.hermes.extensions.as_deref().map(|declared| {
            let announce = bobbin_hermes::group::announce(threads.broadcasts().clone());
            let unsaved = Some(parts.unsaved);
            let host = Host::new(parts.children, Arc::new(SystemClock), announce, unsaved);
            let host = Arc::new(host);
            parts.tools.begin(host.clone());
            let follow = bobbin_hermes::group::close_with_threads(host.clone(), Arc::downgrade(threads));
            Opened {
                host,
                specs: specs(declared, &parts.place, Some(&parts.programs)),
                _follow: Arc::new(AbortOnDropHandle::new(tokio::spawn(follow))),
            }
        }))
    }

    /// Starts the extensions that are enabled and trusted.
    ///
    /// # Errors
    /// The host cannot load the extensions.
    pub(crate) fn begin(&self) -> anyhow::Result<()> {
        if let Some(Opened { host, specs, .. }) = &self.0 {
            host.load(specs.clone())?;
        }
        Ok(())
    }

    /// Adds the feature for clients.
    pub(crate) fn offer(&self, features: Features) -> Features {
        match &self.0 {
            Some(opened) => features.with(opened.host.clone()),
            None => features,
        }
    }

    /// Ends all extensions.
    pub(crate) async fn end(&self) {
        if let Some(opened) = &self.0 {
            opened.host.end().await;
        }
    }
}

/// Returns the specifications of extensions. `programs` confines the extensions of the folder.
///
/// An extension of the user starts in its own directory. In the workspace `uv run` or `python -m` would find files of
/// the agent and run them outside of the sandbox.
pub fn specs(
    declared: &[Declared<Entry>],
    place: &Surroundings,
    programs: Option<&ProgramSandbox>,
) -> Vec<ExtensionSpec> {
    let declared = declared.iter().enumerate();
    let specs = declared.map(|(position, declared)| {
        let mut spec = ExtensionSpec::new(declared.config.clone(), position, place);
        if !declared.trusted {
            spec.launch = Err(
                "it comes with the workspace, which you have not trusted with it; `bobbin trust` shows what it runs"
                    .to_owned(),
            );
        }
        if declared.fingerprint.is_none() {
            let data = spec.data().to_owned();
            if let Ok(process) = &mut spec.launch {
                process.cwd = data;
            }
        } else if let Some(programs) = programs {
            let caches = spec.data().join("caches");
            if let Ok(process) = &mut spec.launch {
                process.env.set_caches(&declared.config.env, &caches);
            }
            spec.sandbox = Some(Arc::new(ConfinedPrograms {
                sandbox: programs.clone(),
                root: place.cwd.clone(),
                needs: ProgramNeeds {
                    network: ProgramNetwork::AsCommands,
                    write: vec![spec.data().to_owned()],
                    private_tmp: false,
                },
                unconfined: Unconfined::Trusted,
            }));
        }
        let (declared, root) = (declared.clone(), place.cwd.clone());
        spec.check = Some(StartCheck(Arc::new(move || {
            if declared.is_unchanged(|entry| fingerprint(entry, &root)) {
                Ok(())
            } else {
                Err(
                    "a file that its command line names has changed since you trusted it; `bobbin trust` shows it"
                        .to_owned(),
                )
            }
        })));
        spec
    });
    specs.collect()
}

/// Returns the surroundings of a workspace's extensions.
pub fn surroundings(workspace: &Workspace, environment: &Environment) -> Surroundings {
    Surroundings {
        cwd: workspace.root.clone(),
        environment: environment.clone(),
        data: workspace.state_directory().path().join("hermes"),
        version: env!("CARGO_PKG_VERSION"),
    }
}
