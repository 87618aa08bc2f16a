//! `bobbin forward`: makes a port of a thread's commands reachable on this machine, until Ctrl-C.

use std::num::NonZeroU16;
use std::path::PathBuf;
use std::process::ExitCode;

use bobbin_native_wire::forward::types::{ForwardEndedNotification, ForwardResult, ForwardStartParams};
use clap::Args;

use crate::call::{Once, asking, call};
use bobbin_client::{Client, Event};
use bobbin_server::attach;
use bobbin_server::signals::Signals;
use bobbin_server::state;
use bobbin_server::telemetry::LogOptions;
use bobbin_server::{console, telemetry};

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
    let mut options = asking("bobbin-forward");
    options.capabilities.approval_support = true;
    options
        .capabilities
        .extensions
        .insert("forward".to_owned(), true.into());
    let (client, mut events) = Client::start(Once(Some(joined.transport)), options);
    let params = ForwardStartParams {
        thread_id: forward.thread,
        port: forward.port,
        to: forward.to,
    };
    let ForwardResult { forward } = call(&client, "forward/start", &params).await?;
    console::say(&format!(
        "{} leads to port {} of {}, for programs {}; Ctrl-C ends it",
        forward.url, forward.port, forward.thread_id, forward.address
    ));
    let over = async {
        loop {
            let ended = match events.next().await {
                Some(Event::Notification(news)) if news.method.as_ref() == "forward/ended" => {
                    news.params::<ForwardEndedNotification>()
                }
                Some(Event::Closed { .. }) | None => return "the server has stopped",
                Some(_) => None,
            };
            if ended.is_some_and(|ended| ended.forward.forward_id == forward.forward_id) {
                return "the forward was ended: by another client, or because its thread was archived or deleted";
            }
        }
    };
    let done = tokio::select! {
        () = signals.next() => Ok(ExitCode::SUCCESS),
        why = over => Err(anyhow::anyhow!(why)),
    };
    // The forward ends with the connection.
    client.close().await;
    events.ended().await;
    done
}
