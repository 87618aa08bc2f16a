//! `plugin/*`: what brings skills, commands and MCP servers (AppServer protocol 05 §5).
//!
//! All requests are idempotent or find nothing when they are sent twice, so they have no name.

mod handlers;
pub mod wire;

use std::sync::Arc;

use bobbin_native::group::page::Page;
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

/// Extensions of the protocol, and the source of plugins.
const PLUGINS: &str = "`plugin/install` also takes the `path` of a folder; a plugin also has its `hooks`. A plugin that \
    came with the workspace brings nothing before its user trusts it; `diagnostics` say so";

static GROUP: Group = Group {
    methods: rows! {
        Page::new("plugins", "Plugins"), Some("pluginManagement");
        request "plugin/list" (PluginListParams => PluginListResult)
            [] now_with(of Feature) handlers::list, needs Read:
            "Lists the plugins, and what is wrong with them.", spec "05 §5",
            test "plugins/plugins_tests: what_an_installed_plugin_brings_is_there_until_it_is_disabled_or_removed",
            note PLUGINS;
        request "plugin/view" (PluginParams => PluginResult) [] now_with(of Feature) handlers::view, needs Read:
            "Reads one plugin, with what it brings.", spec "05 §5",
            test "plugins/plugins_tests: what_an_installed_plugin_brings_is_there_until_it_is_disabled_or_removed",
            note PLUGINS;
        request PLUGIN_INSTALL (PluginInstallParams => PluginResult)
            [] wait_with(of Feature) handlers::install, needs Own:
            "Installs a plugin of the catalogue, or of a folder, in the workspace, and enables it.", spec "05 §5",
            test "plugins/plugins_tests: what_an_installed_plugin_brings_is_there_until_it_is_disabled_or_removed",
            note PLUGINS;
        request PLUGIN_REMOVE (PluginParams => PluginResult)
            [] wait_with(of Feature) handlers::remove, needs Own:
            "Removes an installed plugin with its files. Folders that were not installed stay.", spec "05 §5",
            test "plugins/plugins_tests: what_an_installed_plugin_brings_is_there_until_it_is_disabled_or_removed",
            note PLUGINS;
        request PLUGIN_SET_ENABLED (PluginSetEnabledParams => PluginResult)
            [] wait_with(of Feature) handlers::set_enabled, needs Own:
            "Enables or disables an installed plugin in this workspace.", spec "05 §5",
            test "plugins/plugins_tests: what_an_installed_plugin_brings_is_there_until_it_is_disabled_or_removed",
            note PLUGINS;
    },
    capabilities: |server, capabilities| {
        capabilities.plugin_management = server.services().others.get::<Feature>().is_some();
    },
    ..Group::EMPTY
};
