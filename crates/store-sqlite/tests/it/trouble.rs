//! A database that fails in the middle of a transaction, and what is left of the store afterwards.

use bobbin_model::{Event, Seq, ThreadId};
use bobbin_store::Store;

use crate::support::{Writer, me, open};

/// SQLite undoes the whole transaction by itself where it runs out of room or cannot write. A trigger does the same.
const UNDO: &str = "CREATE TRIGGER trouble BEFORE INSERT ON event WHEN NEW.kind = 'threadRenamed' \
                    BEGIN SELECT RAISE(ROLLBACK, 'no room'); END";

async fn meddle(path: &std::path::Path, statement: &'static str) {
    let url = format!("sqlite://{}", path.join("test.db").display());
    let pool = sqlx::SqlitePool::connect(&url).await.unwrap();
    sqlx::query(statement).execute(&pool).await.unwrap();
    pool.close().await;
}

#[tokio::test]
async fn writing_works_again_after_the_database_has_undone_a_transaction() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut good = Writer::start(&store, "thread_good", me()).await;
    let mut bad = Writer::start(&store, "thread_bad", me()).await;
    meddle(dir.path(), UNDO).await;
    for name in ["a", "b", "c"] {
        let fails = bad.state.decide_rename(name).unwrap();
        let works = vec![Event::ThreadResumed { by: "me".into() }];
        let (failed, worked) = tokio::join!(bad.write(fails), good.write(works));
        assert!(failed.is_err());
        worked.unwrap();
        bad.seq -= 1;
    }
    assert_eq!(bad.loaded().await.header.display_name, None);
    meddle(dir.path(), "DROP TRIGGER trouble").await;
    // Another owner: the one that failed builds on what is not there.
    let rename = bad.state.decide_rename("y").unwrap();
    bad.owner = 2;
    bad.write(rename).await.unwrap();
    let events = store
        .events(&ThreadId::new("thread_bad"), Seq(0), Seq(9), 9)
        .await
        .unwrap();
    assert_eq!(events.len(), 2);
    assert_eq!(bad.loaded().await.header.display_name.as_deref(), Some("y"));
}
