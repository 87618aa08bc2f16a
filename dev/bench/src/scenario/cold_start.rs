//! Spawn to the answer of `initialize`, in a workspace that has been used before.

use crate::client::Client;
use crate::samples::{Samples, millis};
use crate::{Plan, Row, Target};
use tokio::time::Instant;

const NAME: &str = "cold-start";

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let workspace = plan.workspace()?;
    let (mut ours, mut bare) = (Samples::default(), Samples::default());
    // The first start makes the workspace and is not counted.
    for round in 0..=plan.count(40, 2) {
        let began = Instant::now();
        let (process, link) = plan.stdio(workspace.path())?;
        let client = Client::ready(link).await?;
        let took = began.elapsed();
        // End of input ends the server.
        drop(client);
        process.wait().await?;
        let began = Instant::now();
        let (process, mut link) = plan.bare_stdio(workspace.path())?;
        link.send("hello".to_owned()).await?;
        link.next().await?;
        let bare_took = began.elapsed();
        drop(link);
        process.wait().await?;
        if round > 0 {
            ours.push(took);
            bare.push(bare_took);
        }
    }
    let row = |name: &str, share: f64| {
        Row::new(NAME, name, "ms", millis(ours.quantile(share))).beside(millis(bare.quantile(share)))
    };
    Ok(vec![
        row("median", 0.5).wanted(Target::AtMost(15.0)),
        row("p90", 0.9),
    ])
}
