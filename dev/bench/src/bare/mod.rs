//! The least that could do each job: what figures stand beside.
//!
//! An echo of lines and of WebSocket messages, a broadcast of one shared frame, one SQLite commit. They know no
//! protocol, keep nothing and check nothing. The servers run in a process of their own, on the same runtime as the
//! server, and are measured in the same way.

mod broadcast;
mod sqlite;

use std::path::Path;

use anyhow::Context;
use clap::ValueEnum;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

pub(crate) use sqlite::Database;

/// A bare server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Bare {
    /// Echoes lines on stdio.
    Lines,
    /// Echoes and broadcasts on a free loopback port.
    WebSocket,
}

/// Serves until its input ends or it is killed. `state` is where a port is told.
///
/// # Errors
/// There is no port, or nobody to tell it to.
pub async fn serve(what: Bare, state: Option<&Path>) -> anyhow::Result<()> {
    match what {
        Bare::Lines => lines().await,
        Bare::WebSocket => broadcast::serve(state.context("--state is missing")?).await,
    }
}

async fn lines() -> anyhow::Result<()> {
    let (mut lines, mut out) = (BufReader::new(tokio::io::stdin()).lines(), tokio::io::stdout());
    while let Some(line) = lines.next_line().await? {
        out.write_all(format!("{line}\n").as_bytes()).await?;
        out.flush().await?;
    }
    Ok(())
}

/// Says where this process listens.
pub(crate) fn announce(state: &Path, address: &str) -> anyhow::Result<()> {
    let next = state.with_extension("new");
    let text =
        json!({ "pid": std::process::id(), "endpoints": { "appServerWebSocket": address } }).to_string();
    // Renamed into place: a reader sees all of it or nothing.
    std::fs::write(&next, text).and_then(|()| std::fs::rename(&next, state))?;
    Ok(())
}
