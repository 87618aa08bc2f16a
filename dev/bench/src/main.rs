//! `bobbin-bench`: the driver's command line. `cargo xtask bench` builds and calls it.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use bobbin_bench::{Bare, Extent, Failure, Plan, Progress};
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
    /// Measures an older server in turns with it, and prints ratios; without --scenario, what most changes touch.
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,
    /// How often each of the two is measured, 1 to 9 times.
    #[arg(long, value_name = "COUNT", default_value_t = 3, requires = "against",
          value_parser = clap::value_parser!(u8).range(1..=9))]
    rounds: u8,
    /// Where workspaces are made and removed again: a disk, or commits cost nothing. Beside this program when
    /// left out.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    match cli.part {
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
    let server = measure.server.clone().unwrap_or_else(|| beside.join("bobbin"));
    let plan = Plan {
        // It is started from other directories.
        server: server
            .canonicalize()
            .with_context(|| format!("there is no server {}", server.display()))?,
        scratch: measure.scratch.clone().unwrap_or_else(|| beside.join("scratch")),
        driver: driver.clone(),
        extent: if measure.quick {
            Extent::Quick
        } else {
            Extent::Full
        },
        only: measure.scenario.clone(),
    };
    if let Some(old) = &measure.against {
        let old = old
            .canonicalize()
            .with_context(|| format!("there is no server {}", old.display()))?;
        writeln!(out, "old: {}\nnew: {}\n", old.display(), plan.server.display())?;
        let rounds = usize::from(measure.rounds);
        let comparison = bobbin_bench::compare(&plan, &old, rounds, print).await?;
        let json = serde_json::to_string_pretty(&comparison)?;
        return end(&measure, &json, &comparison.table(), &comparison.failed);
    }
    let report = bobbin_bench::run(&plan, |step| print("", step)).await?;
    let json = serde_json::to_string_pretty(&report)?;
    end(&measure, &json, &report.table(), &report.failed)
}

/// Prints progress for a person who watches; without a terminal nobody misses it.
fn print(which: &str, progress: Progress<'_>) {
    let mut out = std::io::stderr();
    match progress {
        Progress::Begins(name) => drop(writeln!(out, "{which} {name} …")),
        Progress::Failed(reason) => drop(writeln!(out, "  FAILED: {reason}")),
        Progress::Done(took, rows) => {
            for row in rows {
                drop(writeln!(out, "  {}", row.line()));
            }
            drop(writeln!(out, "  ({:.1} s)", took.as_secs_f64()));
        }
    }
}

/// Writes the figures, as JSON or as a table.
fn end(measure: &Measure, json: &str, table: &str, failed: &[Failure]) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    if let Some(file) = &measure.save {
        std::fs::write(file, format!("{json}\n"))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    if measure.json {
        writeln!(out, "{json}")?;
    } else {
        write!(out, "{table}")?;
    }
    if let Some(failure) = failed.first() {
        bail!(
            "{} of the scenarios gave no figures, the first of them {}: {}",
            failed.len(),
            failure.scenario,
            failure.reason
        );
    }
    Ok(())
}
