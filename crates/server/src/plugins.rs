//! The plugins of the served workspace, connected to its servers and hooks.

use std::path::Path;
use std::sync::Arc;

use bobbin_children::{Children, Environment};
use bobbin_config::Config;
use bobbin_core::Broadcasts;
use bobbin_hooks::Hook;
use bobbin_hooks::HookRunner;
use bobbin_mcp::Servers;
use bobbin_mcp::settings::DeclaredServer;
use bobbin_plugins::{Effects, Place, Plugins};
use bobbin_prompts::Prompts;
use bobbin_tools::ProgramSandbox;

use crate::config;
use crate::trust::TrustFile;

/// The receivers of the servers and hooks of plugins.
struct Takers {
    servers: Arc<Servers>,
    hooks: Arc<HookRunner>,
}

impl Effects for Takers {
    fn set_servers(&self, servers: Vec<DeclaredServer>) -> bool {
        self.servers.set_plugins(servers)
    }

    fn set_hooks(&self, hooks: Vec<Hook>) {
        self.hooks.set_plugins(hooks);
    }

    fn has_server(&self, name: &str) -> bool {
        self.servers.is_configured(name)
    }
}

/// Returns the plugins of a workspace, not in effect yet.
pub(crate) fn of(
    home: Option<&Path>,
    trust: &TrustFile,
    prompts: &Arc<Prompts>,
    servers: &Arc<Servers>,
    hooks: &Arc<HookRunner>,
    broadcasts: Broadcasts,
) -> Arc<Plugins> {
    let place = place(trust.root(), home);
    let of_folder = place.clone();
    let settings = move |record: &_| {
        let config = config::read_with(&of_folder.root, of_folder.home.as_deref(), record)?;
        Ok(config.plugins)
    };
    let takers = Takers {
        servers: servers.clone(),
        hooks: hooks.clone(),
    };
    Arc::new(Plugins::new(
        place,
        trust.clone(),
        Box::new(settings),
        prompts.clone(),
        Arc::new(takers),
        broadcasts,
    ))
}

/// Returns the runner of the configured hooks. Hooks of plugins are added later.
pub(crate) fn hooks(
    root: &Path,
    config: &Config,
    children: &Children,
    commands: &Environment,
    programs: &ProgramSandbox,
) -> Arc<HookRunner> {
    let hooks = HookRunner::new(root, children.clone(), commands.clone(), programs.clone());
    hooks.set_configured(config.hooks.clone());
    Arc::new(hooks)
}

/// Returns the place of a workspace and its user's home.
pub(crate) fn place(root: &Path, home: Option<&Path>) -> Place {
    Place {
        root: root.to_owned(),
        home: home.map(Path::to_owned),
    }
}
