//! The Hermes extensions of a workspace: from the configuration to what the host runs; and `bobbin hermes`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use bobbin_agent_api::{Features, SystemClock};
use bobbin_children::{Children, Environment};
use bobbin_config::{Config, DeclaredExtension};
use bobbin_core::Hub;
use bobbin_hermes::{ExtensionSpec, Host, StartCheck, Surroundings};
use bobbin_hl7::{Document, Findings, Limits, Schema};
use bobbin_workspace::Workspace;
use clap::{Args, Subcommand};

use crate::cli;
use crate::config;
use crate::console;

/// The exit code of `validate` when something does not fit.
const DOES_NOT_FIT: u8 = 1;

/// The extensions of a running server, if its configuration has the section, and what to start of them.
#[derive(Clone)]
pub(crate) struct Hermes(Option<(Arc<Host>, Vec<ExtensionSpec>)>);

impl Hermes {
    pub(crate) fn new(config: &Config, hub: &Arc<Hub>, (place, children): (Surroundings, Children)) -> Self {
        Self(config.hermes.as_deref().map(|declared| {
            let announce = bobbin_hermes_native::announce(hub.clone());
            let host = Host::new(children, Arc::new(SystemClock), announce);
            (Arc::new(host), specs(declared, &place))
        }))
    }

    /// Starts what is enabled and trusted.
    ///
    /// # Errors
    /// The host cannot take the extensions.
    pub(crate) fn begin(&self) -> anyhow::Result<()> {
        if let Some((host, specs)) = &self.0 {
            host.load(specs.clone())?;
        }
        Ok(())
    }

    /// Adds what clients may ask.
    pub(crate) fn offer(&self, features: Features) -> Features {
        match &self.0 {
            Some((host, _)) => features.with(host.clone()),
            None => features,
        }
    }

    /// Ends all extensions.
    pub(crate) async fn end(&self) {
        if let Some((host, _)) = &self.0 {
            host.end().await;
        }
    }
}

/// Returns what to start.
fn specs(declared: &[DeclaredExtension], place: &Surroundings) -> Vec<ExtensionSpec> {
    let declared = declared.iter().enumerate();
    let specs = declared.map(|(position, declared)| {
        let mut spec = ExtensionSpec::new(declared.entry.clone(), position, place);
        if !declared.trusted {
            spec.launch = Err(
                "it comes with the workspace, which you have not trusted with it; `bobbin trust` shows what it runs"
                    .to_owned(),
            );
        }
        let declared = declared.clone();
        spec.check = Some(StartCheck(Arc::new(move || {
            if declared.is_as_trusted() {
                Ok(())
            } else {
                Err(
                    "a file that its command line names has changed since you trusted it; `bobbin trust` shows it"
                        .to_owned(),
                )
            }
        })));
        spec
    });
    specs.collect()
}

/// Returns where the extensions of a workspace run.
pub(crate) fn surroundings(workspace: &Workspace, environment: &Environment) -> Surroundings {
    Surroundings {
        cwd: workspace.root.clone(),
        environment: environment.clone(),
        data: workspace.state_directory().path().join("hermes"),
        version: env!("CARGO_PKG_VERSION"),
    }
}

/// Arguments of `bobbin hermes`.
#[derive(Debug, Args)]
pub(crate) struct HermesCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the extensions of the configuration, and whether they may run.
    List {
        /// The workspace; the current directory when left out.
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Compare an HL7 message with the schema of common segments; exit with 1 if something does not fit.
    Validate {
        /// The file with the message.
        file: PathBuf,
    },
}

/// Does what was asked.
///
/// # Errors
/// The configuration or the file cannot be read.
pub(crate) fn run(command: HermesCommand) -> anyhow::Result<ExitCode> {
    match command.action {
        Action::List { workspace } => {
            let root = workspace.unwrap_or_else(|| ".".into());
            let root = root.canonicalize().with_context(|| root.display().to_string())?;
            let config = config::read(&root, cli::home().as_deref())?;
            console::stream(&list(config.hermes.as_deref().unwrap_or_default()));
            Ok(ExitCode::SUCCESS)
        }
        Action::Validate { file } => {
            let found = validate(&file)?;
            let lines = found.findings.iter().map(|finding| {
                let place = finding.path.as_ref();
                let place = place.map_or_else(|| "message".to_owned(), ToString::to_string);
                format!(
                    "{place}: {}
",
                    finding.message
                )
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
    }
}

fn list(all: &[DeclaredExtension]) -> String {
    let lines = all.iter().map(|one| {
        let state = match (one.entry.enabled, one.trusted) {
            (false, _) => "disabled",
            (true, true) => "enabled",
            (true, false) => "not trusted",
        };
        let name = one.entry.name.as_deref().unwrap_or("-");
        let line = [std::slice::from_ref(&one.entry.path), &one.entry.args]
            .concat()
            .join(" ");
        let line = format!("{state}\t{name}\t{line}");
        format!(
            "{}\n",
            bobbin_model::visible(&line, bobbin_model::Lines::Keep).replace('\n', " ")
        )
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
