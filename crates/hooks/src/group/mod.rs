//! `hooks/*`: lists the hooks of a workspace, trusts and switches them (AppServer protocol 07 §8.3).

mod handlers;
pub mod wire;

use std::sync::Arc;

use bobbin_native::group::page::Page;
use bobbin_native::group::{Group, rows};

use crate::ManagedHooks;
use wire::{HooksListParams, HooksListResult, HooksSetStateParams, HooksTrustPluginParams};

const HOOKS_SET_STATE: &str = "hooks/setState";
const HOOKS_TRUST_PLUGIN: &str = "hooks/trustPlugin";

/// The feature that the group serves.
pub type Feature = Arc<ManagedHooks>;

/// The groups of this crate.
pub static GROUPS: &[&Group] = &[&GROUP];

static GROUP: Group = Group {
    methods: rows! {
        Page::new("hooks", "Hooks"), Some("hooksManagement");
        request "hooks/list" (HooksListParams => HooksListResult)
            [] now_with(of Feature) handlers::list, needs Own:
            "Lists the hooks of the user, the workspace and its plugins, and what is wrong with them.", spec "07 §8.3",
            test "server/hooks_managed: hooks_are_listed_trusted_and_switched";
        request HOOKS_SET_STATE (HooksSetStateParams => HooksListResult)
            [] wait_with(of Feature) handlers::set_state, needs Own:
            "Switches a hook in this workspace, or trusts it as it is now.", spec "07 §8.3",
            test "server/hooks_managed: hooks_are_listed_trusted_and_switched",
            note "to trust a hook of a plugin is to trust the plugin";
        request HOOKS_TRUST_PLUGIN (HooksTrustPluginParams => HooksListResult)
            [] wait_with(of Feature) handlers::trust_plugin, needs Own:
            "Trusts the present content of a plugin, and with it its hooks.", spec "07 §8.3",
            test "server/hooks_managed: a_plugins_hooks_are_trusted_with_it";
    },
    capabilities: |server, capabilities| {
        capabilities.hooks_management = server.services().others.get::<Feature>().is_some();
    },
    ..Group::EMPTY
};
