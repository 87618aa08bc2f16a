//! The method group of profiles in the native dialect: `subagent/profiles/*`, `subagent/settings/update` (AppServer
//! protocol 05 §10.1).

mod handlers;
pub mod wire;

use std::sync::Arc;

use bobbin_native::group::{Group, rows};
use bobbin_native::wire::EmptyParams;

use crate::configured::Profiles;
use wire::{
    SubagentProfileEnabledParams, SubagentProfileNameParams, SubagentProfileRemoveResult,
    SubagentProfileResult, SubagentProfileUpsertParams, SubagentProfilesListResult, SubagentSettingsResult,
    SubagentSettingsUpdateParams,
};

/// The feature that the group serves.
pub type Feature = Arc<Profiles>;

/// The groups of this crate.
pub static GROUPS: &[&Group] = &[&GROUP];

static GROUP: Group = Group {
    methods: rows! {
        request "subagent/profiles/list" (EmptyParams => SubagentProfilesListResult)
            [] wait_with(of Feature) handlers::list: "Lists the profiles that subagents can have.";
        request "subagent/profiles/upsert" (SubagentProfileUpsertParams => SubagentProfileResult)
            [ProfileInvalid, ProfileProtected] wait_with(of Feature) handlers::upsert:
            "Adds a profile to the workspace's configuration, or replaces it. It counts at once.";
        request "subagent/profiles/setEnabled" (SubagentProfileEnabledParams => SubagentProfileResult)
            [ProfileNotFound, ProfileProtected] wait_with(of Feature) handlers::set_enabled:
            "Switches a profile on or off.";
        request "subagent/profiles/remove" (SubagentProfileNameParams => SubagentProfileRemoveResult)
            [ProfileNotFound] wait_with(of Feature) handlers::remove:
            "Removes a profile from the workspace's configuration.";
        request "subagent/settings/update" (SubagentSettingsUpdateParams => SubagentSettingsResult)
            [] wait_with(of Feature) handlers::update: "Sets what is common to all profiles.";
    },
    capabilities: |server, capabilities| {
        capabilities.sub_agent_management = server.services().others.get::<Feature>().is_some();
    },
    ..Group::EMPTY
};
