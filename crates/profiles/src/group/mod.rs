//! The method group of profiles in the native dialect: `subagent/profiles/*`, `subagent/settings/update` (AppServer
//! protocol 05 §10.1).

mod handlers;
pub mod wire;

use std::sync::Arc;

use bobbin_native::group::page::Page;
use bobbin_native::group::{Group, rows};
use bobbin_native_wire::handshake::types::EmptyParams;

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

/// The members of profiles that are extensions, and those without effect.
const PROFILES: &str = "`native` is the only built-in profile and there are no templates; extension members of a native \
    `definition`: `description`, `model`, `instructions`, `toolAllowList`, `toolDenyList`. \
    `supportsStreaming`, `supportsModelSelection`, `inputFormat`, `workingDirectoryMode` and \
    `sanitizationRules` are stored without effect, which `diagnostic.warnings` says. `trustLevel` \
    `trusted` runs outside of the sandbox with a user's word";

static GROUP: Group = Group {
    methods: rows! {
        Page::SUBAGENTS, Some("subAgentManagement");
        request "subagent/profiles/list" (EmptyParams => SubagentProfilesListResult)
            [] wait_with(of Feature) handlers::list, needs Own:
            "Lists the profiles that subagents can have.", spec "05 §10.1",
            test "profiles/methods: a_profile_is_added_switched_and_removed_and_counts_at_once",
            note PROFILES;
        request "subagent/profiles/upsert" (SubagentProfileUpsertParams => SubagentProfileResult)
            [ProfileInvalid, ProfileProtected] wait_with(of Feature) handlers::upsert, needs Own:
            "Adds a profile to the workspace's configuration, or replaces it. It counts at once.", spec "05 §10.1",
            test "profiles/methods: a_profile_is_added_switched_and_removed_and_counts_at_once",
            note PROFILES;
        request "subagent/profiles/setEnabled" (SubagentProfileEnabledParams => SubagentProfileResult)
            [ProfileNotFound, ProfileProtected] wait_with(of Feature) handlers::set_enabled, needs Own:
            "Switches a profile on or off.", spec "05 §10.1",
            test "profiles/methods: a_profile_is_added_switched_and_removed_and_counts_at_once",
            note PROFILES;
        request "subagent/profiles/remove" (SubagentProfileNameParams => SubagentProfileRemoveResult)
            [ProfileNotFound] wait_with(of Feature) handlers::remove, needs Own:
            "Removes a profile from the workspace's configuration.", spec "05 §10.1",
            test "profiles/methods: a_profile_is_added_switched_and_removed_and_counts_at_once",
            note PROFILES;
        request "subagent/settings/update" (SubagentSettingsUpdateParams => SubagentSettingsResult)
            [] wait_with(of Feature) handlers::update, needs Own:
            "Sets what is common to all profiles.", spec "05 §10.1",
            test "profiles/methods: a_profile_is_added_switched_and_removed_and_counts_at_once",
            note PROFILES;
    },
    capabilities: |server, capabilities| {
        capabilities.sub_agent_management = server.services().others.get::<Feature>().is_some();
    },
    ..Group::EMPTY
};
