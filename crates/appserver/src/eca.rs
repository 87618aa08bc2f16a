//! `bobbin eca`: the editor door on stdio, in a process of its own.
//!
//! The workspace is the one that the editor names in its handshake, so it is held and opened then. Exit codes:
//! 0 after `shutdown` and `exit` or at the end of input, 1 after `exit` alone, and the ordinary ones when the
//! workspace cannot be served (ECA section 4.5).

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bobbin_core::Hub;
use bobbin_eca::{End, Failure, Host, Notice, NoticeKind, Offer, Wanted};
use bobbin_model::Mode;
use clap::{Args, ValueEnum};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::cli::home;
use crate::config::Config;
use crate::signals::Signals;
use crate::workspace::{Held, Workspace};
use crate::{console, exit, logging, server};

/// How long the end may take once the editor has left (ECA section 4.5).
const END: Duration = Duration::from_secs(2);
/// Name of the engine that needs no model, among models.
const OFFLINE: &str = "offline";

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
    logging::start(match (eca.log_level, eca.verbose) {
        (Some(Level::Error), _) => "error",
        (Some(Level::Info), _) => "info",
        (Some(Level::Debug), _) | (None, true) => "debug",
        (Some(Level::Warn), _) | (None, false) => "warn",
    })?;
    let mut signals = Signals::listen()?;
    let workplace = Arc::new(Workplace {
        config_file: eca.config_file,
        open: Mutex::new(Open::Nothing),
    });
    let serving = bobbin_eca::serve(bobbin_transport::stdio_with_headers(), workplace.clone());
    tokio::pin!(serving);
    let end = tokio::select! {
        end = &mut serving => Some(end),
        () = signals.next() => None,
    };
    let open = std::mem::replace(&mut *workplace.open.lock(), Open::Nothing);
    let (held, hub) = match open {
        Open::Nothing => (None, None),
        Open::Refused(error) => return Err(error),
        Open::Served(held, hub) => (Some(held), Some(hub)),
    };
    let ending = async {
        if let Some(hub) = hub {
            hub.stop().await;
        }
        if end.is_none() {
            // The connection ends when everything is said.
            serving.await;
        }
    };
    if tokio::time::timeout(END, ending).await.is_err() {
        tracing::warn!("the end took too long; leaving anyway");
    }
    drop(held);
    Ok(match end {
        Some(End::Exited {
            after_shutdown: false,
        }) => ExitCode::from(exit::FAILED),
        _ => ExitCode::SUCCESS,
    })
}

/// Where the editor's workspace is opened.
struct Workplace {
    config_file: Option<PathBuf>,
    open: Mutex<Open>,
}

/// What has become of it.
enum Open {
    Nothing,
    Refused(anyhow::Error),
    Served(Held, Arc<Hub>),
}

impl Host for Workplace {
    fn open(&self, wanted: Wanted) -> BoxFuture<'_, Result<Offer, Failure>> {
        async move {
            match self.serve(wanted).await {
                Ok((held, offer)) => {
                    *self.open.lock() = Open::Served(held, offer.hub.clone());
                    Ok(offer)
                }
                Err(error) => {
                    let failure = Failure(format!("{error:#}"));
                    *self.open.lock() = Open::Refused(error);
                    Err(failure)
                }
            }
        }
        .boxed()
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

impl Workplace {
    async fn serve(&self, wanted: Wanted) -> anyhow::Result<(Held, Offer)> {
        let workspace = Workspace::find(wanted.root.as_deref())?;
        let (config, notices) = self.configuration(&workspace, wanted.pure_config)?;
        let held = workspace.hold()?;
        let (hub, tools) = server::open(&held, &config).await?;
        held.announce(None)?;
        let offer = Offer {
            hub,
            models: vec![OFFLINE.to_owned()],
            default_model: OFFLINE.to_owned(),
            tools: tools.specs(Mode::Agent),
            config_files: config.sources,
            home: home(),
            notices,
        };
        Ok((held, offer))
    }

    /// Reads the configuration. A broken file keeps no editor from working: its user is told.
    fn configuration(&self, workspace: &Workspace, pure: bool) -> anyhow::Result<(Config, Vec<Notice>)> {
        let notice = |kind, message: &str| Notice {
            kind,
            message: message.to_owned(),
        };
        let mut notices = Vec::new();
        if let Some(file) = &self.config_file {
            let text = format!(
                "{} is not read; settings belong in .craft/config.json",
                file.display()
            );
            notices.push(notice(NoticeKind::Warning, &text));
        }
        if pure {
            return Ok((Config::defaults()?, notices));
        }
        let config = match Config::read(&workspace.root, home().as_deref()) {
            Ok(config) => config,
            Err(error) => {
                notices.push(notice(
                    NoticeKind::Error,
                    &format!("{error:#}; the defaults are in force"),
                ));
                Config::defaults()?
            }
        };
        let warnings = config.warnings.iter();
        notices.extend(warnings.map(|warning| notice(NoticeKind::Warning, warning)));
        Ok((config, notices))
    }
}
