//! Messages as the file has them, of this server and of earlier ones.

use bobbin_model::{Event, ItemBody, Seq, ThreadId, UnixMillis};
use bobbin_store::Store;

use crate::support::{Writer, me, open, prompt};

#[tokio::test]
async fn a_users_message_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    let text = "leaves of tea";
    let started = writer.state.decide_start_turn(prompt(text), UnixMillis(2));
    writer.write(started.unwrap()).await.unwrap();
    store.close().await;
    // The search index, which follows the events, has not been filled. The title is the beginning of the message.
    let file = std::fs::read(dir.path().join("test.db")).unwrap();
    let copies = file.windows(text.len()).filter(|found| *found == text.as_bytes());
    let titles = 2;
    assert_eq!(copies.count(), 1 + titles);
}

#[tokio::test]
async fn an_event_of_an_earlier_server_has_its_own_copy_of_the_message() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    let started = writer.state.decide_start_turn(prompt("go"), UnixMillis(2));
    writer.write(started.unwrap()).await.unwrap();
    store.close().await;
    let path = dir.path().join("test.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut database = <sqlx::SqliteConnection as sqlx::Connection>::connect_with(&options)
        .await
        .unwrap();
    let old = r#"{"id":"item_001","status":"completed","createdAt":2,"completedAt":2,"body":{"userMessage":{"text":"old","native":[{"type":"text","text":"old"}],"delivery":"normal"}}}"#;
    sqlx::query(
        "UPDATE event SET version = 1, payload = json_set(payload, '$.turnStarted.userItem', json(?)) \
         WHERE kind = 'turnStarted'",
    )
    .bind(old)
    .execute(&mut database)
    .await
    .unwrap();
    sqlx::Connection::close(database).await.unwrap();
    let store = open(dir.path()).await;
    let read = store
        .events(&ThreadId::new("thread_1"), Seq(0), Seq(u64::MAX), 1000)
        .await
        .unwrap();
    let user_item = read.iter().find_map(|stored| match &*stored.event {
        Event::TurnStarted { user_item, .. } => user_item.as_deref(),
        _ => None,
    });
    let ItemBody::UserMessage(message) = &user_item.unwrap().body else {
        panic!("{user_item:?}")
    };
    assert_eq!(message.text(), "old");
}
