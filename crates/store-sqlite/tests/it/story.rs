//! The test suite of every store, on this one.

use std::path::PathBuf;
use std::sync::Arc;

use bobbin_testkit::store_story::{WholeStore, loading_gives_the_state_that_applying_gave};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use proptest::prelude::*;

use crate::support::open;

fn opened(path: PathBuf) -> BoxFuture<'static, Arc<dyn WholeStore>> {
    async move { Arc::new(open(&path).await) as Arc<dyn WholeStore> }.boxed()
}

bobbin_testkit::store_story!(opened);

#[tokio::test]
async fn the_linked_sqlite_is_new_enough() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let version = store.sqlite_version().await.unwrap();
    let parts: Vec<u32> = version.split('.').map(|part| part.parse().unwrap()).collect();
    assert!(
        parts >= vec![3, 51, 3],
        "{version}: write-ahead logs corrupt in older ones"
    );
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_steps_are_loaded_as_they_were_applied(steps in proptest::collection::vec(0u8..10, 1..25)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(loading_gives_the_state_that_applying_gave(opened, steps));
    }
}
