//! The method groups of this server: the tables of all crates with methods. `cargo xtask schema` and `coverage` read
//! the same list.

use bobbin_native::group::Groups;

/// Returns the groups, in the order of the protocol's pages.
pub(crate) fn groups() -> Groups {
    Groups::of(&[
        bobbin_native::GROUPS,
        bobbin_hermes::group::GROUPS,
        bobbin_finecode::group::GROUPS,
        bobbin_page::GROUPS,
        bobbin_channels::GROUPS,
        bobbin_schedules::GROUPS,
        bobbin_plugins::GROUPS,
        bobbin_hooks::GROUPS,
        bobbin_profiles::GROUPS,
        bobbin_usage::GROUPS,
        bobbin_engine_acp::GROUPS,
        bobbin_git::GROUPS,
        bobbin_browse::GROUPS,
        bobbin_worktrees::GROUPS,
        bobbin_shells::GROUPS,
        bobbin_alerts::GROUPS,
    ])
}
