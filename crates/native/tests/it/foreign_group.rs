//! A method group of a higher crate, with its own feature, a capability on both sides, news for every client, and a
//! message to each new client.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bobbin_agent_api::{Features, Services};
use bobbin_core::Threads;
use bobbin_native::client::Client;
use bobbin_native::group::page::Page;
use bobbin_native::group::{Group, Groups, rows};
use bobbin_native::message;
use bobbin_native_wire::handshake::types::{EmptyParams, EmptyResult};
use bobbin_peer::Responder;
use bobbin_testkit::Client as TestClient;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::Server;

const RUNG: &str = "bell/rung";
const READY: &str = "bell/ready";

/// The feature.
#[derive(Default)]
struct Bell(AtomicU64);

/// Params of the notification, and the broadcast that becomes it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
struct Rung {
    times: u64,
}

static GROUP: Group = Group {
    methods: rows! {
        Page::new("bells", "Bells"), None;
        request "bell/ring" (EmptyParams => EmptyResult) [] now_with(of Arc<Bell>) ring, needs Read: "Rings.";
        client_notification "bell/hush" (EmptyParams) wait hush, needs Prompt: "Starts to count anew.";
        notification RUNG (Rung): "The bell was rung.";
        notification READY (Rung): "So often it was rung before.";
    },
    capabilities: |server, capabilities| {
        if server.services().others.get::<Arc<Bell>>().is_some() {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.others.insert("bell".to_owned(), true.into());
        }
    },
    unwanted: |capabilities| match capabilities.extensions.get("bell") {
        Some(_) => Vec::new(),
        None => vec![RUNG],
    },
    greeted: |_, _, _, _| {},
    ready: |client| {
        if let Some(bell) = bell(client) {
            let (peer, times) = (client.peer().clone(), bell.0.load(Ordering::SeqCst));
            client.spawn(async move {
                // A client that has left needs no message.
                drop(peer.notify(READY, &Rung { times }).await);
            });
        }
    },
    broadcast: |news, _| news.get::<Rung>().map(|rung| message(RUNG, rung)),
};

fn bell(client: &Client) -> Option<&Arc<Bell>> {
    client.services().others.get()
}

fn ring(client: &Client, bell: &Arc<Bell>, _: EmptyParams, responder: Responder) {
    let times = bell.0.fetch_add(1, Ordering::SeqCst) + 1;
    client.threads().broadcasts().send(Rung { times }, 0);
    responder.ok(EmptyResult {});
}

async fn hush(client: &Client, _: EmptyParams) {
    if let Some(bell) = bell(client) {
        bell.0.store(0, Ordering::SeqCst);
    }
}

fn server(threads: Arc<Threads>, others: Features) -> Arc<bobbin_native::Server> {
    let services = Services {
        others,
        ..Server::services()
    };
    let groups = Groups::of(&[bobbin_native::GROUPS, &[&GROUP]]);
    Arc::new(bobbin_native::Server::new(threads, services, groups))
}

#[tokio::test]
async fn a_group_of_another_crate_is_served() {
    let core = Server::start().await;
    let bell = Arc::new(Bell::default());
    let native = server(core.threads.clone(), Features::default().with(bell.clone()));
    let mut client = TestClient::new(Server::link_beside(&native));
    let params = json!({
        "clientInfo": { "name": "test", "version": "1" },
        "capabilities": { "extensions": { "bell": true } },
    });
    let answer = client.call("initialize", params).await;
    assert_eq!(answer["capabilities"]["extensions"]["bell"], true);
    client.notify("initialized", json!({})).await;
    client.wait_for(READY).await;
    client.call("bell/ring", json!({})).await;
    client.notify("bell/hush", json!({})).await;
    client.call("bell/ring", json!({})).await;
    for _ in 0..2 {
        let rung = client.wait_for(RUNG).await;
        assert_eq!(rung["params"]["times"], 1);
    }
    assert_eq!(bell.0.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_group_without_its_feature_has_no_methods() {
    let core = Server::start().await;
    let native = server(core.threads.clone(), Features::default());
    let mut client = TestClient::ready(Server::link_beside(&native), "test", json!({})).await;
    let refused = client.answer_to("bell/ring", json!({})).await;
    assert_eq!(refused["error"]["code"], -32601);
}
