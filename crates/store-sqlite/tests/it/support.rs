//! What the tests share: opening a store.

use std::path::Path;

pub(crate) use bobbin_testkit::store_story::{Writer, me, prompt};

use bobbin_store_sqlite::{Options, SqliteStore};

pub(crate) async fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(&path.join("test.db"), Options::default())
        .await
        .unwrap()
}
