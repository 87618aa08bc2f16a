//! The test suite of every store, on this one.

use std::path::PathBuf;
use std::sync::Arc;

use bobbin_testkit::store_story::{WholeStore, loading_gives_the_state_that_applying_gave};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use proptest::prelude::*;

use crate::support::{open_in, server};

fn opened(path: PathBuf) -> BoxFuture<'static, Arc<dyn WholeStore>> {
    async move {
        let server = server().unwrap();
        Arc::new(open_in(server, &path).await) as Arc<dyn WholeStore>
    }
    .boxed()
}

bobbin_testkit::store_story!(opened, as one test if server().is_some());

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_steps_are_loaded_as_they_were_applied(steps in proptest::collection::vec(0u8..10, 1..25)) {
        if server().is_some() {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(loading_gives_the_state_that_applying_gave(opened, steps));
        }
    }
}
