//! `bobbin codex`: the Codex terminal client on the server of the workspace.
//!
//! The client only connects to an address. So this process opens one on loopback, for its child alone and with a token of its
//! own, and passes each connection on to the server's socket. A server that was killed is started again with the next
//! connection.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use bobbin_framing::{CloseReason, Transport};
use bobbin_server::attach;
use bobbin_server::signals::Signals;
use bobbin_server::telemetry::LogOptions;
use bobbin_server::{state, telemetry};
use bobbin_transport::{
    Access, Admission, Caller, Connections, Listener, ROOT_WEB_SOCKET, Router, web_socket,
};
use bobbin_workspace::Workspace;
use clap::Args;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::first_start;

/// The client.
pub(crate) const PROGRAM: &str = "codex";
/// The variable with the token, in the client's environment.
const TOKEN: &str = "BOBBIN_CODEX_TOKEN";
/// Longest message of the client: a prompt with its pictures.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// Arguments of `bobbin codex`.
#[derive(Debug, Args)]
pub(crate) struct Codex {
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    #[command(flatten)]
    log: LogOptions,
    /// Arguments of `codex` itself, such as a prompt, or `resume --last`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Passes connections on to the server of a workspace.
struct Relay {
    workspace: Workspace,
    log: LogOptions,
}

impl Connections for Relay {
    fn serve(&self, client: Transport, _: Caller) -> BoxFuture<'static, ()> {
        let (workspace, log) = (self.workspace.clone(), self.log.clone());
        async move {
            match attach::codex(&workspace, &log).await {
                Ok(server) => pass(client, server).await,
                Err(error) => tracing::warn!("the server cannot be joined: {error:#}"),
            }
        }
        .boxed()
    }
}

/// Passes messages in both directions until one side ends.
async fn pass(mut client: Transport, mut server: Transport) {
    loop {
        tokio::select! {
            message = client.next() => match message {
                Some(Ok(message)) if server.send(message.clone()).await.is_ok() => {}
                _ => break,
            },
            message = server.next() => match message {
                Some(Ok(message)) if client.send(message.clone()).await.is_ok() => {}
                _ => break,
            },
        }
    }
    let reason = CloseReason::new(1001, "the connection ended");
    drop(client.close(&reason).await);
    drop(server.close(&reason).await);
}

/// Runs the client until it ends, and ends with its exit code.
pub(crate) async fn run(codex: Codex) -> anyhow::Result<ExitCode> {
    telemetry::start(&codex.log, "off")?;
    let workspace = state::workspace(codex.workspace.as_deref())?;
    crate::exec::settle_trust(&workspace, false, true)?;
    first_start::choose_policy(&workspace).await?;
    let mut signals = Signals::listen()?;
    let listener = Listener::bind(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0)).await?;
    let address = listener.address();
    let token = token()?;
    let admission = Admission {
        token: Some(token.clone()),
        origins: Vec::new(),
        hosts: Vec::new(),
    };
    let access = Access::new(address, admission)?;
    let relay = Arc::new(Relay {
        workspace: workspace.clone(),
        log: codex.log,
    });
    let router = Router::new().route(ROOT_WEB_SOCKET, web_socket(MAX_MESSAGE_BYTES, relay));
    let stop = CancellationToken::new();
    let cut = CancellationToken::new();
    let listener = listener.with_cut(cut.clone());
    let is_ready = Arc::new(|| std::future::ready(true).boxed());
    let serving = tokio::spawn(listener.run(access, router, is_ready, stop.clone()));
    let mut child = client(&workspace, address, &token, &codex.arguments)
        .spawn()
        .with_context(|| {
            format!("`{PROGRAM}` cannot be started; `npm install -g @openai/codex` installs it")
        })?;
    let ended = loop {
        tokio::select! {
            ended = child.wait() => break ended?,
            // The terminal sends Ctrl-C to the client too.
            () = signals.next() => {}
        }
    };
    stop.cancel();
    cut.cancel();
    serving.await?;
    attach::leave(&workspace).await?;
    let code = ended.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the user's own client, with the user's terminal and environment"
)]
fn client(workspace: &Workspace, address: SocketAddr, token: &str, arguments: &[OsString]) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .arg("--remote")
        .arg(format!("ws://{address}"))
        .args(["--remote-auth-token-env", TOKEN])
        .args(arguments)
        .env(TOKEN, token)
        .current_dir(&workspace.root)
        .kill_on_drop(true);
    command
}

/// Returns a secret for one run.
fn token() -> anyhow::Result<String> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).context("the system gives no random bytes")?;
    Ok(random
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .concat())
}
