//! `bobbin hermes`: lists extensions, checks messages, and has an extension change a file, without a server.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bobbin_agent_api::SystemClock;
use bobbin_children::Environment;
use bobbin_hermes::{Entry, ExtensionState, ExtensionStatus, Host, News, SaveTo, Source};
use bobbin_hl7::{Document, Findings, Limits, Schema};
use bobbin_model::{Lines, ThreadId, visible};
use bobbin_settings::Declared;
use clap::{Args, Subcommand};
use tokio::sync::watch;

use bobbin_server::environment::children;
use bobbin_server::hermes::{specs, surroundings};
use bobbin_server::signals::Signals;
use bobbin_server::{config, console, exit, state};

/// The exit code of `validate` when something does not fit.
const DOES_NOT_FIT: u8 = 1;
/// The exit code of `run` when the extension has changed nothing.
const UNCHANGED: u8 = 3;
/// Lines of an extension's log that are shown when it fails.
const MAX_LINES: usize = 20;

/// Arguments of `bobbin hermes`.
#[derive(Debug, Args)]
pub(crate) struct HermesCommand {
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR", global = true)]
    workspace: Option<PathBuf>,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the extensions of the configuration, and whether they may run.
    List,
    /// Compare an HL7 message with the schema of common segments; exit with 1 if something does not fit.
    Validate {
        /// The file with the message.
        file: PathBuf,
    },
    /// Have an extension run a command on the message of a file, and save what it made of it.
    ///
    /// Exit codes: 0 changed and saved, 1 could not run, 2 wrong usage, 3 the extension changed nothing, 5 interrupted.
    Run {
        /// The extension, by its name or path in the configuration.
        extension: String,
        /// The command.
        command: String,
        /// The file with the message.
        file: PathBuf,
        /// Save to this file instead, and leave the other as it is.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// How long the extension may take until its first change, in seconds.
        #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
        wait: u64,
    },
}

/// Does what was asked.
///
/// # Errors
/// The configuration or the file cannot be read, or the extension cannot run.
pub(crate) async fn run(HermesCommand { workspace, action }: HermesCommand) -> anyhow::Result<ExitCode> {
    match action {
        Action::List => {
            let workspace = state::workspace(workspace.as_deref())?;
            let config = config::read(&workspace.root, state::home().as_deref())?;
            match config.hermes.extensions.as_deref() {
                None => console::say(
                    "No Hermes extensions are configured: HermesExtensions is in no configuration file. docs/hermes.md says what \
                     it can have.",
                ),
                Some([]) => {
                    console::say("No Hermes extensions are configured; documents are there for clients.");
                }
                Some(all) => console::stream(&list(all)),
            }
            Ok(ExitCode::SUCCESS)
        }
        Action::Validate { file } => {
            let found = validate(&file)?;
            let lines = found.findings.iter().map(|finding| {
                let place = finding.path.as_ref();
                let place = place.map_or_else(|| "message".to_owned(), ToString::to_string);
                format!("{place}: {}\n", finding.message)
            });
            let mut text: String = lines.collect();
            if found.truncated {
                text += "there is more\n";
            }
            console::stream(&text);
            let fits = found.findings.is_empty();
            Ok(if fits {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(DOES_NOT_FIT)
            })
        }
        Action::Run {
            extension,
            command,
            file,
            output,
            wait,
        } => {
            let mut signals = Signals::listen()?;
            let file = file.canonicalize().with_context(|| file.display().to_string())?;
            let extension = Extension::start(workspace.as_deref(), &extension)?;
            let ran = extension.change(&command, file, output, Duration::from_secs(wait));
            let done = tokio::select! {
                done = ran => done,
                () = signals.next() => Ok(ExitCode::from(exit::INTERRUPTED)),
            };
            extension.host.end().await;
            done
        }
    }
}

fn list(all: &[Declared<Entry>]) -> String {
    let lines = all.iter().map(|one| {
        let state = match (one.config.enabled, one.trusted) {
            (false, _) => "disabled",
            (true, true) => "enabled",
            (true, false) => "not trusted",
        };
        let name = one.config.name.as_deref().unwrap_or("-");
        let line = [std::slice::from_ref(&one.config.path), &one.config.args]
            .concat()
            .join(" ");
        let line = format!("{state}\t{name}\t{line}");
        format!("{}\n", visible(&line, Lines::Keep).replace('\n', " "))
    });
    lines.collect()
}

fn validate(file: &Path) -> anyhow::Result<Findings> {
    let limits = Limits::default();
    let bytes = bobbin_files::read_bytes(file, limits.max_text_bytes as u64);
    let bytes = bytes.with_context(|| file.display().to_string())?;
    let document = Document::open(&bytes, limits).with_context(|| file.display().to_string())?;
    match document.message() {
        Ok(message) => Ok(Schema::base().validate(&message)),
        Err(error) => bail!("{}: {error}", file.display()),
    }
}

/// One extension that runs for a command.
struct Extension {
    host: Host,
    status: watch::Receiver<Option<ExtensionStatus>>,
}

impl Extension {
    /// Starts an extension of the configuration, by its name or path.
    fn start(workspace: Option<&Path>, wanted: &str) -> anyhow::Result<Self> {
        let workspace = state::workspace(workspace)?;
        let config = config::read(&workspace.root, state::home().as_deref())?;
        let all = config.hermes.extensions.unwrap_or_default();
        let is_wanted = |one: &Declared<Entry>| {
            let name = one.config.name.as_deref();
            one.config.path == wanted || name.is_some_and(|name| name.eq_ignore_ascii_case(wanted))
        };
        let at = all.iter().position(is_wanted).with_context(|| {
            format!("there is no Hermes extension {wanted}; `bobbin hermes list` shows those there are")
        })?;
        let environment = Environment::from_base(std::env::vars_os());
        let mut spec = specs(&all, &surroundings(&workspace, &environment), None).swap_remove(at);
        // Who names it wants it to run.
        spec.entry.enabled = true;
        let (sender, status) = watch::channel(None);
        let announce = Arc::new(move |news| {
            if let News::Extension(status) = news {
                sender.send_replace(Some(status));
            }
        });
        let host = Host::new(children(), Arc::new(SystemClock), announce, None);
        host.load(vec![spec])?;
        Ok(Self { host, status })
    }

    /// Runs a command on a file, and saves what became of it.
    async fn change(
        &self,
        command: &str,
        file: PathBuf,
        output: Option<PathBuf>,
        wait: Duration,
    ) -> anyhow::Result<ExitCode> {
        self.host.settled().await;
        let mut all = self.host.extensions().into_iter();
        if let Some(one) = all.find(|one| one.state != ExtensionState::Running) {
            bail!("the extension does not run{}", self.why(&one));
        }
        let mut status = self.status.clone();
        let thread = ThreadId::new("command-line");
        self.host.open(&thread, Source::File(file.clone()), false).await?;
        let has_ended = status.wait_for(|status| {
            status
                .as_ref()
                .is_some_and(|one| one.state == ExtensionState::Failed)
        });
        let changed = tokio::select! {
            biased;
            changed = self.host.execute_and_wait(command, &thread, wait) => changed?,
            ended = has_ended => {
                let ended = ended.map(|status| status.clone());
                bail!("the extension ended{}", ended.ok().flatten().map_or_else(String::new, |one| self.why(&one)));
            }
        };
        if changed.is_none() {
            console::complain(&format!(
                "the extension has not changed the message within {wait:?}"
            ));
            return Ok(ExitCode::from(UNCHANGED));
        }
        let output = output.map(std::path::absolute).transpose()?;
        let to = output.map_or(SaveTo::OwnFile, SaveTo::AnyFile);
        let saved = self.host.save(&thread, to).await?;
        let path = saved.file_path.unwrap_or(file);
        console::say(&format!("saved {}", path.display()));
        Ok(ExitCode::SUCCESS)
    }

    /// Returns why an extension does not run, with the end of its log, to follow a sentence.
    fn why(&self, status: &ExtensionStatus) -> String {
        let mut why = status
            .error
            .as_ref()
            .map_or_else(String::new, |error| format!(": {error}"));
        for record in self
            .host
            .logs(status.id.as_str(), None, MAX_LINES)
            .unwrap_or_default()
        {
            why.push_str("\n  ");
            why.push_str(&visible(&record.message, Lines::One));
        }
        why
    }
}
