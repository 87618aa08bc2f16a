//! The time limit of the handshake, by a clock that the test moves.

use std::sync::Arc;
use std::time::Duration;

use bobbin_framing::{Limits, Transport};
use bobbin_native::Endpoint;
use bobbin_native::group::Groups;
use bobbin_testkit::{Client, Link};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::Server;

/// Serves a connection; returns the client's end and the task.
fn serve(server: &Server, endpoint: Endpoint) -> (tokio::io::DuplexStream, JoinHandle<()>) {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(near);
    let transport = Transport::lines(reader, writer, Limits::default());
    let native = bobbin_native::Server::new(
        server.threads.clone(),
        Server::services(),
        Groups::of(&[bobbin_native::GROUPS]),
    );
    let serving = tokio::spawn(bobbin_native::serve(transport, endpoint, Arc::new(native)));
    (far, serving)
}

fn link(stream: tokio::io::DuplexStream) -> Link {
    let (reader, writer) = tokio::io::split(stream);
    Link::lines(reader, writer)
}

async fn pass(seconds: u64) {
    // The connections start before the clock moves.
    tokio::task::yield_now().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_client_that_does_not_finish_its_handshake_is_closed_after_thirty_seconds() {
    let server = Server::start().await;
    let (silent, ended) = serve(
        &server,
        Endpoint::WebSocket {
            is_private: true,
            actor: bobbin_model::Actor::Owner,
        },
    );
    let mut halfway = Client::new(link(
        serve(
            &server,
            Endpoint::WebSocket {
                is_private: true,
                actor: bobbin_model::Actor::Owner,
            },
        )
        .0,
    ));
    let hello = json!({ "clientInfo": { "name": "half", "version": "1" } });
    halfway.call("initialize", hello).await;
    pass(29).await;
    assert!(!ended.is_finished());
    pass(2).await;
    ended.await.unwrap();
    assert_eq!(halfway.next().await, None::<Value>);
    drop(silent);
}

#[tokio::test]
async fn a_client_that_is_ready_and_one_on_stdio_have_no_such_limit() {
    let server = Server::start().await;
    let mut ready = Client::ready(
        link(
            serve(
                &server,
                Endpoint::WebSocket {
                    is_private: true,
                    actor: bobbin_model::Actor::Owner,
                },
            )
            .0,
        ),
        "ready",
        json!({}),
    )
    .await;
    ready.start_thread().await;
    let (slow, _serving) = serve(&server, Endpoint::Stdio);
    pass(300).await;
    ready.start_thread().await;
    let mut slow = Client::ready(link(slow), "slow", json!({})).await;
    slow.start_thread().await;
}
