//! The log, on stderr or in a file that the user names. stdout may belong to the protocol.
//!
//! A thread of its own writes the file. At most 128,000 lines wait for it; further ones are dropped.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use parking_lot::Mutex;
use tracing::Subscriber;
use tracing_appender::non_blocking::WorkerGuard;
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer};

/// Number of daily log files that stay.
const MAX_FILES: usize = 7;
/// Levels at which libraries do not log, since their lines are for their authors.
const QUIET: [&str; 4] = ["off", "error", "warn", "info"];

/// Dropping the guard writes the remaining lines and ends the file's thread.
static FILE: Mutex<Option<WorkerGuard>> = Mutex::new(None);

/// What to log, how, and where to.
#[derive(Debug, Args, Clone, Default)]
pub struct LogOptions {
    /// What to log: error, warn, info, debug, trace, or a filter by module.
    #[arg(long, value_name = "FILTER", env = "BOBBIN_LOG")]
    pub log: Option<String>,
    /// How a line is written.
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        env = "BOBBIN_LOG_FORMAT",
        default_value_t
    )]
    log_format: Format,
    /// Log to this file instead of stderr. Each day has a new one; seven stay.
    #[arg(long, value_name = "FILE", env = "BOBBIN_LOG_FILE")]
    log_file: Option<PathBuf>,
}

impl LogOptions {
    /// Returns options of this level.
    pub fn of_level(level: &str) -> Self {
        Self {
            log: Some(level.to_owned()),
            ..Self::default()
        }
    }

    /// Returns these options as arguments, for a server to start.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        if let Some(log) = &self.log {
            arguments.extend(["--log".into(), log.into()]);
        }
        if self.log_format == Format::Json {
            arguments.extend(["--log-format".into(), "json".into()]);
        }
        if let Some(file) = &self.log_file {
            let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            arguments.extend(["--log-file".into(), file.into()]);
        }
        arguments
    }
}

/// How a line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts logging. `usual` is the level if the user names none.
///
/// # Errors
/// The filter cannot be read, or the file cannot be written.
pub fn start(options: &LogOptions, usual: &str) -> anyhow::Result<()> {
    let filter = filter(options.log.as_deref().unwrap_or(usual))?;
    let (writer, colors) = match &options.log_file {
        Some(path) => {
            let (writer, guard) = tracing_appender::non_blocking(file(path)?);
            *FILE.lock() = Some(guard);
            (BoxMakeWriter::new(writer), false)
        }
        None => (
            BoxMakeWriter::new(std::io::stderr),
            std::io::IsTerminal::is_terminal(&std::io::stderr()),
        ),
    };
    let lines = lines(options.log_format, writer, colors).with_filter(filter);
    let registry = tracing_subscriber::registry().with(lines);
    #[cfg(feature = "otel")]
    let registry = registry.with(super::traces::layer()?);
    registry.init();
    Ok(())
}

/// Writes the remaining lines. Must be the last call.
pub fn finish() {
    #[cfg(feature = "otel")]
    super::traces::finish();
    drop(FILE.lock().take());
}

fn lines<S: Subscriber + for<'a> LookupSpan<'a>>(
    format: Format,
    writer: BoxMakeWriter,
    colors: bool,
) -> Box<dyn Layer<S> + Send + Sync> {
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_ansi(colors)
        // There is no other place to report a failed log line, and a report on a closed stderr would panic.
        .log_internal_errors(false);
    match format {
        Format::Text => lines.boxed(),
        Format::Json => lines
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(true)
            .boxed(),
    }
}

/// Parses a filter. A bare level applies to Bobbin's own lines; from `debug` on, warnings of libraries are added.
fn filter(text: &str) -> anyhow::Result<EnvFilter> {
    let level = text.trim().to_ascii_lowercase();
    let directives = match &*level {
        level if QUIET.contains(&level) => format!("off,bobbin={level}"),
        "debug" | "trace" => format!("warn,bobbin={level}"),
        _ => text.to_owned(),
    };
    EnvFilter::try_new(directives)
        .map_err(|error| anyhow::anyhow!("the log filter {text:?} cannot be read: {error}"))
}

fn file(path: &Path) -> anyhow::Result<RollingFileAppender> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        bail!("--log-file {} names no file", path.display());
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or_else(|| Path::new("."));
    let cannot = || format!("the log file {} cannot be written", path.display());
    let folders = crate::state::others_folders(None);
    let directory = bobbin_files::without_links_of(&folders, directory).with_context(cannot)?;
    // Each day's file has the date behind the name. Links in other folders are the user's own.
    if folders.iter().any(|folder| directory.starts_with(folder)) {
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        let mut links = entries.filter(|entry| entry.path().is_symlink());
        let is_ours = |found: &std::ffi::OsStr| {
            let found = found.as_encoded_bytes().strip_prefix(name.as_bytes());
            found.is_some_and(|rest| rest.starts_with(b"."))
        };
        if let Some(link) = links.find(|entry| is_ours(&entry.file_name())) {
            bail!(
                "{}: {} is a link, which is not followed; remove it",
                cannot(),
                link.path().display()
            );
        }
    }
    RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix(name)
        .max_log_files(MAX_FILES)
        .build(directory)
        .with_context(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_one_for_our_own_lines_and_anything_else_is_a_filter() {
        for (text, means) in [
            ("info", "bobbin=info,off"),
            ("TRACE", "bobbin=trace,warn"),
            ("bobbin_core=debug", "bobbin_core=debug"),
        ] {
            assert_eq!(filter(text).unwrap().to_string(), means);
        }
        assert!(filter("bobbin=loud").is_err());
    }
}
