//! The editor endpoint: `bobbin eca` on stdio, and the editors of a running server.
//!
//! The workspace is the one that the editor names in its handshake. When a server runs there, `bobbin eca`
//! only passes messages on to it; otherwise it holds the workspace and serves by itself, until the editors have left that
//! joined it. Exit codes: 0 after
//! `shutdown` and `exit` or at the end of input, 1 after `exit` alone or when a joined server goes away, and
//! the ordinary ones when the workspace cannot be served (ECA section 4.5).

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bobbin_eca::End;
use bobbin_editor_kit::{bridge, handover};
use clap::{Args, ValueEnum};
use futures_util::FutureExt;

use bobbin_serve::eca::{EditorWorkspace, Open};
use bobbin_serve::exit::Failure;
use bobbin_serve::signals::Signals;
use bobbin_serve::telemetry::LogOptions;
use bobbin_serve::token::TokenOptions;
use bobbin_serve::{console, exit, telemetry};

/// How long the end may take once the editor has left (ECA section 4.5).
const END: Duration = Duration::from_secs(2);

/// The options that plugins pass.
#[derive(Debug, Args)]
pub(crate) struct Eca {
    /// What to log to stderr.
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<Level>,
    /// Log more.
    #[arg(long)]
    verbose: bool,
    /// Taken from plugins that pass it; such a file is not read.
    #[arg(long, value_name = "PATH", hide = true)]
    config_file: Option<PathBuf>,
    #[command(flatten)]
    token: TokenOptions,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

/// Whether we were started as `eca --version`, as Emacs does to show the line; it is printed then.
pub(crate) fn is_asked_for_its_version() -> bool {
    let mut arguments = std::env::args_os();
    let named = arguments
        .next()
        .is_some_and(|name| Path::new(&name).file_name().is_some_and(|name| name == "eca"));
    let asked = named && arguments.next().is_some_and(|argument| argument == "--version");
    if asked {
        console::say(&format!("eca {}", env!("CARGO_PKG_VERSION")));
    }
    asked
}

/// Serves one editor.
pub(crate) async fn run(eca: Eca) -> anyhow::Result<ExitCode> {
    let level = match (eca.log_level, eca.verbose) {
        (Some(Level::Error), _) => "error",
        (Some(Level::Info), _) => "info",
        (Some(Level::Debug), _) | (None, true) => "debug",
        (Some(Level::Warn), _) | (None, false) => "warn",
    };
    telemetry::start(&LogOptions::default(), level)?;
    let mut signals = Signals::listen()?;
    let workspace = Arc::new(EditorWorkspace::new(eca.config_file, eca.token));
    let looking = workspace.clone();
    let (transport, handover) = handover::wrap(
        bobbin_transport::stdio_with_headers()?,
        bobbin_eca::open_request_in,
        Box::new(move |wanted| looking.clone().look(wanted).boxed()),
    );
    let serving = bobbin_eca::serve(transport, workspace.clone());
    tokio::pin!(serving);
    let end = tokio::select! {
        end = &mut serving => Some(end),
        () = signals.next() => None,
        () = workspace.removed.cancelled() => None,
    };
    if let Some(taken) = handover.taken() {
        return joined(bridge::run(taken, signals.next()).await);
    }
    let open = workspace.close();
    if let (Some(_), Open::Served(served)) = (&end, &open) {
        tokio::select! {
            () = served.until_others_have_left() => {}
            () = signals.next() => {}
            () = workspace.removed.cancelled() => {}
        }
    }
    let (held, served) = match open {
        Open::Nothing => (None, None),
        Open::Ready(prepared) => (Some(prepared.held), None),
        Open::Refused(error) => return Err(error),
        Open::Served(served) => (None, Some(served)),
    };
    let ending = async {
        let held = match served {
            Some(served) => Some(served.end().await),
            None => held,
        };
        if end.is_none() {
            // The connection ends when everything is said.
            serving.await;
        }
        held.map(|held| held.workspace().database())
    };
    let database = tokio::time::timeout(END, ending).await;
    if database.is_err() {
        tracing::warn!("the end took too long; leaving anyway");
    }
    if workspace.removed.is_cancelled() {
        let database = database.ok().flatten().unwrap_or_else(|| "bobbin.db".into());
        return Err(exit::removed(&database).into());
    }
    Ok(match end {
        Some(End::Exited {
            after_shutdown: false,
        }) => ExitCode::from(exit::FAILED),
        _ => ExitCode::SUCCESS,
    })
}

/// Returns how an editor's process ends that a running server has taken.
fn joined(end: bridge::End) -> anyhow::Result<ExitCode> {
    match end {
        bridge::End::Left
        | bridge::End::Exited { after_shutdown: true }
        | bridge::End::ServerGone { after_shutdown: true } => Ok(ExitCode::SUCCESS),
        bridge::End::Exited {
            after_shutdown: false,
        } => Ok(ExitCode::from(exit::FAILED)),
        bridge::End::ServerGone {
            after_shutdown: false,
        } => Err(Failure {
            code: exit::FAILED,
            message: "the server of this workspace has ended; start the editor's session again".to_owned(),
        }
        .into()),
    }
}
