//! `bobbin state`: which workspaces have state, and what to do when a folder was moved or is gone.

use std::fs;
use std::io::{BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};

use bobbin_server::config;
use bobbin_server::console;
use bobbin_server::database::{self, StoreKind};
use bobbin_server::exit;
use bobbin_server::state;
use bobbin_server::undo;
use bobbin_workspace::{StateDirectory, Workspace};

/// Arguments of `bobbin state`.
#[derive(Debug, Args)]
pub(crate) struct State {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the workspaces that have state: size, last use, folder.
    List,
    /// Have a folder's state follow it: it was moved from OLD to NEW.
    Move {
        /// The old path of the folder.
        old: PathBuf,
        /// The new path of the folder.
        new: PathBuf,
    },
    /// Copy a folder's conversations, answers and jobs between the file of this machine and the database of `Database.Url`.
    /// Conversations that are there already stay.
    Copy {
        /// The store to copy to: `postgres` or `sqlite`.
        #[arg(long, value_name = "STORE")]
        to: StoreKind,
        /// The workspace; the one around the current directory when left out.
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Remove a folder's state: its conversations, answers and outputs of commands. The folder itself is not touched.
    Remove {
        /// The folder; it need not be there any more.
        path: PathBuf,
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
}

/// Does what was asked.
pub(crate) async fn run(state: State) -> anyhow::Result<ExitCode> {
    match state.what {
        What::List => list(&state::directory()?)?,
        What::Move { old, new } => move_state(&old, &new).await?,
        What::Copy { to, workspace } => return copy(workspace.as_deref(), to).await,
        What::Remove { path, yes } => return remove(&path, yes).await,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(state: &StateDirectory) -> anyhow::Result<()> {
    let mut workspaces = state.workspaces()?;
    if workspaces.is_empty() {
        console::say(&format!("No workspace has state in {}.", state.path().display()));
        return Ok(());
    }
    workspaces.sort();
    for (root, folder) in workspaces {
        let tenths = size_of(&folder).saturating_mul(10) >> 20;
        let used = last_use(&folder).map_or_else(
            || "-".to_owned(),
            |used| {
                jiff::Timestamp::try_from(used).map_or_else(
                    |_| "-".to_owned(),
                    |used| used.strftime("%Y-%m-%d %H:%M UTC").to_string(),
                )
            },
        );
        let note = if !root.is_dir() {
            "  (no such folder any more)"
        } else if Workspace::at(&root, state::directory()?)?.holder().is_some() {
            "  (in use)"
        } else {
            ""
        };
        console::say(&format!(
            "{:>6}.{} MiB  {used}  {}{note}",
            tenths / 10,
            tenths % 10,
            root.display()
        ));
    }
    Ok(())
}

/// Returns the size in bytes of all files in a directory and its subdirectories; links are not followed.
fn size_of(directory: &Path) -> u64 {
    let mut bytes = 0;
    let mut waiting = vec![directory.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => waiting.push(entry.path()),
                Ok(found) => bytes += found.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}

/// Returns when the database or its log was last written.
fn last_use(folder: &Path) -> Option<SystemTime> {
    let files = ["bobbin.db", "bobbin.db-wal"].into_iter();
    files
        .filter_map(|name| fs::metadata(folder.join(name)).ok()?.modified().ok())
        .max()
}

/// Finds the state of a folder that may be gone.
fn with_state(path: &Path) -> anyhow::Result<Workspace> {
    let workspace = Workspace::at(path, state::directory()?)?;
    if !workspace.folder().is_dir() {
        bail!(
            "there is no state of {}; `bobbin state list` says what there is",
            workspace.root.display()
        );
    }
    Ok(workspace)
}

async fn move_state(old: &Path, new: &Path) -> anyhow::Result<()> {
    let (old, new) = (with_state(old)?, state::workspace(Some(new))?);
    let state = new.state_directory();
    if new.folder().exists() {
        bail!(
            "{} has state already: `bobbin state remove` removes it, or `bobbin import {}` takes the conversations of {} alone",
            new.root.display(),
            old.database().display(),
            old.root.display()
        );
    }
    state.refuse_within(&new.root)?;
    let locked = old.hold().await?;
    fs::rename(old.folder(), new.folder())
        .with_context(|| format!("{} cannot be renamed", old.folder().display()))?;
    // Says the new path. The Threads follow at the next start.
    state.make_folder(&new.root)?;
    // Their trees and paths are those of the folder before.
    let snapshots = new.folder().join(undo::FOLDER);
    if snapshots.exists() {
        fs::remove_dir_all(&snapshots)
            .with_context(|| format!("{} cannot be removed", snapshots.display()))?;
    }
    drop(locked);
    console::say(&format!(
        "The state of {} belongs to {} now. Turns before this cannot be undone any more.",
        old.root.display(),
        new.root.display()
    ));
    Ok(())
}

async fn copy(path: Option<&Path>, to: StoreKind) -> anyhow::Result<ExitCode> {
    let workspace = state::workspace(path)?;
    let config = config::read(&workspace.root, state::home().as_deref())?;
    let locked = workspace.hold().await?;
    let copied = database::copy(&workspace, &config, to).await;
    drop(locked);
    let copied = copied?;
    let place = match to {
        StoreKind::Postgres => "the database of Database.Url",
        StoreKind::Sqlite => "the file of this machine",
    };
    console::say(&format!(
        "Copied {} conversations, {} answers and {} entries of the schedule to {place}.",
        copied.copied, copied.answers, copied.scheduled
    ));
    match copied.audited {
        Some(0) => {}
        Some(entries) => console::say(&format!("{entries} entries of the audit were copied.")),
        None => console::say("The audits went on in both places, and stay apart."),
    }
    if copied.known > 0 {
        console::say(&format!("{} conversations were there already.", copied.known));
    }
    if to == StoreKind::Sqlite {
        console::note("they are used without Database.Url");
    }
    if copied.different.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    console::say("These went on in both places, and were not copied:");
    for thread in &copied.different {
        console::say(&format!("  {thread}"));
    }
    Ok(ExitCode::from(exit::FAILED))
}

async fn remove(path: &Path, yes: bool) -> anyhow::Result<ExitCode> {
    let workspace = with_state(path)?;
    let shown = workspace.root.display();
    if !yes {
        if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            bail!("this removes every conversation of {shown}; say --yes");
        }
        console::ask(&format!(
            "Remove every conversation, answer and output of {shown}? [y]es, [n]o: "
        ));
        let mut line = String::new();
        drop(std::io::stdin().lock().read_line(&mut line));
        if !matches!(line.trim(), "y" | "Y" | "yes") {
            console::say("Nothing was removed.");
            return Ok(ExitCode::SUCCESS);
        }
    }
    let locked = workspace.hold().await?;
    fs::remove_dir_all(workspace.folder())
        .with_context(|| format!("{} cannot be removed", workspace.folder().display()))?;
    drop(locked);
    console::say(&format!("Removed the state of {shown}."));
    Ok(ExitCode::SUCCESS)
}
