//! The workspace's database, and the notice about one inside the folder.

use std::sync::Arc;

use bobbin_config::Config;
use bobbin_store_sqlite::{OpenError, Options, ServedFolder, SqliteStore};
use bobbin_workspace::Workspace;
use tokio_util::sync::CancellationToken;

/// Opens the database of a workspace.
pub(crate) async fn open(
    workspace: &Workspace,
    config: &Config,
    removed: &CancellationToken,
) -> Result<Arc<SqliteStore>, OpenError> {
    let options = store_options(workspace, config, removed);
    SqliteStore::open(&workspace.database(), options)
        .await
        .map(Arc::new)
}

fn store_options(workspace: &Workspace, config: &Config, removed: &CancellationToken) -> Options {
    Options {
        durability: config.durability,
        folder: bobbin_workspace::directory_id(&workspace.root).map(|directory| ServedFolder {
            path: workspace.root.to_string_lossy().into_owned(),
            directory,
        }),
        removed: removed.clone(),
    }
}

/// Returns the notice about a database in the folder, at the first start only.
pub(crate) fn named_foreign(workspace: &Workspace) -> Option<String> {
    let is_first = !workspace.database().exists();
    let is_there = std::fs::symlink_metadata(workspace.foreign_database()).is_ok();
    (is_first && is_there).then(|| {
        "the conversations in .craft/bobbin.db are not used: the folder may have brought them along. If they are yours, stop \
         this and `bobbin import .craft/bobbin.db` takes them as finished history; nothing changes or removes that file"
            .to_owned()
    })
}
