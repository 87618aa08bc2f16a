//! The editor endpoint: `bobbin eca` on stdio.
//!
//! The workspace is the one that the editor names in its handshake. `bobbin eca` passes messages on to the server that runs
//! there, and starts it where there is none. Exit codes: 0 after `shutdown` and `exit` or at the end of input, 1 after `exit`
//! alone or when the server goes away, and the ordinary ones when the workspace cannot be served (ECA section 4.5).

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bobbin_editor_kit::bridge;
use clap::{Args, ValueEnum};

use bobbin_server::attach;
use bobbin_server::exit::Failure;
use bobbin_server::signals::Signals;
use bobbin_server::telemetry::LogOptions;
use bobbin_server::{console, exit, telemetry};

/// The options that plugins pass.
#[derive(Debug, Args)]
pub(crate) struct Eca {
    /// The level of the log on stderr.
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<Level>,
    /// Log more.
    #[arg(long)]
    verbose: bool,
    /// Taken from plugins that pass it; such a file is not read.
    #[arg(long, value_name = "PATH", hide = true)]
    config_file: Option<PathBuf>,
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

/// Passes the messages of one editor to the server of its workspace.
pub(crate) async fn run(eca: Eca) -> anyhow::Result<ExitCode> {
    let level = match (eca.log_level, eca.verbose) {
        (Some(Level::Error), _) => "error",
        (Some(Level::Info), _) => "info",
        (Some(Level::Debug), _) | (None, true) => "debug",
        (Some(Level::Warn), _) | (None, false) => "warn",
    };
    let log = LogOptions::of_level(level);
    telemetry::start(&log, level)?;
    if let Some(file) = eca.config_file {
        let file = file.display();
        tracing::warn!("{file} is not read; settings belong in .craft/config.json");
    }
    let mut signals = Signals::listen()?;
    let mut editor = bobbin_transport::stdio_with_headers()?;
    let reaching = async {
        let (first, wanted) = match bridge::handshake(&mut editor, bobbin_eca::early).await {
            Ok(hello) => hello,
            Err(end) => return Ok(Err(end)),
        };
        let parent = wanted.parent;
        match attach::editor(wanted, &log).await {
            Ok(server) => Ok(Ok((first, parent, server))),
            Err(error) => {
                let answer = bobbin_eca::cannot_open(&first, format!("{error:#}"));
                // Where the editor is gone, the message of the exit code says it.
                drop(editor.send(answer).await);
                Err(error)
            }
        }
    };
    let reached = tokio::select! {
        reached = reaching => reached?,
        () = signals.next() => Err(bridge::End::Left),
    };
    let end = match reached {
        Ok((first, parent, server)) => {
            let both = bridge::Joined {
                editor,
                first: Some(first),
                parent,
                server,
            };
            bridge::run(both, signals.next()).await
        }
        Err(end) => end,
    };
    joined(end)
}

/// Returns how a process ends that has passed messages to a server.
pub(crate) fn joined(end: bridge::End) -> anyhow::Result<ExitCode> {
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
            message: "the server of this workspace has ended; start the session again".to_owned(),
        }
        .into()),
    }
}
