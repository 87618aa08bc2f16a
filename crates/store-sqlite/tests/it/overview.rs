//! The overview of a database that its server has open.

use bobbin_model::{ApprovalId, DecidedBy, Decision, ItemBody, Outcome, UnixMillis};
use bobbin_store::Store;
use bobbin_store_sqlite::OverviewReader;
use bobbin_testkit::store_story::question;

use crate::support::{Writer, me, open, prompt};

#[tokio::test]
async fn an_overview_follows_what_another_connection_writes() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut reader = OverviewReader::open(&dir.path().join("test.db")).await.unwrap();
    let empty = reader.changed().await.unwrap().unwrap();
    assert_eq!((empty.running, empty.waiting, empty.latest), (0, 0, None));
    assert_eq!(reader.changed().await.unwrap(), None);

    let mut writer = Writer::start(&store, "thread_1", me()).await;
    let started = writer.state.decide_start_turn(prompt("go\n  on"), UnixMillis(2));
    writer.write(started.unwrap()).await.unwrap();
    writer
        .write(writer.state.decide_ask(question("a")).unwrap())
        .await
        .unwrap();
    let asked = reader.changed().await.unwrap().unwrap();
    assert_eq!((asked.running, asked.waiting), (1, 1));
    let latest = asked.latest.unwrap();
    assert_eq!(
        (latest.id.as_str(), latest.words.as_deref()),
        ("thread_1", Some("go on"))
    );

    let by = DecidedBy::Client("me".into());
    let answer = writer
        .state
        .decide_answer(&ApprovalId::new("a"), Decision::Accept, &by, UnixMillis(4));
    writer.write(answer.unwrap()).await.unwrap();
    let text = ItemBody::AgentMessage {
        text: "é".repeat(300),
    };
    let (_, said) = writer.state.decide_add_item(text, UnixMillis(5)).unwrap();
    writer.write(said).await.unwrap();
    let works = reader.changed().await.unwrap().unwrap();
    assert_eq!((works.running, works.waiting), (1, 0));
    assert_eq!(works.latest.unwrap().words, Some("é".repeat(240)));

    let ended = writer.state.decide_end_turn(Outcome::Completed, UnixMillis(9));
    writer.write(ended).await.unwrap();
    Writer::start(
        &store,
        "thread_2",
        bobbin_model::Identity {
            channel_name: "commit-suggest".into(),
            ..me()
        },
    )
    .await;
    let done = reader.changed().await.unwrap().unwrap();
    assert_eq!((done.running, done.waiting), (0, 0));
    let latest = done.latest.map(|latest| latest.id.as_str().to_owned());
    assert_eq!(latest.as_deref(), Some("thread_1"), "not the Thread of a helper");
    assert_eq!(reader.changed().await.unwrap(), None);
    reader.close().await;
    store.close().await;
}

#[tokio::test]
async fn what_is_no_database_of_ours_has_no_overview() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("test.db");
    assert!(OverviewReader::open(&file).await.is_err(), "nothing is made");
    std::fs::write(&file, "text").unwrap();
    let read = match OverviewReader::open(&file).await {
        Ok(mut reader) => reader.changed().await.map(drop),
        Err(error) => Err(error),
    };
    assert!(read.is_err());
}
