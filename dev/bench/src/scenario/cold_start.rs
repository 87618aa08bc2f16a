//! Spawn to the answer of `initialize`, in a workspace that has been used before: the server itself, and the bridge on
//! stdio with a server there and with none.

use crate::client::Client;
use crate::link::Link;
use crate::samples::{Samples, millis};
use crate::{Plan, Row, Target};
use tokio::time::Instant;

const NAME: &str = "cold-start";

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let (served, bridged) = (plan.workspace()?, plan.workspace()?);
    let (mut server, mut bare) = (Samples::default(), Samples::default());
    let (mut with, mut without, mut bare_lines) =
        (Samples::default(), Samples::default(), Samples::default());
    // The first start makes the workspace and is not counted.
    for round in 0..=plan.count(40, 2) {
        let began = Instant::now();
        let (process, address) = plan.serve(served.path()).await?;
        drop(Client::connect(&address).await?);
        let took_server = began.elapsed();
        process.kill().await?;

        let began = Instant::now();
        let (process, address) = plan.bare(served.path()).await?;
        hello(Link::web_socket(&address).await?).await?;
        let took_bare = began.elapsed();
        process.kill().await?;

        let mut bridges = Vec::new();
        for _ in 0..2 {
            let began = Instant::now();
            let (process, link) = plan.stdio(bridged.path())?;
            let client = Client::ready(link).await?;
            bridges.push(began.elapsed());
            // End of input ends the bridge.
            drop(client);
            process.wait().await?;
        }
        plan.stop(bridged.path()).await?;

        let began = Instant::now();
        let (process, link) = plan.bare_stdio(bridged.path())?;
        hello(link).await?;
        let took_lines = began.elapsed();
        process.kill().await?;
        if round > 0 {
            server.push(took_server);
            bare.push(took_bare);
            without.push(bridges[0]);
            with.push(bridges[1]);
            bare_lines.push(took_lines);
        }
    }
    let row = |name: &str, ours: &Samples, bare: &Samples, share: f64| {
        Row::new(NAME, name, "ms", millis(ours.quantile(share))).beside(millis(bare.quantile(share)))
    };
    Ok(vec![
        row("server, median", &server, &bare, 0.5).wanted(Target::AtMost(10.0)),
        row("server, p90", &server, &bare, 0.9),
        row("bridge to a server that runs, median", &with, &bare_lines, 0.5).wanted(Target::AtMost(8.0)),
        row(
            "bridge that starts the server, median",
            &without,
            &bare_lines,
            0.5,
        )
        .wanted(Target::AtMost(20.0)),
    ])
}

/// Waits until a bare server has echoed a message.
async fn hello(mut link: Link) -> anyhow::Result<()> {
    link.send("hello".to_owned()).await?;
    link.next().await.map(drop)
}
