//! `skills/*`: instructions that agents read when they are of use (AppServer protocol 05 §4).

pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, rows};

use crate::wire::{
    SkillParams, SkillsListParams, SkillsListResult, SkillsReadResult, SkillsRestoreOriginalResult,
    SkillsSetEnabledParams, SkillsSetEnabledResult, SkillsUninstallResult, SkillsViewResult,
};

pub(crate) const SKILLS_SET_ENABLED: &str = "skills/setEnabled";
pub(crate) const SKILLS_UNINSTALL: &str = "skills/uninstall";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        request "skills/list" (SkillsListParams => SkillsListResult) [] now_with(prompts) handlers::list:
            "Lists the skills.";
        request "skills/read" (SkillParams => SkillsReadResult)
            [SkillNotFound] now_with(prompts) handlers::read:
            "Returns a skill's file as it is.";
        request "skills/view" (SkillParams => SkillsViewResult)
            [SkillNotFound] now_with(prompts) handlers::view:
            "Returns what an agent reads of a skill.";
        request "skills/restoreOriginal" (SkillParams => SkillsRestoreOriginalResult)
            [SkillNotFound] now_with(prompts) handlers::restore_original:
            "Takes back the workspace's adaptation of a skill. There are none, so every skill is the original.";
        request SKILLS_SET_ENABLED (SkillsSetEnabledParams => SkillsSetEnabledResult)
            [SkillNotFound] wait_with(prompts) handlers::set_enabled:
            "Switches a skill on or off in this workspace.";
        request SKILLS_UNINSTALL (SkillParams => SkillsUninstallResult)
            [SkillNotFound] wait_with(prompts) handlers::uninstall:
            "Removes a skill of the workspace or the user from the disk.";
    },
    capabilities: |server, capabilities| {
        capabilities.skills_management = server.services().prompts.is_some();
    },
    ..Group::EMPTY
};
