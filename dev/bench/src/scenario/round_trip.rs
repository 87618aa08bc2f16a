//! The cheapest request there is, one after the other.

use serde_json::json;
use tokio::time::Instant;

use crate::client::Client;
use crate::link::Link;
use crate::samples::{Samples, micros};
use crate::{Plan, Row};

const NAME: &str = "round-trip";
/// What a client writes for it, so that the echo carries as much.
const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1000,"method":"server/stats","params":{}}"#;

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let count = plan.count(10_000, 20);
    let home = plan.workspace()?;
    let (bridge, link) = plan.stdio(home.path())?;
    let ours = requests(&mut Client::ready(link).await?, count).await?;
    bridge.kill().await?;
    plan.stop(home.path()).await?;
    let (process, mut link) = plan.bare_stdio(home.path())?;
    let bare = echoes(&mut link, count).await?;
    process.kill().await?;
    let mut rows = rows("stdio", &ours, &bare);

    let (process, address) = plan.serve(home.path()).await?;
    let ours = requests(&mut Client::connect(&address).await?, count).await?;
    process.kill().await?;
    let (process, address) = plan.bare(home.path()).await?;
    let bare = echoes(&mut Link::web_socket(&address).await?, count).await?;
    process.kill().await?;
    rows.extend(self::rows("WebSocket", &ours, &bare));
    Ok(rows)
}

fn rows(endpoint: &str, ours: &Samples, bare: &Samples) -> Vec<Row> {
    let row = |name: &str, share: f64| {
        Row::new(
            NAME,
            format!("{endpoint}, {name}"),
            "µs",
            micros(ours.quantile(share)),
        )
        .beside(micros(bare.quantile(share)))
    };
    vec![row("median", 0.5), row("p99", 0.99)]
}

/// Asks so many times, one after the other.
pub(super) async fn requests(client: &mut Client, count: usize) -> anyhow::Result<Samples> {
    let mut samples = Samples::default();
    for _ in 0..count {
        let began = Instant::now();
        client.call("server/stats", &json!({})).await?;
        samples.push(began.elapsed());
    }
    Ok(samples)
}

/// The same with a server that only echoes.
pub(super) async fn echoes(link: &mut Link, count: usize) -> anyhow::Result<Samples> {
    let mut samples = Samples::default();
    for _ in 0..count {
        let began = Instant::now();
        link.send(REQUEST.to_owned()).await?;
        link.next().await?;
        samples.push(began.elapsed());
    }
    Ok(samples)
}
