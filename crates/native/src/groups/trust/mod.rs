//! `workspace/trust/*`: the items of the folder that need trust, and the user's decision.

pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, rows};

use crate::wire::{
    EmptyParams, WorkspaceTrustChangedNotification, WorkspaceTrustResult, WorkspaceTrustSetParams,
};

pub(crate) const WORKSPACE_TRUST_CHANGED: &str = "workspace/trustChanged";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        request "workspace/trust/get" (EmptyParams => WorkspaceTrustResult) [] now_with(trust) handlers::get:
            "Extension: says what the folder brings along, and what of it counts.";
        request "workspace/trust/set" (WorkspaceTrustSetParams => WorkspaceTrustResult)
            [] wait_with(trust) handlers::set:
            "Extension: takes the user's word about the folder.";
        notification WORKSPACE_TRUST_CHANGED (WorkspaceTrustChangedNotification):
            "Extension: the user has said something about the folder.";
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
