//! The index after a deletion.

use bobbin_model::{Event, UnixMillis};
use bobbin_store::{ListFilter, SearchFilter, SearchWords, Store};

use crate::support::{Writer, me, open, prompt};

#[tokio::test]
async fn the_index_of_what_was_removed_is_sound() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    let started = writer.state.decide_start_turn(prompt("tea"), UnixMillis(2));
    writer.write(started.unwrap()).await.unwrap();
    let filter = SearchFilter {
        words: SearchWords::parse("tea").unwrap(),
        visible: ListFilter::default(),
        thread: None,
        kinds: Vec::new(),
        after: None,
        limit: 1,
    };
    while !store.search(filter.clone()).await.unwrap().complete {
        tokio::task::yield_now().await;
    }
    writer.write(vec![Event::ThreadDeleted]).await.unwrap();
    store.close().await;
    let store = open(dir.path()).await;
    Writer::start(&store, "thread_2", me()).await;
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}
