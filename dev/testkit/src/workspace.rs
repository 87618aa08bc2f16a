//! A workspace in a temporary directory, with its database, that can be closed and opened again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_core::engine::Engine;
use bobbin_core::{Broadcasts, RandomIds, Settings, Threads};
use bobbin_store_sqlite::{Options, SqliteStore};
use bobbin_subagents::WithSubAgents;
use tempfile::TempDir;

use crate::ManualClock;

enum Place {
    /// The workspace's folder, in a directory that also has the database.
    Temporary(TempDir, PathBuf),
    Given(PathBuf),
}

/// A temporary workspace. Gone when dropped.
pub struct TestWorkspace {
    place: Place,
    /// The clock of every hub opened here.
    pub clock: Arc<ManualClock>,
}

impl Default for TestWorkspace {
    /// # Panics
    /// The machine has no temporary directory.
    #[expect(clippy::expect_used, reason = "a test without a directory cannot go on")]
    fn default() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let work = dir.path().join("work");
        std::fs::create_dir(&work).expect("a new directory is writable");
        Self {
            place: Place::Temporary(dir, work),
            clock: Arc::default(),
        }
    }
}

impl TestWorkspace {
    /// Returns the directory.
    pub fn path(&self) -> &Path {
        match &self.place {
            Place::Temporary(_, path) | Place::Given(path) => path,
        }
    }

    /// Returns the database file.
    pub fn database(&self) -> PathBuf {
        match &self.place {
            Place::Temporary(dir, _) => dir.path().join("bobbin.db"),
            Place::Given(path) => path.join("bobbin.db"),
        }
    }

    /// Returns a workspace in a directory that somebody else owns.
    pub fn at(path: &Path) -> Self {
        Self {
            place: Place::Given(path.to_owned()),
            clock: Arc::default(),
        }
    }

    /// Opens the core over this workspace with the default settings and takes up open Turns.
    pub async fn open(&self, engine: Arc<dyn Engine>) -> Arc<Threads> {
        self.open_with(engine, |_| {}).await
    }

    /// Opens the core with other settings.
    ///
    /// # Panics
    /// The database cannot be opened.
    #[expect(clippy::expect_used, reason = "a test without a database cannot go on")]
    pub async fn open_with(
        &self,
        engine: Arc<dyn Engine>,
        change: impl FnOnce(&mut Settings),
    ) -> Arc<Threads> {
        let root = self.path().canonicalize().expect("the directory is there");
        let mut settings = Settings::new(root);
        change(&mut settings);
        let store = SqliteStore::open(&self.database(), Options::default())
            .await
            .expect("the store opens");
        let engine = WithSubAgents::new(engine, settings.sub_agents);
        let broadcasts = Broadcasts::new(settings.log, self.clock.clone());
        let threads = Threads::new(
            settings,
            Arc::new(store),
            engine,
            broadcasts,
            Arc::new(RandomIds::default()),
        );
        threads.recover().await.expect("open turns can be read");
        threads
    }
}
