//! The endpoint of the Agent Client Protocol: `bobbin acp` on stdio.
//!
//! The process owns no server: it joins those of the directories that its client's sessions are in, and starts them where
//! there are none. It exits with 0 when its client closes stdin; what runs then goes on in the servers.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use bobbin_acp::router;
use bobbin_server::attach::AcpServers;
use bobbin_server::signals::Signals;
use bobbin_server::telemetry;
use bobbin_server::telemetry::LogOptions;
use clap::Args;

/// The options of the command.
#[derive(Debug, Args)]
pub(crate) struct Acp {
    #[command(flatten)]
    log: LogOptions,
}

/// Passes the messages of one client to the servers of its sessions.
pub(crate) async fn run(acp: Acp) -> anyhow::Result<ExitCode> {
    telemetry::start(&acp.log, "warn")?;
    let mut signals = Signals::listen()?;
    let here = std::env::current_dir().and_then(std::fs::canonicalize);
    let here = here.context("the current directory is not there")?;
    let client = bobbin_transport::stdio()?;
    let servers = Arc::new(AcpServers::new(acp.log));
    router::run(client, servers, here, signals.next()).await;
    Ok(ExitCode::SUCCESS)
}
