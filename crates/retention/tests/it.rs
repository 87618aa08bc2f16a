//! Old Threads of a real store.

#![expect(clippy::expect_used, reason = "helpers of tests")]

use std::sync::Arc;

use bobbin_core::{Command, ListFilter, ThreadHandle, Threads};
use bobbin_model::state::{NewThread, StartTurn};
use bobbin_model::{HistoryMode, Identity, InputPart, ThreadStatus, TurnFeatures};
use bobbin_retention::look;
use bobbin_retention::settings::RetentionSettings;
use bobbin_testkit::{ScriptEngine, TestWorkspace};
use tokio::sync::oneshot;

const DAY: i64 = 24 * 60 * 60 * 1000;

async fn thread(threads: &Arc<Threads>, title: &str) -> Arc<ThreadHandle> {
    let (tx, rx) = oneshot::channel();
    let new = NewThread {
        id: threads.fresh_thread_id(),
        identity: Identity {
            channel_name: "test".into(),
            ..Identity::default()
        },
        config: None,
        history_mode: HistoryMode::Server,
        display_name: Some(title.into()),
    };
    let id = new.id.clone();
    threads.start_thread(new, Box::new(move |result| drop(tx.send(result.map(|_| ())))));
    rx.await.expect("answered").expect("started");
    threads.thread(&id).await.expect("live")
}

/// Returns the titles of all Threads, `-` before archived ones.
async fn titles(threads: &Arc<Threads>) -> Vec<String> {
    let filter = ListFilter {
        workspace_path: threads.settings().workspace.to_string_lossy().into_owned(),
        include_archived: true,
        every_user: true,
        ..ListFilter::default()
    };
    let mut titles: Vec<String> = threads
        .list(filter)
        .await
        .expect("they are listed")
        .into_iter()
        .map(|summary| {
            let mark = if summary.header.status == ThreadStatus::Archived {
                "-"
            } else {
                ""
            };
            format!("{mark}{}", summary.header.display_name.unwrap_or_default())
        })
        .collect();
    titles.sort();
    titles
}

#[tokio::test]
async fn threads_without_activity_are_archived_and_then_deleted() {
    let workspace = TestWorkspace::default();
    let engine = ScriptEngine::default();
    let threads = workspace.open(Arc::new(engine.clone())).await;
    // More than one page.
    for _ in 0..101 {
        thread(&threads, "old").await;
    }
    let waits = thread(&threads, "waits").await;
    let request = StartTurn {
        client_message_id: None,
        trigger: None,
        input: vec![InputPart::Text { text: "wait".into() }],
        sender: None,
        channel: None,
        features: TurnFeatures::default(),
    };
    waits
        .ask(|reply| Command::StartTurn { request, reply })
        .await
        .unwrap();
    workspace.clock.advance(9 * DAY);
    thread(&threads, "new").await;
    let after = |archive, delete| RetentionSettings {
        archive_after_days: archive,
        delete_archived_after_days: delete,
    };
    let all = |old: &str| -> Vec<String> {
        let mut all = vec![old.to_owned(); 101];
        all.extend(["new".to_owned(), "waits".to_owned()]);
        all.sort();
        all
    };

    look(after(Some(10), Some(10)), &threads).await.unwrap();
    assert_eq!(titles(&threads).await, all("old"), "none is old enough");
    look(after(None, Some(5)), &threads).await.unwrap();
    assert_eq!(titles(&threads).await, all("old"), "none is archived");
    look(after(Some(5), None), &threads).await.unwrap();
    assert_eq!(titles(&threads).await, all("-old"));
    look(after(Some(5), Some(10)), &threads).await.unwrap();
    assert_eq!(titles(&threads).await, all("-old"));
    look(after(Some(5), Some(9)), &threads).await.unwrap();
    assert_eq!(titles(&threads).await, all("-old"), "to the millisecond");
    workspace.clock.advance(1);
    look(after(Some(5), Some(9)), &threads).await.unwrap();
    assert_eq!(titles(&threads).await, ["new", "waits"]);
    engine.release();
    threads.stop().await;
}
