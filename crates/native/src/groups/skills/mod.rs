//! `skills/*`: what agents look at when it is of use (AppServer protocol 05 §4).

pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, Method};
use crate::wire::{self, ErrorCode};

pub(crate) const SKILLS_SET_ENABLED: &str = "skills/setEnabled";
pub(crate) const SKILLS_UNINSTALL: &str = "skills/uninstall";

/// The group.
pub(crate) static GROUP: Group = Group {
    methods: &[
        Method::request::<wire::SkillsListParams, wire::SkillsListResult>(
            "skills/list",
            "Lists the skills.",
            &[],
            |call| call.now_with(|of| of.prompts.as_ref(), handlers::list),
        ),
        Method::request::<wire::SkillParams, wire::SkillsReadResult>(
            "skills/read",
            "Returns a skill's file as it is.",
            &[ErrorCode::SkillNotFound],
            |call| call.now_with(|of| of.prompts.as_ref(), handlers::read),
        ),
        Method::request::<wire::SkillParams, wire::SkillsViewResult>(
            "skills/view",
            "Returns what an agent reads of a skill.",
            &[ErrorCode::SkillNotFound],
            |call| call.now_with(|of| of.prompts.as_ref(), handlers::view),
        ),
        Method::request::<wire::SkillParams, wire::SkillsRestoreOriginalResult>(
            "skills/restoreOriginal",
            "Takes back the workspace's adaptation of a skill. There are none, so every skill is the original.",
            &[ErrorCode::SkillNotFound],
            |call| call.now_with(|of| of.prompts.as_ref(), handlers::restore_original),
        ),
        Method::request::<wire::SkillsSetEnabledParams, wire::SkillsSetEnabledResult>(
            SKILLS_SET_ENABLED,
            "Switches a skill on or off in this workspace.",
            &[ErrorCode::SkillNotFound],
            |call| call.wait_with(|of| of.prompts.as_ref(), handlers::set_enabled),
        ),
        Method::request::<wire::SkillParams, wire::SkillsUninstallResult>(
            SKILLS_UNINSTALL,
            "Removes a skill of the workspace or the user from the disk.",
            &[ErrorCode::SkillNotFound],
            |call| call.wait_with(|of| of.prompts.as_ref(), handlers::uninstall),
        ),
    ],
    capabilities: |server, capabilities| {
        capabilities.skills_management = server.services.prompts.is_some();
    },
    ..Group::EMPTY
};
