//! `plugin/*`: what brings skills, commands and MCP servers (AppServer protocol 05 §5).
//!
//! All requests are idempotent or find nothing when they are sent twice, so they have no name.

mod handlers;
pub mod wire;

use std::sync::Arc;

use bobbin_native::group::page::Page;
use bobbin_native::group::{Group, rows};
use bobbin_native::message;

use crate::Plugins;
use crate::plugins::PluginNews;
use wire::{
    PluginInstallLocalParams, PluginInstallParams, PluginListParams, PluginListResult, PluginParams,
    PluginResult, PluginSetEnabledParams, PluginSetTrustedParams, PluginSkillReadParams,
    PluginSkillReadResult, PluginSnapshotUpdatedNotification, PluginWriteResult,
};

const PLUGIN_INSTALL: &str = "plugin/install";
const PLUGIN_INSTALL_LOCAL: &str = "plugin/installLocal";
pub(crate) const PLUGIN_SET_TRUSTED: &str = "plugin/setTrusted";
const PLUGIN_SNAPSHOT_UPDATED: &str = "plugin/snapshot/updated";
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
        request "plugin/skill/read" (PluginSkillReadParams => PluginSkillReadResult)
            [] now_with(of Feature) handlers::read_skill, needs Read:
            "Reads a skill of a plugin, even of one that is not in use.", spec "07 §8.2",
            test "plugins/plugins_tests: a_local_plugin_is_new_and_its_changes_are_numbered";
        request PLUGIN_INSTALL_LOCAL (PluginInstallLocalParams => PluginWriteResult)
            [] wait_with(of Feature) handlers::install_local, needs Own:
            "Installs a new plugin of a folder, for the workspace or for the user, and enables it.", spec "07 §8.2",
            test "plugins/plugins_tests: a_local_plugin_is_new_and_its_changes_are_numbered";
        request PLUGIN_SET_TRUSTED (PluginSetTrustedParams => PluginWriteResult)
            [] wait_with(of Feature) handlers::set_trusted, needs Own:
            "Trusts the present content of a plugin of the workspace, or takes that back.", spec "07 §8.2",
            test "plugins/plugins_tests: a_local_plugin_is_new_and_its_changes_are_numbered",
            note "a plugin outside of the workspace needs no trust: `notApplied`";
        notification PLUGIN_SNAPSHOT_UPDATED (PluginSnapshotUpdatedNotification):
            "Plugins have changed, by a method or by hand. Changes by hand are seen when plugins are listed.",
            spec "07 §8.2", test "server/protocol: play_fits_the_schemas_and_gives_the_examples",
            note "to clients of today (`ClientCapabilities`)";
        request "plugin/view" (PluginParams => PluginResult) [] now_with(of Feature) handlers::view, needs Read:
            "Reads one plugin, with what it brings.", spec "05 §5",
            test "plugins/plugins_tests: what_an_installed_plugin_brings_is_there_until_it_is_disabled_or_removed",
            note PLUGINS;
        request PLUGIN_INSTALL (PluginInstallParams => PluginWriteResult)
            [] wait_with(of Feature) handlers::install, needs Own:
            "Installs a plugin of the catalogue, or of a folder, in the workspace, and enables it.", spec "05 §5",
            test "plugins/plugins_tests: what_an_installed_plugin_brings_is_there_until_it_is_disabled_or_removed",
            note PLUGINS;
        request PLUGIN_REMOVE (PluginParams => PluginWriteResult)
            [] wait_with(of Feature) handlers::remove, needs Own:
            "Removes an installed plugin with its files. Folders that were not installed stay.", spec "05 §5",
            test "plugins/plugins_tests: what_an_installed_plugin_brings_is_there_until_it_is_disabled_or_removed",
            note PLUGINS;
        request PLUGIN_SET_ENABLED (PluginSetEnabledParams => PluginWriteResult)
            [] wait_with(of Feature) handlers::set_enabled, needs Own:
            "Enables or disables an installed plugin in this workspace.", spec "05 §5",
            test "plugins/plugins_tests: what_an_installed_plugin_brings_is_there_until_it_is_disabled_or_removed",
            note PLUGINS;
    },
    capabilities: |server, capabilities| {
        capabilities.plugin_management = server.services().others.get::<Feature>().is_some();
    },
    unwanted: |capabilities| {
        if capabilities.is_today() {
            Vec::new()
        } else {
            vec![PLUGIN_SNAPSHOT_UPDATED]
        }
    },
    broadcast: |news, _| {
        let PluginNews(snapshot) = news.get()?;
        let params = PluginSnapshotUpdatedNotification {
            snapshot_revision: snapshot.revision,
            plugin_ids: snapshot.changed.clone(),
        };
        Some(message(PLUGIN_SNAPSHOT_UPDATED, &params))
    },
    ..Group::EMPTY
};
