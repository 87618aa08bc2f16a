//! `plugin/*`: what brings skills, commands and MCP servers (AppServer protocol 05 §5).
//!
//! All requests are idempotent or find nothing when they are sent twice, so they have no name.

mod handlers;
pub mod wire;

use std::sync::Arc;

use bobbin_native::group::{Group, rows};

use crate::Plugins;
use wire::{
    PluginInstallParams, PluginListParams, PluginListResult, PluginParams, PluginResult,
    PluginSetEnabledParams,
};

const PLUGIN_INSTALL: &str = "plugin/install";
const PLUGIN_REMOVE: &str = "plugin/remove";
const PLUGIN_SET_ENABLED: &str = "plugin/setEnabled";

/// The feature that the group serves.
pub type Feature = Arc<Plugins>;

/// The groups of this crate.
pub static GROUPS: &[&Group] = &[&GROUP];

static GROUP: Group = Group {
    methods: rows! {
        request "plugin/list" (PluginListParams => PluginListResult) [] now_with(of Feature) handlers::list:
            "Lists the plugins, and what is wrong with them.";
        request "plugin/view" (PluginParams => PluginResult) [] now_with(of Feature) handlers::view:
            "Reads one plugin, with what it brings.";
        request PLUGIN_INSTALL (PluginInstallParams => PluginResult) [] wait_with(of Feature) handlers::install:
            "Installs a plugin of the catalogue, or of a folder, in the workspace, and enables it.";
        request PLUGIN_REMOVE (PluginParams => PluginResult) [] wait_with(of Feature) handlers::remove:
            "Removes an installed plugin with its files. Folders that were not installed stay.";
        request PLUGIN_SET_ENABLED (PluginSetEnabledParams => PluginResult) [] wait_with(of Feature) handlers::set_enabled:
            "Enables or disables an installed plugin in this workspace.";
    },
    capabilities: |server, capabilities| {
        capabilities.plugin_management = server.services().others.get::<Feature>().is_some();
    },
    ..Group::EMPTY
};
