//! `bobbin-bench`: the driver's command line. `cargo xtask bench` builds and calls it.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use bobbin_bench::{Bare, Endpoint, Extent, Plan, Progress};
use clap::{Args, Parser, Subcommand};

/// Measures a native server beside the bare limits of this machine.
#[derive(Debug, Parser)]
#[command(name = "bobbin-bench", version)]
struct Cli {
    #[command(subcommand)]
    part: Option<Part>,
    #[command(flatten)]
    measure: Measure,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Serves a workspace with a model that streams by the clock (what the scenarios start).
    #[command(hide = true)]
    AppServer {
        #[arg(long)]
        workspace: PathBuf,
        #[arg(long)]
        listen: Option<String>,
    },
    /// Serves the least that could do the job (what the scenarios start).
    #[command(hide = true)]
    Bare {
        what: Bare,
        #[arg(long)]
        state: Option<PathBuf>,
    },
    /// Is a FineCode runner (what the scenarios configure).
    #[command(hide = true)]
    Runner {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Is a Hermes extension (what the scenarios configure).
    #[command(hide = true)]
    Extension {
        /// Tells it from others.
        number: usize,
    },
}

#[derive(Debug, Args)]
struct Measure {
    /// Only this scenario; see --list.
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,
    /// As little as shows that the driver works; the figures mean nothing.
    #[arg(long)]
    quick: bool,
    /// JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Writes the JSON to a file too.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Names the scenarios and what they measure, and does nothing.
    #[arg(long)]
    list: bool,
    /// The server to measure; the bobbin beside this program when left out.
    #[arg(long, value_name = "PROGRAM")]
    server: Option<PathBuf>,
    /// Where workspaces are made and removed again: a disk, or commits cost nothing. Beside this program when
    /// left out.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    match cli.part {
        Some(Part::AppServer { workspace, listen }) => {
            let endpoint = if listen.is_some() {
                Endpoint::WebSocket
            } else {
                Endpoint::Stdio
            };
            bobbin_bench::serve_scripted(&workspace, endpoint).await
        }
        Some(Part::Bare { what, state }) => bobbin_bench::serve_bare(what, state.as_deref()).await,
        Some(Part::Runner { arguments }) => bobbin_bench::serve_runner(arguments).await,
        Some(Part::Extension { .. }) => bobbin_bench::serve_extension().await,
        None => measure(cli.measure).await,
    }
}

async fn measure(measure: Measure) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    if measure.list {
        for (name, about) in bobbin_bench::names() {
            writeln!(out, "{name:14} {about}")?;
        }
        return Ok(());
    }
    let driver = std::env::current_exe().context("this program's own file is not known")?;
    let beside = driver.parent().unwrap_or(Path::new("."));
    let server = measure.server.unwrap_or_else(|| beside.join("bobbin"));
    let plan = Plan {
        // It is started from other directories.
        server: server
            .canonicalize()
            .with_context(|| format!("there is no server {}", server.display()))?,
        scratch: measure.scratch.unwrap_or_else(|| beside.join("scratch")),
        driver: driver.clone(),
        extent: if measure.quick {
            Extent::Quick
        } else {
            Extent::Full
        },
        only: measure.scenario,
    };
    let mut told = std::io::stderr();
    // Progress is for whoever watches; without a terminal nobody misses it.
    let report = bobbin_bench::run(&plan, |progress| match progress {
        Progress::Begins(name) => drop(writeln!(told, "{name} …")),
        Progress::Failed(reason) => drop(writeln!(told, "  FAILED: {reason}")),
        Progress::Done(took, rows) => {
            for row in rows {
                drop(writeln!(told, "  {}", row.line()));
            }
            drop(writeln!(told, "  ({:.1} s)", took.as_secs_f64()));
        }
    })
    .await?;
    let json = serde_json::to_string_pretty(&report)?;
    if let Some(file) = &measure.save {
        std::fs::write(file, format!("{json}\n"))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    if measure.json {
        writeln!(out, "{json}")?;
    } else {
        write!(out, "{}", report.table())?;
    }
    if let Some(failure) = report.failed.first() {
        bail!(
            "{} of the scenarios gave no figures, the first of them {}: {}",
            report.failed.len(),
            failure.scenario,
            failure.reason
        );
    }
    Ok(())
}
