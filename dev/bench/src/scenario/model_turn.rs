//! A Turn of one word on one Thread, a thousand times, with a model behind a provider that answers at once: request to
//! `turn/completed`. What it costs beside the offline model is the provider's wire and the conversation sent with it.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

use anyhow::{Context as _, ensure};
use bobbin_testkit::{ModelServer, Script};
use serde_json::json;
use tokio::time::Instant;

use crate::client::Client;
use crate::plan::Extent;
use crate::samples::{Samples, millis};
use crate::{Plan, Row, Target};

const NAME: &str = "model-turn";

pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let provider = ModelServer::start(Script::default()).await?;
    let workspace = plan.workspace()?;
    let craft = workspace.path().join(".craft");
    std::fs::create_dir_all(&craft)?;
    let entry = json!({ "Wire": "chat", "BaseUrl": provider.base_url(), "ApiKey": "any" });
    let config = json!({ "Model": "script/scripted", "Providers": { "script": entry } });
    // A file with a key is for its owner only.
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(craft.join("config.json"))?;
    file.write_all(config.to_string().as_bytes())?;
    let (process, address) = plan.serve(workspace.path()).await?;
    let mut client = Client::connect(&address).await?;
    let thread = client.start_thread().await?;
    let mut ours = Samples::default();
    let count = plan.count(1_000, 10);
    for number in 0..count {
        let began = Instant::now();
        client.start_turn(&thread, "say ok").await?;
        client
            .wait_for("turn/completed")
            .await
            .with_context(|| format!("turn {number}"))?;
        ours.push(began.elapsed());
    }
    let asked = provider.asked_count();
    process.kill().await?;
    // It was asked for summaries too, when the conversation had more Turns than are sent. The server of a short run has
    // no providers.
    ensure!(
        asked >= count || plan.extent == Extent::Quick,
        "the provider was asked {asked} times in {count} turns"
    );
    // Around the tenth, as many as there can be; at the end a hundred, all of which send as much, so that a moment in which the
    // machine does something else does not count for all of it.
    let near = (count / 50).max(2);
    let early = ours.part(near / 2..near / 2 + near).median();
    let late = ours.part(count - (count / 10).max(2)..count).median();
    Ok(vec![
        Row::new(NAME, "median", "ms", millis(ours.quantile(0.5))).wanted(Target::AtMost(5.0)),
        Row::new(NAME, "p99", "ms", millis(ours.quantile(0.99))),
        Row::new(
            NAME,
            format!("turn {count} beside turn {}", near / 2),
            "ms",
            millis(late),
        )
        .beside(millis(early))
        .wanted(Target::RatioAtMost(1.5)),
    ])
}
