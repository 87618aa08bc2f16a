//! Requests to a server of this user, by the commands that are its clients.

use std::future::ready;

use anyhow::bail;
use bobbin_client::{Client, Connect, Event, Options};
use bobbin_framing::Transport;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use bobbin_config::Config;
use bobbin_server::{attach, console, opened, server};
use bobbin_workspace::Workspace;

/// Asks the server that runs in the workspace. Where none runs, opens the workspace, and starts and resumes nothing in it.
///
/// # Errors
/// `ask` fails; a process serves the workspace and cannot be joined; the state cannot be opened.
pub(crate) async fn ask_server<T>(
    workspace: &Workspace,
    config: &Config,
    options: Options,
    ask: impl AsyncFnOnce(&Client) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    if workspace.holder().is_none() {
        let locked = workspace.hold().await?;
        let opened = opened::prepare(&locked, config, &CancellationToken::new()).await?;
        for complaint in config.warnings.iter().chain(&opened.complaints) {
            console::complain(complaint);
        }
        let (ours, serving) = server::serve_in_memory(&opened);
        let asked = ask_through(ours, options, ask).await;
        opened.end().await;
        drop(serving.await);
        return asked;
    }
    ask_running(workspace, options, ask).await
}

/// Asks the server that runs in the workspace.
///
/// # Errors
/// None runs; else as [`ask_server`].
pub(crate) async fn ask_running<T>(
    workspace: &Workspace,
    options: Options,
    ask: impl AsyncFnOnce(&Client) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    ask_through(attach::running(workspace).await?.transport, options, ask).await
}

/// Asks the server at the other end of a connection.
///
/// # Errors
/// `ask` fails; the server refuses this client, or is gone.
pub(crate) async fn ask_through<T>(
    transport: Transport,
    options: Options,
    ask: impl AsyncFnOnce(&Client) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let (client, mut events) = Client::start(Once(Some(transport)), options);
    let ended = async {
        loop {
            match events.next().await {
                Some(Event::Closed { why }) => return why,
                Some(_) => {}
                None => return "the client has ended".to_owned(),
            }
        }
    };
    let asked = tokio::select! {
        biased;
        asked = ask(&client) => asked,
        why = ended => bail!(why),
    };
    client.close().await;
    events.ended().await;
    asked
}

/// A connection that is made already, and is not made again.
pub(crate) struct Once(pub(crate) Option<Transport>);

impl Connect for Once {
    fn connect(&mut self) -> BoxFuture<'_, Result<Transport, String>> {
        let transport = self.0.take().ok_or_else(|| "the server is gone".to_owned());
        ready(transport).boxed()
    }
}

/// Returns the options of a command of this name that answers no questions.
pub(crate) fn asking(name: &str) -> Options {
    let mut options = Options::new(name, env!("CARGO_PKG_VERSION"));
    options.reconnects = false;
    options.capabilities.approval_support = false;
    options.capabilities.user_input_support = false;
    // It knows the trust in the folder: the notice about that is for others.
    options.capabilities.workspace_trust = true;
    options
}

/// Calls a method and returns its result.
///
/// # Errors
/// The server refuses, or is gone.
pub(crate) async fn call<R: DeserializeOwned>(
    client: &Client,
    method: &'static str,
    params: &(impl Serialize + Sync),
) -> anyhow::Result<R> {
    Ok(client.send(method, params).await?)
}
