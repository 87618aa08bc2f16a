//! The workspace's database: a file of this machine, or a PostgreSQL; and the notice about one inside the folder.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use bobbin_config::{Config, PasswordPlace};
use bobbin_store::{Copied, ScheduleStore, Store};
use bobbin_store_postgres::{Access, Holder, Nodes, OpenError, PostgresStore};
use bobbin_store_sqlite::{Options, ServedFolder, SqliteStore};
use bobbin_workspace::{StateDirectory, Workspace};
use tokio_util::sync::CancellationToken;

use crate::exit;
use crate::models::{read_secret, variable};

/// The store of a workspace, of whatever kind.
pub(crate) struct OpenStore {
    /// For Threads.
    pub(crate) threads: Arc<dyn Store>,
    /// For what runs by the clock.
    pub(crate) schedule: Arc<dyn ScheduleStore>,
}

impl OpenStore {
    fn of<S: Store + ScheduleStore>(store: S) -> Self {
        let store = Arc::new(store);
        Self {
            threads: store.clone(),
            schedule: store,
        }
    }
}

/// Opens the database of a workspace.
pub(crate) async fn open(
    workspace: &Workspace,
    config: &Config,
    removed: &CancellationToken,
) -> anyhow::Result<OpenStore> {
    match access(config)? {
        Some(access) => Ok(OpenStore::of(postgres(workspace, config, &access).await?)),
        None => Ok(OpenStore::of(sqlite(workspace, config, removed).await?)),
    }
}

/// Takes the lease of a workspace in a PostgreSQL.
async fn postgres(workspace: &Workspace, config: &Config, access: &Access) -> anyhow::Result<PostgresStore> {
    let path = workspace.root.to_string_lossy().into_owned();
    let directory = bobbin_workspace::directory_id(&workspace.root);
    let options = bobbin_store_postgres::Options {
        folder: directory.map(|directory| bobbin_store_postgres::ServedFolder { path, directory }),
        lease: config.database.lease,
        ..bobbin_store_postgres::Options::of(workspace.id()?, holder(workspace.state_directory())?)
    };
    match PostgresStore::open(access, options).await {
        Ok(store) => Ok(store),
        Err(error @ (OpenError::Taken { .. } | OpenError::Copied { .. })) => {
            Err(exit::elsewhere(&error).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Opens the file of this machine.
async fn sqlite(
    workspace: &Workspace,
    config: &Config,
    removed: &CancellationToken,
) -> anyhow::Result<SqliteStore> {
    let path = workspace.root.to_string_lossy().into_owned();
    let directory = bobbin_workspace::directory_id(&workspace.root);
    let options = Options {
        durability: config.durability,
        folder: directory.map(|directory| ServedFolder { path, directory }),
        removed: removed.clone(),
    };
    Ok(SqliteStore::open(&workspace.database(), options).await?)
}

/// A kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum StoreKind {
    /// The PostgreSQL of `Database.Url`.
    Postgres,
    /// The file of this machine.
    Sqlite,
}

/// Copies the conversations of a workspace, which no server may serve meanwhile, to the other kind of store.
///
/// # Errors
/// There is no `Database.Url`, one of the stores cannot be used, or another machine serves the workspace.
pub async fn copy(workspace: &Workspace, config: &Config, to: StoreKind) -> anyhow::Result<Copied> {
    let access = access(config)?.context(
        "there is no Database.Url in your own configuration: it names the PostgreSQL, also for a copy",
    )?;
    if to == StoreKind::Postgres && !workspace.database().exists() {
        anyhow::bail!(
            "{} has no conversations in a file of this machine",
            workspace.root.display()
        );
    }
    let database = postgres(workspace, config, &access).await?;
    let file = sqlite(workspace, config, &CancellationToken::new()).await;
    let copied = match &file {
        Ok(file) if to == StoreKind::Postgres => bobbin_store::copy(file, &database).await,
        Ok(file) => bobbin_store::copy(&database, file).await,
        Err(_) => Ok(Copied::default()),
    };
    if let Ok(file) = &file {
        file.close().await;
    }
    database.close().await;
    file?;
    Ok(copied?)
}

/// Copies the conversations of a file into the configured PostgreSQL.
///
/// # Errors
/// As [`copy`].
pub async fn take_in(workspace: &Workspace, config: &Config, file: &Path) -> anyhow::Result<Copied> {
    let access = access(config)?.context("there is no Database.Url")?;
    let from = SqliteStore::open(file, Options::default()).await?;
    let copied = match postgres(workspace, config, &access).await {
        Ok(database) => {
            let copied = bobbin_store::copy(&from, &database).await;
            database.close().await;
            copied.map_err(anyhow::Error::from)
        }
        Err(error) => Err(error),
    };
    from.close().await;
    copied
}

/// Returns the configured PostgreSQL as nodes use it, and who this one is; `None` without one.
///
/// # Errors
/// The address or the password cannot be used, or the state directory cannot be written.
pub fn nodes(config: &Config, state: &StateDirectory) -> anyhow::Result<Option<(Nodes, Holder)>> {
    match access(config)? {
        Some(access) => Ok(Some((Nodes::new(access), holder(state)?))),
        None => Ok(None),
    }
}

/// Returns who servers and nodes of this state directory are to others of the database.
pub(crate) fn holder(state: &StateDirectory) -> anyhow::Result<Holder> {
    Ok(Holder {
        id: state.id()?,
        machine: nix::unistd::gethostname()?.to_string_lossy().into_owned(),
    })
}

/// Returns the configured PostgreSQL; `None` if a file of this machine stores the conversations.
///
/// # Errors
/// The address or the password cannot be used. The error has neither.
pub(crate) fn access(config: &Config) -> anyhow::Result<Option<Access>> {
    let Some(url) = &config.database.url else {
        return Ok(None);
    };
    let password = match &config.database.password {
        PasswordPlace::Nowhere => None,
        PasswordPlace::Variable(name) => Some(
            variable(name)
                .ok_or_else(|| anyhow!("the variable {name} of Database.PasswordEnv is not set"))?,
        ),
        PasswordPlace::File(path) => Some(password_of(path)?),
    };
    let access = Access::parse(url, password.as_deref());
    access.context("Database.Url cannot be used").map(Some)
}

fn password_of(path: &Path) -> anyhow::Result<String> {
    read_secret(path).map_err(|why| anyhow!("the file {} of Database.PasswordFile {why}", path.display()))
}

/// Returns the notice about a database in the folder, at the first start only.
pub(crate) fn named_foreign(workspace: &Workspace, config: &Config) -> Option<String> {
    let is_first = config.database.url.is_none() && !workspace.database().exists();
    let is_there = std::fs::symlink_metadata(workspace.foreign_database()).is_ok();
    (is_first && is_there).then(|| {
        "the conversations in .craft/bobbin.db are not used: the folder may have brought them along. If they are yours, stop \
         this and `bobbin import .craft/bobbin.db` takes them as finished history; nothing changes or removes that file"
            .to_owned()
    })
}

/// Returns the notice about conversations in the file of this machine while another database is configured.
pub(crate) fn named_unused(workspace: &Workspace, config: &Config) -> Option<String> {
    let is_there = config.database.url.is_some() && workspace.database().exists();
    is_there.then(|| {
        "the conversations that this machine stored before Database.Url was set are not shown; `bobbin state copy --to \
         postgres` copies them"
            .to_owned()
    })
}
