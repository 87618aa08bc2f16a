//! The list of workspaces with what goes on in each, for clients that show it.
//!
//! One task reads the databases once a second, only while a client watches. A database that nobody has written to costs one
//! question to SQLite.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_store_sqlite::{LatestThread, Overview, OverviewReader};
use bobbin_workspace::{NamedWorkspace, StateDirectory, Workspace};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::wire::{Latest, WorkspaceInfo, Workspaces};

/// Pause between two readings.
const PAUSE: Duration = Duration::from_secs(1);

/// The list, as the last reading found it.
pub(crate) struct WorkspaceList {
    state: StateDirectory,
    /// `None` while nobody watches.
    read: watch::Sender<Option<Arc<Workspaces>>>,
    /// A client has come, or has changed the list.
    wake: Notify,
}

/// A workspace whose database is open here.
#[derive(Default)]
struct Watched {
    database: Option<OverviewReader>,
    overview: Overview,
    problem: Option<String>,
}

impl WorkspaceList {
    pub(crate) fn new(state: StateDirectory) -> Self {
        Self {
            state,
            read: watch::Sender::new(None),
            wake: Notify::new(),
        }
    }

    /// Returns the readings from now on.
    pub(crate) fn watch(&self) -> watch::Receiver<Option<Arc<Workspaces>>> {
        let mut readings = self.read.subscribe();
        readings.mark_changed();
        self.wake.notify_one();
        readings
    }

    /// Reads the list soon.
    pub(crate) fn changed(&self) {
        self.wake.notify_one();
    }

    /// Reads while clients watch. Never returns.
    pub(crate) async fn run(&self) {
        let mut all = BTreeMap::new();
        loop {
            if self.read.receiver_count() == 0 {
                for (_, workspace) in std::mem::take(&mut all) {
                    close(workspace).await;
                }
                self.read.send_replace(None);
                self.wake.notified().await;
                continue;
            }
            let list = Some(Arc::new(self.look(&mut all).await));
            self.read.send_if_modified(|last| {
                let is_new = *last != list;
                *last = list;
                is_new
            });
            drop(timeout(PAUSE, self.wake.notified()).await);
        }
    }

    /// Reads all workspaces once.
    async fn look(&self, all: &mut BTreeMap<PathBuf, Watched>) -> Workspaces {
        let state = self.state.clone();
        let find = move || {
            let named = state.named().unwrap_or_else(|error| {
                tracing::warn!(%error, "the workspaces cannot be listed");
                Vec::new()
            });
            let found = named.into_iter().filter_map(|named| {
                let workspace = Workspace::at(&named.root, state.clone()).ok()?;
                // Where a link has taken the folder's place, the state is that of another workspace.
                let is_same = workspace.root == named.root;
                Some(Seen {
                    is_running: is_same && workspace.holder().is_some(),
                    is_folder: is_same && workspace.root.is_dir(),
                    database: workspace.database(),
                    has_database: is_same && workspace.database().exists(),
                    named,
                })
            });
            found.collect::<Vec<_>>()
        };
        let found = tokio::task::spawn_blocking(find).await.unwrap_or_default();
        let gone = |root: &PathBuf| !found.iter().any(|seen| seen.named.root == *root);
        let gone: Vec<_> = all.keys().filter(|root| gone(root)).cloned().collect();
        for root in gone {
            if let Some(workspace) = all.remove(&root) {
                close(workspace).await;
            }
        }
        let mut workspaces = Vec::with_capacity(found.len());
        for seen in found {
            let watched = all.entry(seen.named.root.clone()).or_default();
            watched.look(&seen).await;
            workspaces.push(watched.info(seen));
        }
        Workspaces { workspaces }
    }
}

/// A workspace, as its files show it.
struct Seen {
    named: NamedWorkspace,
    is_running: bool,
    is_folder: bool,
    database: PathBuf,
    has_database: bool,
}

impl Watched {
    async fn look(&mut self, seen: &Seen) {
        if !seen.has_database {
            close(std::mem::take(self)).await;
            return;
        }
        match self.read(seen).await {
            Ok(Some(overview)) => (self.overview, self.problem) = (overview, None),
            Ok(None) => {}
            Err(error) => {
                tracing::debug!(%error, root = %seen.named.root.display(), "a workspace cannot be read");
                // A database of an earlier version is brought up to date by its server.
                let problem = Some("its conversations cannot be read before it is opened".to_owned());
                close(std::mem::take(self)).await;
                self.problem = problem;
            }
        }
    }

    async fn read(&mut self, seen: &Seen) -> Result<Option<Overview>, bobbin_store::StoreError> {
        let database = match &mut self.database {
            Some(database) => database,
            none => none.insert(OverviewReader::open(&seen.database).await?),
        };
        database.changed().await
    }

    fn info(&self, seen: Seen) -> WorkspaceInfo {
        let problem = (!seen.is_folder).then(|| "there is no such folder any more".to_owned());
        WorkspaceInfo {
            name: seen.named.name,
            path: seen.named.root,
            is_running: seen.is_running,
            open_turns: self.overview.running,
            waiting: self.overview.waiting,
            latest: self.overview.latest.as_ref().map(latest),
            problem: problem.or_else(|| self.problem.clone()),
        }
    }
}

async fn close(workspace: Watched) {
    if let Some(database) = workspace.database {
        database.close().await;
    }
}

fn latest(thread: &LatestThread) -> Latest {
    let at = jiff::Timestamp::from_millisecond(thread.active_at.0).unwrap_or_default();
    Latest {
        thread_id: thread.id.as_str().to_owned(),
        title: thread.title.clone(),
        active_at: at.to_string(),
        words: thread.words.clone(),
    }
}

#[cfg(test)]
mod tests {
    use bobbin_store_sqlite::{Options, SqliteStore};
    use bobbin_workspace::State;

    use super::*;

    type Wanted = fn(&Workspaces) -> bool;

    #[tokio::test]
    async fn the_list_is_read_while_a_client_watches_and_follows_changes() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let state = StateDirectory::at(&top.join("state"));
        let folder = |name: &str| {
            let root = top.join(name);
            std::fs::create_dir(&root).unwrap();
            let workspace = Workspace::find(Some(&root), state.clone()).unwrap();
            state.add_name(&workspace, None).unwrap();
            workspace
        };
        let (tea, pot) = (folder("tea"), folder("pot"));
        let list = Arc::new(WorkspaceList::new(state.clone()));
        let running = tokio::spawn({
            let list = list.clone();
            async move { list.run().await }
        });
        let mut readings = list.watch();
        let next = async |readings: &mut watch::Receiver<Option<Arc<Workspaces>>>, wanted: Wanted| {
            let is_it = |read: &Option<Arc<Workspaces>>| read.as_deref().is_some_and(wanted);
            let read = timeout(Duration::from_secs(20), readings.wait_for(is_it)).await;
            read.unwrap().unwrap().clone().unwrap()
        };
        let read = next(&mut readings, |read| read.workspaces.len() == 2).await;
        let names: Vec<_> = read.workspaces.iter().map(|workspace| &*workspace.name).collect();
        assert_eq!(names, ["pot", "tea"]);
        assert!(
            read.workspaces
                .iter()
                .all(|one| !one.is_running && one.problem.is_none())
        );

        std::fs::write(pot.database(), "no database").unwrap();
        let held = tea.hold().await.unwrap();
        held.announce(&State::of_this_process(), None).unwrap();
        let store = SqliteStore::open(&tea.database(), Options::default())
            .await
            .unwrap();
        next(&mut readings, |read| {
            let [pot, tea] = &*read.workspaces else {
                return false;
            };
            pot.problem.is_some() && !pot.is_running && tea.is_running && tea.problem.is_none()
        })
        .await;
        drop(held);
        bobbin_store::Store::close(&store).await;
        std::fs::remove_dir_all(&tea.root).unwrap();
        let is_gone: Wanted = |read| {
            let problem = read.workspaces.last().and_then(|tea| tea.problem.as_deref());
            problem.is_some_and(|why| why.contains("no such folder"))
        };
        next(&mut readings, is_gone).await;
        std::os::unix::fs::symlink(&pot.root, &tea.root).unwrap();
        next(&mut readings, is_gone).await;
        state.remove_name(&pot.root).unwrap();
        list.changed();
        let read = timeout(Duration::from_secs(20), async {
            loop {
                readings.changed().await.unwrap();
                let read = readings.borrow_and_update().clone().unwrap();
                if read.workspaces.len() == 1 {
                    return read;
                }
            }
        });
        assert_eq!(read.await.unwrap().workspaces[0].name, "tea");
        drop(readings);
        running.abort();
    }
}
