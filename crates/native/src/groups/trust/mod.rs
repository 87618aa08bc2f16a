//! `workspace/trust/*`: what the folder brings along, and what the user says about it.

pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, Method};
use crate::wire;

pub(crate) const WORKSPACE_TRUST_CHANGED: &str = "workspace/trustChanged";

/// The group.
pub(crate) static GROUP: Group = Group {
    methods: &[
        Method::request::<wire::EmptyParams, wire::WorkspaceTrustResult>(
            "workspace/trust/get",
            "Extension: says what the folder brings along, and what of it counts.",
            &[],
            |call| call.now_with(|of| of.trust.as_ref(), handlers::get),
        ),
        Method::request::<wire::WorkspaceTrustSetParams, wire::WorkspaceTrustResult>(
            "workspace/trust/set",
            "Extension: takes the user's word about the folder.",
            &[],
            |call| call.wait_with(|of| of.trust.as_ref(), handlers::set),
        ),
        Method::notification::<wire::WorkspaceTrustChangedNotification>(
            WORKSPACE_TRUST_CHANGED,
            "Extension: the user has said something about the folder.",
        ),
    ],
    capabilities: |server, capabilities| {
        capabilities.workspace_trust = server.services.trust.is_some();
    },
    broadcast: |news, _| handlers::broadcast(news),
};
