//! The hooks of the served workspace, connected to its configuration and plugins.

use std::path::Path;
use std::sync::Arc;

use bobbin_core::Broadcasts;
use bobbin_hooks::{Hook, HookRunner, HookSources, ManagedHooks, Place, PluginHooks};
use bobbin_plugins::Plugins;
use bobbin_workspace::{TrustFile, TrustRecord};

use crate::config;

/// The origins of hooks.
struct Sources {
    place: Place,
    plugins: Arc<Plugins>,
}

impl HookSources for Sources {
    fn configured(&self, record: &TrustRecord) -> anyhow::Result<Vec<Hook>> {
        let config = config::read_with(&self.place.root, self.place.home.as_deref(), record)?;
        Ok(config.hooks)
    }

    fn plugins(&self) -> Vec<PluginHooks> {
        self.plugins.hooks()
    }

    fn trust_plugin(&self, id: &str) -> Result<(), String> {
        self.plugins.trust(id)
    }
}

/// Returns the hooks as their user manages them.
pub(crate) fn of(
    home: Option<&Path>,
    trust: &TrustFile,
    runner: Arc<HookRunner>,
    plugins: Arc<Plugins>,
    broadcasts: Broadcasts,
) -> Arc<ManagedHooks> {
    let place = Place {
        root: trust.root().to_owned(),
        home: home.map(Path::to_owned),
    };
    let sources = Sources {
        place: place.clone(),
        plugins,
    };
    let sources = Box::new(sources);
    Arc::new(ManagedHooks::new(
        place,
        trust.clone(),
        runner,
        sources,
        broadcasts,
    ))
}
