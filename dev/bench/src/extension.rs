//! A Hermes extension that opens a dialog and measures how long the text of the document takes meanwhile.

use serde_json::json;
use tokio::time::Instant;

use crate::frames::Frames;
use crate::samples::{Samples, millis};

/// Its command.
pub(crate) const COMMAND: &str = "bench/look";
/// How often it asks for the text.
const ROUNDS: usize = 50;

/// Serves a host on stdin and stdout until that closes them.
///
/// # Errors
/// A request fails, or the host is gone.
pub async fn serve_extension() -> anyhow::Result<()> {
    let mut host = Frames::new(tokio::io::stdin(), tokio::io::stdout());
    loop {
        let message = host.receive().await?;
        let result = match message["method"].as_str() {
            Some("initialize") => {
                json!({ "name": "Bench", "version": "1.0.0", "capabilities": { "commands": [COMMAND] } })
            }
            Some("command/execute") => {
                host.request("ui/showConfirm", &json!({ "message": "Nobody answers this." }))
                    .await?;
                let mut took = Samples::default();
                for _ in 0..ROUNDS {
                    let began = Instant::now();
                    host.call("editor/getMessage", &json!({ "format": "hl7" }))
                        .await?;
                    took.push(began.elapsed());
                }
                let figure = millis(took.quantile(0.99)).to_string();
                host.request("ui/showMessage", &json!({ "message": figure }))
                    .await?;
                continue;
            }
            Some("shutdown") => json!({ "success": true }),
            _ => continue,
        };
        if let Some(id) = message.get("id") {
            host.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
                .await?;
        }
    }
}
