//! `bobbin backup` and `bobbin import`: a workspace's conversations into a file, and out of one.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use bobbin_model::UnixMillis;
use bobbin_store_sqlite::Imported;
use clap::Args;

use bobbin_server::config;
use bobbin_server::console;
use bobbin_server::database;
use bobbin_server::exit::{self, Failure};
use bobbin_server::state;
use bobbin_workspace::{LockedWorkspace, Workspace, open_private, private_directory};

use crate::other_agents;

/// Largest database that is imported, in bytes: a workspace of years.
const MAX_DATABASE: u64 = 4 << 30;
/// The first bytes of every SQLite database.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Arguments of `bobbin backup`.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The file to write; an existing file is not overwritten.
    file: PathBuf,
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
}

/// Arguments of `bobbin import`.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// A backup, or the `bobbin.db` of an earlier version; with `--from`, ids of conversations.
    #[arg(value_name = "FILE|ID", required_unless_present = "from")]
    pub(crate) what: Vec<String>,
    /// The agent whose conversations in this folder are taken.
    #[arg(long, value_name = "AGENT")]
    pub(crate) from: Option<OtherAgent>,
    /// Take all of them.
    #[arg(long, requires = "from", conflicts_with = "what")]
    pub(crate) all: bool,
    /// List them only; so does `--from` alone.
    #[arg(long, requires = "from", conflicts_with_all = ["what", "all"])]
    pub(crate) list: bool,
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

/// An agent with conversations of its own.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum OtherAgent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// opencode.
    Opencode,
}

/// Copies the workspace's conversations, also while a server runs.
pub(crate) async fn backup(backup: Backup) -> anyhow::Result<ExitCode> {
    let workspace = state::workspace(backup.workspace.as_deref())?;
    check_is_here(&workspace, "`pg_dump` copies them")?;
    let (database, shown) = (workspace.database(), workspace.root.display());
    if !database.exists() {
        bail!("{shown} has no conversations yet");
    }
    bobbin_store_sqlite::copy(&database, &backup.file).await?;
    console::say(&format!(
        "Copied the conversations of {shown} to {}. Only you can read the copy; `bobbin import` takes it back in.",
        backup.file.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Checks that a file of this machine stores the conversations.
fn check_is_here(workspace: &Workspace, instead: &str) -> anyhow::Result<()> {
    let config = config::read(&workspace.root, state::home().as_deref())?;
    if config.database.url.is_some() {
        bail!("the conversations are in the database of Database.Url: {instead}");
    }
    Ok(())
}

/// Takes the conversations of a file as finished history.
pub(crate) async fn import(import: Import) -> anyhow::Result<ExitCode> {
    let workspace = state::workspace(import.workspace.as_deref())?;
    if let Some(from) = import.from {
        check_is_here(&workspace, "of other agents, nothing is imported there yet")?;
        return other_agents::import(from, &import, &workspace).await;
    }
    let [file] = import.what.as_slice() else {
        bail!("one file is imported at a time");
    };
    let file = PathBuf::from(file);
    let locked = hold(&workspace).await?;
    // The file may be anybody's: SQLite opens a copy that nobody else can change meanwhile.
    let place = workspace.folder().join("import");
    remove(&place)?;
    private_directory(&place)?;
    let (from, copy) = (file.clone(), place.join("bobbin.db"));
    let to = copy.clone();
    let copied = tokio::task::spawn_blocking(move || copy_in(&from, &to)).await?;
    let imported = match copied {
        Ok(()) => {
            let taken = take(&workspace, &place, &copy).await;
            taken.with_context(|| format!("{} is not imported", file.display()))
        }
        Err(error) => Err(error),
    };
    remove(&place)?;
    drop(locked);
    Ok(report(&imported?, &file))
}

/// Takes the conversations of a database that nobody else can change. On their way to a PostgreSQL, they are in a file.
async fn take(workspace: &Workspace, place: &Path, from: &Path) -> anyhow::Result<Imported> {
    let config = config::read(&workspace.root, state::home().as_deref())?;
    let root = workspace.root.to_string_lossy();
    if config.database.url.is_none() {
        return Ok(bobbin_store_sqlite::import(from, &workspace.database(), &root, now()).await?);
    }
    let between = place.join("finished.db");
    let mut imported = bobbin_store_sqlite::import(from, &between, &root, now()).await?;
    let copied = database::take_in(workspace, &config, &between).await?;
    imported.taken = copied.copied;
    imported.known += copied.known + u32::try_from(copied.different.len())?;
    Ok(imported)
}

/// Takes the workspace, which no server may have.
pub(crate) async fn hold(workspace: &Workspace) -> anyhow::Result<LockedWorkspace> {
    let locked = workspace.hold().await.map_err(anyhow::Error::from);
    locked.map_err(|error| {
        if !exit::is_busy(&error) {
            return error;
        }
        let message = format!("conversations are imported while no server runs: {error:#}");
        Failure {
            code: exit::BUSY,
            message,
        }
        .into()
    })
}

fn report(imported: &Imported, file: &Path) -> ExitCode {
    let Imported {
        taken,
        known,
        damaged,
        reasons,
    } = imported;
    console::say(&format!(
        "Imported {taken} conversations from {} as finished history.",
        file.display()
    ));
    if *known > 0 {
        console::say(&format!("{known} were left out: they are here already."));
    }
    if *damaged > 0 {
        console::say(&format!("{damaged} were left out: they are damaged."));
        for (thread, reason) in reasons {
            console::say(&format!("  {thread}: {reason}"));
        }
    }
    if *taken == 0 && *damaged > 0 {
        return ExitCode::from(exit::FAILED);
    }
    ExitCode::SUCCESS
}

#[expect(clippy::disallowed_methods, reason = "the binary is where the clock is read")]
fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMillis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

fn remove(place: &Path) -> anyhow::Result<()> {
    match std::fs::remove_dir_all(place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be removed", place.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Copies a database and its log, which may hold nearly all of it.
fn copy_in(from: &Path, to: &Path) -> anyhow::Result<()> {
    let cannot = || format!("{} cannot be read", from.display());
    let mut file = bobbin_files::open_regular(from).with_context(cannot)?;
    let mut start = [0; MAGIC.len()];
    if file.read_exact(&mut start).is_err() || start != *MAGIC {
        bail!("{} is no database of Bobbin; nothing is imported", from.display());
    }
    let file = bobbin_files::open_regular(from).with_context(cannot)?;
    copy_file(file, from, to)?;
    let log = with_log(from);
    match bobbin_files::open_regular(&log) {
        Ok(file) => copy_file(file, &log, &with_log(to)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", log.display())),
    }
}

fn copy_file(file: File, from: &Path, to: &Path) -> anyhow::Result<()> {
    if file.metadata()?.len() > MAX_DATABASE {
        bail!(
            "{} is larger than {} GiB; nothing is imported",
            from.display(),
            MAX_DATABASE >> 30
        );
    }
    let mut copy = open_private(to, OpenOptions::new().write(true).create_new(true))?;
    io::copy(&mut file.take(MAX_DATABASE), &mut copy)
        .with_context(|| format!("{} cannot be copied to {}", from.display(), to.display()))?;
    Ok(())
}

/// Returns the name of a database's log.
fn with_log(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}
