//! `audit/*`: who did what in the workspace.

pub(crate) mod handlers;

use bobbin_native_wire::audit::types::{AuditCutParams, AuditListParams, AuditListResult};
use bobbin_native_wire::handshake::types::EmptyResult;

use crate::group::page::Page;
use crate::group::{Group, rows};

/// The reason why no play shows these methods.
const UNPLAYED: &str = "times and hashes differ each time";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::WORKSPACE, None;
        request "audit/list" (AuditListParams => AuditListResult) [] now handlers::list, needs Own:
            "Extension: lists who did what, with hashes that show whether an entry is missing or was changed.",
            test "server/audit: who_did_what_is_on_record_outlives_its_thread_and_is_verified", unplayed UNPLAYED;
        request "audit/cut" (AuditCutParams => EmptyResult) [] wait handlers::cut, needs Own:
            "Extension: removes the oldest entries. An entry says so.",
            test "server/audit: who_did_what_is_on_record_outlives_its_thread_and_is_verified", unplayed UNPLAYED;
    },
    ..Group::EMPTY
};
