//! One client that writes requests as fast as it can, far more than it may have in flight: every one is answered, some
//! with "too many". And another client beside it, whose requests should
//! hardly notice more than the bystander of a bare echo does.

use anyhow::{bail, ensure};
use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::task::AbortOnDropHandle;

use super::round_trip::{echoes, requests};
use crate::client::{Client, identity};
use crate::link::Link;
use crate::samples::{Samples, micros, number, rate};
use crate::{Plan, Row};

const NAME: &str = "flood";
/// Error code of a request that is not admitted (AppServer protocol 01 §11).
const OVERLOADED: &str = "-32001";

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let count = plan.count(50_000, 500);
    let workspace = plan.workspace()?;
    let (process, address) = plan.serve(workspace.path()).await?;
    let mut bystander = Client::connect(&address).await?;
    bystander.start_thread().await?;
    let link = Client::connect(&address).await?.into_link();
    let flooded = AbortOnDropHandle::new(tokio::spawn(flood(link, count)));
    let mut during = Samples::default();
    while !flooded.is_finished() {
        during.append(requests(&mut bystander, 10).await?);
    }
    let flooded = flooded.await??;
    process.kill().await?;

    let (process, address) = plan.bare(workspace.path()).await?;
    let mut bystander = Link::web_socket(&address).await?;
    let link = Link::web_socket(&address).await?;
    let bare = AbortOnDropHandle::new(tokio::spawn(flood(link, count)));
    let mut bare_during = Samples::default();
    while !bare.is_finished() {
        bare_during.append(echoes(&mut bystander, 10).await?);
    }
    let bare = bare.await??;
    process.kill().await?;
    let beside = |name: &str, share: f64| {
        let ours = micros(during.quantile(share));
        Row::new(NAME, format!("a bystander's request, {name}"), "µs", ours)
            .beside(micros(bare_during.quantile(share)))
    };
    Ok(vec![
        Row::new(
            NAME,
            format!("{count} requests, all answered"),
            "/s",
            rate(count, flooded.took),
        )
        .beside(rate(count, bare.took)),
        Row::new(NAME, "of them not admitted", "", number(flooded.overloaded)),
        beside("median", 0.5),
        beside("p99", 0.99),
    ])
}

struct Flooded {
    took: std::time::Duration,
    overloaded: usize,
}

/// Writes everything without waiting, and counts an answer for each.
async fn flood(link: Link, count: usize) -> anyhow::Result<Flooded> {
    let Link::WebSocket(socket) = link else {
        bail!("only a WebSocket is flooded");
    };
    let (mut sink, mut stream) = WebSocketStream::<TcpStream>::split(*socket);
    let began = Instant::now();
    let writing = AbortOnDropHandle::new(tokio::spawn(async move {
        let params = json!({ "identity": identity(), "limit": 1 });
        for id in 0..count {
            let request =
                json!({ "jsonrpc": "2.0", "id": id + 1_000, "method": "thread/list", "params": params });
            sink.feed(Message::text(request.to_string())).await?;
        }
        sink.flush().await
    }));
    let (mut answered, mut overloaded) = (0, 0);
    while answered < count {
        match stream.next().await {
            Some(Ok(Message::Text(text))) => {
                answered += 1;
                overloaded += usize::from(text.contains(OVERLOADED));
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error.into()),
            None => bail!("the connection ended after {answered} answers"),
        }
    }
    writing.await??;
    ensure!(answered == count, "{answered} answers");
    Ok(Flooded {
        took: began.elapsed(),
        overloaded,
    })
}
