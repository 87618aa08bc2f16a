//! The built-in tools of an agent.
//!
//! A tool checks its arguments and paths in `prepare`, which changes nothing, and acts in `run`. Tools know nothing of
//! Turns, Items or Approvals, and have no state between calls. Constants in each tool's file bound what it reads,
//! writes and returns; blocking work goes through `blocking::FileWork`. [`ToolSet::built_in`] has the tools.
//! Only `bobbin-children` starts processes.

mod agents;
mod apply_patch;
mod arguments;
mod ask_user;
mod blocking;
mod bubblewrap;
mod bubblewrap_try;
mod checks;
mod client_tool;
mod create_plan;
mod edit_file;
mod editor;
mod editor_write;
mod find_files;
mod find_tools;
mod git;
mod grep_files;
mod grep_report;
mod numbered;
mod patch;
mod paths;
mod program_sandbox;
mod read_file;
mod replace_file;
mod sandbox;
pub mod settings;
mod shell;
mod shell_run;
mod terminal_tools;
mod todos;
mod tool_set;
mod view_image;
mod view_skill;
mod walk;
mod web_fetch;
mod write_file;

pub use agents::agent_tools;
pub use ask_user::ASK_USER;
pub use bubblewrap::{Bubblewrap, BubblewrapUse};
pub use checks::{check_sandbox, check_variables};
pub use client_tool::client_tools;
pub use find_tools::{FIND_TOOLS, FindTools};
pub use git::{Git, GitAnswer, GitBounds, GitFailure};
pub use patch::patch_paths;
pub use paths::{Access, locate};
pub use program_sandbox::{NotConfined, ProgramBounds, ProgramNeeds, ProgramNetwork, ProgramSandbox};
pub use sandbox::{CommandSandbox, Sandbox, SharedPlaces, Sharing, WhenMissing, profile_of};
pub use shell::{CommandRequest, Commands};
pub use tool_set::{ToolSet, built_in_names, is_allowed};
pub use view_image::VIEW_IMAGE;
pub use view_skill::ViewSkill;
pub use web_fetch::reach_for_a_person;

#[cfg(test)]
pub(crate) mod testing;
