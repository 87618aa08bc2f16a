//! `alert/*` of the native dialect: whether alerts arrive.

use bobbin_native::client::{Client, refuse};
use bobbin_native::group::page::Page;
use bobbin_native::group::{Group, rows};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::handshake::types::EmptyResult;
use bobbin_peer::Responder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::watch::Alerts;

/// Parameters of `alert/test`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AlertTestParams {
    /// The client's name for this request. A repetition sends no second alert.
    pub client_request_id: Option<String>,
}

/// The groups of this crate.
pub static GROUPS: &[&Group] = &[&GROUP];

static GROUP: Group = Group {
    methods: rows! {
        Page::new("alerts", "Alerts"), Some("extensions.alerts");
        request "alert/test" (AlertTestParams => EmptyResult)
            [] now_with(of Alerts) test, needs Own:
            "Extension: sends an alert that shows whether alerts arrive. Answered once it has arrived, or with the reason.",
            test "server/alerts: a_question_that_waits_is_reported_once_with_its_link",
            unplayed "an alert goes to an address of the user",
            note "where the user's own configuration has `Alerts`";
    },
    capabilities: |server, capabilities| {
        if server.services().others.get::<Alerts>().is_some() {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.others.insert("alerts".to_owned(), true.into());
        }
    },
    ..Group::EMPTY
};

fn test(client: &Client, alerts: &Alerts, _: AlertTestParams, responder: Responder) {
    let alerts = alerts.clone();
    client.spawn(async move {
        match alerts.test().await {
            Ok(()) => responder.ok(EmptyResult {}),
            Err(error) => refuse(responder, RpcError::internal_error(error.to_string())),
        }
    });
}
