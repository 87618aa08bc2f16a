//! `workspace/trust/*`: the items of the folder that need trust, and the user's decision.

pub(crate) mod handlers;

use bobbin_native_wire::handshake::types::EmptyParams;
use bobbin_native_wire::trust::types::{
    WorkspaceTrustChangedNotification, WorkspaceTrustResult, WorkspaceTrustSetParams,
};

use crate::group::page::Page;
use crate::group::{Group, rows};

pub(crate) const WORKSPACE_TRUST_CHANGED: &str = "workspace/trustChanged";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::WORKSPACE, Some("workspaceTrust");
        request "workspace/trust/get" (EmptyParams => WorkspaceTrustResult)
            [] now_with(trust) handlers::get, needs Read:
            "Extension: says what the folder brings along, and what of it counts.",
            test "attacks/trust: a_cloned_folder_runs_and_instructs_nothing_before_its_user_has_said_so";
        request "workspace/trust/set" (WorkspaceTrustSetParams => WorkspaceTrustResult)
            [] wait_with(trust) handlers::set, needs Own:
            "Extension: takes the user's word about the folder.",
            test "attacks/trust: a_cloned_folder_runs_and_instructs_nothing_before_its_user_has_said_so";
        notification WORKSPACE_TRUST_CHANGED (WorkspaceTrustChangedNotification):
            "Extension: the user has said something about the folder.",
            test "attacks/trust: a_cloned_folder_runs_and_instructs_nothing_before_its_user_has_said_so",
            note "to clients that declared `workspaceTrust`";
    },
    capabilities: |server, capabilities| {
        capabilities.workspace_trust = server.services().trust.is_some();
    },
    unwanted: |capabilities| {
        if capabilities.workspace_trust {
            Vec::new()
        } else {
            vec![WORKSPACE_TRUST_CHANGED]
        }
    },
    greeted: |_, _, _, _| {},
    ready: handlers::send_notice,
    broadcast: |news, _| handlers::broadcast(news),
};
