//! `skills/*`: instructions that agents read when they are of use (AppServer protocol 05 §4).

pub(crate) mod handlers;

use bobbin_native_wire::skills::types::{
    SkillParams, SkillsListParams, SkillsListResult, SkillsReadResult, SkillsRestoreOriginalResult,
    SkillsSetEnabledParams, SkillsSetEnabledResult, SkillsUninstallResult, SkillsViewResult,
};

use crate::group::page::Page;
use crate::group::{Group, rows};

pub(crate) const SKILLS_SET_ENABLED: &str = "skills/setEnabled";
pub(crate) const SKILLS_UNINSTALL: &str = "skills/uninstall";

/// The sources of skills.
const SKILLS: &str = "of the workspace, of plugins and the user; there are no skills of the server's own. Sent twice \
    they do no harm, so they take no `clientRequestId`";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::COMMANDS, Some("skillsManagement");
        request "skills/list" (SkillsListParams => SkillsListResult)
            [] now_with(prompts) handlers::list, needs Read:
            "Lists the skills.", spec "05 §4",
            test "native/commands_and_skills: skills_are_listed_read_switched_and_removed",
            note SKILLS;
        request "skills/read" (SkillParams => SkillsReadResult)
            [SkillNotFound] now_with(prompts) handlers::read, needs Read:
            "Returns a skill's file as it is.", spec "05 §4",
            test "native/commands_and_skills: skills_are_listed_read_switched_and_removed",
            note SKILLS;
        request "skills/view" (SkillParams => SkillsViewResult)
            [SkillNotFound] now_with(prompts) handlers::view, needs Read:
            "Returns what an agent reads of a skill.", spec "05 §4",
            test "native/commands_and_skills: skills_are_listed_read_switched_and_removed",
            note SKILLS;
        request "skills/restoreOriginal" (SkillParams => SkillsRestoreOriginalResult)
            [SkillNotFound] now_with(prompts) handlers::restore_original, needs Own:
            "Takes back the workspace's adaptation of a skill. There are none, so every skill is the original.",
            spec "05 §4", test "native/commands_and_skills: skills_are_listed_read_switched_and_removed",
            note "nothing is adapted for a workspace, so it always finds the original; `skillVariants` is not \
                announced";
        request SKILLS_SET_ENABLED (SkillsSetEnabledParams => SkillsSetEnabledResult)
            [SkillNotFound] wait_with(prompts) handlers::set_enabled, needs Own:
            "Switches a skill on or off in this workspace.", spec "05 §4",
            test "native/commands_and_skills: skills_are_listed_read_switched_and_removed",
            note SKILLS;
        request SKILLS_UNINSTALL (SkillParams => SkillsUninstallResult)
            [SkillNotFound] wait_with(prompts) handlers::uninstall, needs Own:
            "Removes a skill of the workspace or the user from the disk.", spec "05 §4",
            test "native/commands_and_skills: skills_are_listed_read_switched_and_removed",
            note SKILLS;
    },
    capabilities: |server, capabilities| {
        capabilities.skills_management = server.services().prompts.is_some();
    },
    ..Group::EMPTY
};
