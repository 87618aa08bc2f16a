//! A workspace with many Threads in it, made through the front endpoint.

use std::ops::Range;
use std::time::Duration;

use anyhow::bail;
use serde_json::json;
use tokio::time::Instant;

use crate::client::{Client, identity};

/// Requests that one client has in flight: a little under what a server admits.
pub(super) const IN_FLIGHT: usize = 28;

/// Starts a Thread for each number; returns how long that took.
pub(super) async fn start_threads(
    client: &mut Client,
    mut numbers: Range<usize>,
) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let mut open = 0;
    loop {
        while open < IN_FLIGHT
            && let Some(number) = numbers.next()
        {
            let params = json!({ "identity": identity(), "displayName": format!("thread {number}") });
            client.request("thread/start", &params).await?;
            open += 1;
        }
        if open == 0 {
            return Ok(began.elapsed());
        }
        let (_, answer) = client.answer().await?;
        if answer.get("result").is_none() {
            bail!("a thread was not started: {answer}");
        }
        open -= 1;
    }
}
