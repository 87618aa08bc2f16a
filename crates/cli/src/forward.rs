//! `bobbin forward`: makes a port of a thread's commands reachable on this machine, until Ctrl-C.

use std::num::NonZeroU16;
use std::path::PathBuf;
use std::process::ExitCode;

use bobbin_native_wire::forward::types::{ForwardEndedNotification, ForwardResult, ForwardStartParams};
use bobbin_peer::{Handlers, Mode, Peer, PeerOptions};
use clap::Args;
use serde_json::json;
use tokio::sync::mpsc;

use crate::call::{call, initialize};
use bobbin_server::attach;
use bobbin_server::signals::Signals;
use bobbin_server::state;
use bobbin_server::telemetry::LogOptions;
use bobbin_server::{console, telemetry};

/// Ends of forwards that wait to be looked at; the connection waits beyond.
const WAITING: usize = 16;

/// Arguments of `bobbin forward`.
#[derive(Debug, Args)]
pub(crate) struct Forward {
    /// The thread, as `bobbin threads` lists it.
    thread: String,
    /// The port that a command of the thread listens on.
    port: NonZeroU16,
    /// The port on this machine; the same when left out, or a free one if that is taken or was that of a Bobbin page.
    #[arg(long, value_name = "PORT")]
    to: Option<NonZeroU16>,
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
}

/// Forwards the port until a signal comes or the forward ends.
pub(crate) async fn run(forward: Forward) -> anyhow::Result<ExitCode> {
    telemetry::start(&LogOptions::default(), "error")?;
    let mut signals = Signals::listen()?;
    let workspace = state::workspace(forward.workspace.as_deref())?;
    let joined = attach::running(&workspace).await?;
    let (ends, mut ended) = mpsc::channel(WAITING);
    let handlers =
        Handlers::new().on_notification_deferred("forward/ended", Mode::ordered("in"), move |cx| {
            let ends = ends.clone();
            async move {
                let params = cx.params.as_deref().map_or("null", |params| params.get());
                if let Ok(end) = serde_json::from_str::<ForwardEndedNotification>(params) {
                    drop(ends.send(end.forward.forward_id).await);
                }
            }
        });
    let peer = Peer::start(joined.transport, PeerOptions::default(), |_| handlers)?;
    let handle = peer.handle();
    let capabilities = json!({ "workspaceTrust": true, "extensions": { "forward": true } });
    initialize(&handle, "bobbin-forward", &capabilities).await?;
    let params = ForwardStartParams {
        thread_id: forward.thread,
        port: forward.port,
        to: forward.to,
    };
    let started = call(&handle, "forward/start", &serde_json::to_value(params)?).await?;
    let ForwardResult { forward } = serde_json::from_value(started)?;
    console::say(&format!(
        "{} leads to port {} of {}, for programs {}; Ctrl-C ends it",
        forward.url, forward.port, forward.thread_id, forward.address
    ));
    let over = async {
        while let Some(id) = ended.recv().await {
            if id == forward.forward_id {
                return;
            }
        }
    };
    let done = tokio::select! {
        () = signals.next() => Ok(ExitCode::SUCCESS),
        () = over => Err(anyhow::anyhow!(
            "the forward was ended: by another client, or because its thread was archived or deleted"
        )),
        () = handle.closed() => Err(anyhow::anyhow!("the server has stopped")),
    };
    // The forward ends with the connection.
    handle.shutdown().await;
    done
}
