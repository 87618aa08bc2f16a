//! Cancelling runs, losing runners, open documents.

use std::sync::Arc;

use bobbin_finecode::{Change, DocumentError, Event, RunError, RunEvent, RunnerState, Sink};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::support::{ALL, PATIENCE, Workspace, action, exports, request, settings, trail};

/// Returns a sink that notes that a run has begun, and what waits for that.
fn begun() -> (Sink, watch::Receiver<u32>) {
    let (sender, receiver) = watch::channel(0);
    let sink = Arc::new(move |event| {
        if matches!(event, RunEvent::Partial { .. } | RunEvent::Progress(_)) {
            sender.send_modify(|count| *count += 1);
        }
    });
    (sink, receiver)
}

fn lab() -> serde_json::Value {
    json!({
        "tally": action("lab.Tally", &["count/tools/lab.Count"]),
        "hang": action("lab.Other", &["h/tools/lab.Hang"]),
        "back": action("lab.Third", &["b/docs/lab.Back"]),
        "block": action("lab.Fan", &["b/tools/lab.Block"]),
    })
}

#[tokio::test]
async fn row_16_a_cancelled_run_releases_its_caller_and_the_runner_goes_on() {
    for speech in ALL {
        let workspace = Workspace::new(speech, &lab());
        let mut asked = request("hang", &json!({ "words": [] }));
        asked.partial_results = true;
        let (sink, mut seen) = begun();
        let cancelled = timeout(PATIENCE, async {
            tokio::select! {
                ran = workspace.host.run(&asked, Some(sink)) => panic!("{ran:?}"),
                _ = seen.wait_for(|count| *count >= 2) => {}
            }
        });
        cancelled.await.unwrap();
        let outcome = workspace.run("tally", json!({ "words": ["a"] })).await.unwrap();
        assert_eq!(trail(&outcome), ["count"]);
        assert_eq!(workspace.starts("tools"), 1, "{speech:?}");
        assert_eq!(*seen.borrow(), 2, "nothing comes late");
        workspace.end().await;
    }
}

#[tokio::test]
async fn row_16_what_a_cancelled_run_has_started_is_cancelled_too() {
    for speech in ALL {
        let workspace = Workspace::new(speech, &lab());
        let asked = request("back", &json!({ "words": ["project lab.actions.Other"] }));
        let hanging = async {
            // Its nested run hangs: the runner of `tools` is used.
            while workspace.starts("tools") == 0 {
                tokio::task::yield_now().await;
            }
            workspace
                .until(|events| {
                    let running = events
                        .iter()
                        .filter(|event| format!("{event:?}").contains("Running"));
                    running.count() == 2
                })
                .await;
        };
        timeout(PATIENCE, async {
            tokio::select! {
                ran = workspace.host.run(&asked, None) => panic!("{ran:?}"),
                () = hanging => {}
            }
        })
        .await
        .unwrap();
        let outcome = workspace.run("tally", json!({ "words": ["a"] })).await.unwrap();
        assert_eq!(trail(&outcome), ["count"]);
        workspace.end().await;
    }
}

#[tokio::test]
async fn a_run_whose_runner_is_silent_ends_and_the_next_one_gets_a_new_runner() {
    let actions = json!({
        "hang": action("lab.Other", &["h/tools/lab.Hang"]),
        "far": action("lab.Third", &["b/docs/lab.Back"]),
        "near": action("lab.Tally", &["b/tools/lab.Back"]),
        "tally": action("lab.Fan", &["count/tools/lab.Count"]),
    });
    let mut settings = settings(ALL[0], &actions);
    settings.limits.silent_seconds = 1;
    let workspace = Workspace::with(settings.clone(), &exports(ALL[0]));
    let error = workspace.run("hang", json!({ "words": [] })).await.unwrap_err();
    let is_of_hang =
        matches!(&error, RunError::Silent { env, action, .. } if env == "tools" && action == "hang");
    assert!(is_of_hang, "{error}");
    let told = workspace.events.lock().iter().any(|event| {
        matches!(event, Event::Message(said) if said.env == "tools" && said.text.starts_with("hang has given no sign"))
    });
    assert!(told, "{:?}", workspace.events.lock());
    let outcome = workspace.run("tally", json!({ "words": ["a"] })).await.unwrap();
    assert_eq!(
        (trail(&outcome), workspace.starts("tools")),
        (vec!["count".to_owned()], 2)
    );
    // A runner that waits for another one is not the silent one, and one that waits for itself is.
    let asked = json!({ "words": ["project lab.actions.Other"] });
    let outcome = workspace.run("far", asked.clone()).await.unwrap();
    assert!(
        trail(&outcome)[1].contains("the runner of tools in shop gave no sign for 1 s during hang"),
        "{outcome:?}"
    );
    assert_eq!(workspace.starts("docs"), 1);
    workspace.end().await;
    let workspace = Workspace::with(settings, &exports(ALL[0]));
    let error = workspace.run("near", asked).await.unwrap_err();
    assert!(
        matches!(error, RunError::Silent { .. } | RunError::Stopped { .. }),
        "{error}"
    );
    workspace.end().await;
}

#[tokio::test]
async fn row_17_a_runner_that_is_killed_fails_its_run_at_once_and_the_next_run_restarts_it() {
    let actions = json!({
        "die": action("lab.Tally", &["die/tools/lab.Die"]),
        "tally": action("lab.Other", &["count/tools/lab.Count"]),
    });
    for speech in ALL {
        let workspace = Workspace::new(speech, &actions);
        let error = workspace.run("die", json!({ "words": [] })).await.unwrap_err();
        assert!(matches!(error, RunError::Stopped { .. }), "{error}");
        let outcome = workspace.run("tally", json!({ "words": ["a"] })).await.unwrap();
        assert_eq!(trail(&outcome), ["count"]);
        assert_eq!(workspace.starts("tools"), 2);
        let exited = workspace.events.lock().iter().any(|event| {
            matches!(event, Event::Runner(info) if matches!(&info.state, RunnerState::Exited(why) if why.contains("exit code 7")))
        });
        assert!(exited, "{:?}", workspace.events.lock());
        workspace.end().await;
    }
}

#[tokio::test]
async fn row_15_a_run_sees_the_changes_before_it_and_a_new_runner_the_current_text() {
    for speech in ALL {
        let workspace = Workspace::with(settings(speech, &lab()), &exports(speech));
        let uri = format!("file://{}/a%20note.txt", workspace.shop().display());
        let word = json!({ "words": [format!("document {uri}")] });
        let host = &workspace.host;
        host.open_document(1, &uri, 1, "buffer text\n").unwrap();
        assert_eq!(
            trail(&workspace.run("back", word.clone()).await.unwrap())[1],
            "buffer text\n"
        );
        for version in 2..50 {
            let range =
                json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } });
            let change = Change {
                range: serde_json::from_value(range).unwrap(),
                text: format!("{version} "),
            };
            host.change_document(1, &uri, version, &[change]).unwrap();
        }
        let seen = trail(&workspace.run("back", word.clone()).await.unwrap());
        assert!(
            seen[1].starts_with("49 48 47") && seen[1].ends_with("2 buffer text\n"),
            "{}",
            seen[1]
        );
        assert!(host.restart(&workspace.shop(), "docs"));
        let again = trail(&workspace.run("back", word.clone()).await.unwrap());
        assert_eq!((again, workspace.starts("docs")), (seen, 2));
        host.close_document(&uri);
        assert_eq!(trail(&workspace.run("back", word).await.unwrap())[1], "");
        let change = [Change {
            range: None,
            text: String::new(),
        }];
        assert_eq!(
            host.change_document(1, &uri, 3, &change),
            Err(DocumentError::NotOpen)
        );
        workspace.end().await;
    }
}
