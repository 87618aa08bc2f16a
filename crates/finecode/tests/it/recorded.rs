//! Published runners, as they answered when they were recorded.

use std::path::{Path, PathBuf};

use bobbin_finecode::{Format, Outcome, RunError, RunEvent, Settings, Status};
use serde_json::{Value, json};

use crate::support::{ALL, Speech, Workspace, collector, environments, request, settings, speech, trail};
use bobbin_finecode::Dialect;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/fixtures")
        .join(format!("{name}.jsonl"))
}

/// Returns the actions that were configured when a fixture was recorded.
fn recorded_actions(name: &str) -> Value {
    let text = std::fs::read_to_string(fixture(name)).unwrap();
    let mut actions = json!({});
    for line in text.lines() {
        let frame: Value = serde_json::from_str(line).unwrap();
        let configured = frame["message"]["params"]["config"]["actions"].as_array();
        for action in configured.into_iter().flatten() {
            let name = action["name"].as_str().unwrap();
            actions[name] = action.clone();
            actions[name].as_object_mut().unwrap().remove("name");
        }
    }
    actions
}

fn workspace(name: &str, speech: Speech) -> Workspace {
    let port = if speech.port { "LAB_PORT=1" } else { "" };
    let exports = format!("LAB_MODE=replay\nLAB_FIXTURE={}\n{port}", fixture(name).display());
    let settings: Settings = settings(speech, &recorded_actions(name));
    let workspace = Workspace::with(settings, &exports);
    environments(&workspace.shop(), &["e1", "e2", "dev_no_runtime"], &exports);
    workspace
}

fn words(words: &[&str]) -> Value {
    json!({ "words": words })
}

const FRAMINGS: [bool; 2] = [true, false];

async fn run(workspace: &Workspace, action: &str, payload: Value) -> Result<Outcome, RunError> {
    workspace.run(action, payload).await
}

#[tokio::test]
async fn row_05_recorded_runners_of_both_revisions_end_runs_in_each_way() {
    for (name, dialect) in [("lab-current", Dialect::Current), ("lab-early", Dialect::Early)] {
        for port in FRAMINGS {
            let workspace = workspace(name, speech(dialect, port));
            let tally = run(&workspace, "tally", words(&["a", "b", "a"])).await.unwrap();
            assert_eq!((tally.status, tally.return_code), (Status::Success, Some(0)));
            let text = tally.text.unwrap();
            assert!(text == "a=4\nb=2" || text == "a=8\nb=4", "{text}");
            let stopped = run(&workspace, "stopper", words(&["a", "b", "a"])).await.unwrap();
            assert_eq!((stopped.status, stopped.return_code), (Status::Stopped, Some(1)));
            assert_eq!(
                (stopped.text.as_deref(), stopped.json.is_none()),
                (Some("stop=1"), true)
            );
            let failed = run(&workspace, "failer", words(&["a", "b", "a"]))
                .await
                .unwrap_err();
            let boom = "Running action handler 'f' failed(Run 3): boom";
            assert_eq!(failed, RunError::Action(boom.to_owned()));
            let invalid = run(&workspace, "tally", json!({})).await.unwrap_err();
            assert!(matches!(invalid, RunError::Action(_)), "{invalid}");
            workspace.end().await;
        }
    }
}

#[tokio::test]
async fn row_06_a_recorded_stream_is_delivered_once_whatever_the_final_answer_holds() {
    for (name, dialect) in [("lab-current", Dialect::Current), ("lab-early", Dialect::Early)] {
        for port in FRAMINGS {
            let workspace = workspace(name, speech(dialect, port));
            let mut asked = request("stream", &json!({ "words": ["p", "q", "r"], "delay": 0.4 }));
            asked.partial_results = true;
            asked.formats = vec![Format::Json];
            let (sink, seen) = collector();
            let outcome = workspace.run_with(&asked, Some(sink)).await.unwrap();
            assert_eq!(outcome.status, Status::Streamed);
            let seen = seen.lock().clone();
            let parts: Vec<_> = seen
                .iter()
                .filter_map(|event| match event {
                    RunEvent::Partial { json, .. } => Some(json.as_ref().unwrap().get().to_owned()),
                    RunEvent::Progress(_) => None,
                })
                .collect();
            let part = |word: &str| format!(r#"{{"counts":{{"{word}":1}},"trail":["stream"],"bad":false}}"#);
            let plain: Vec<_> = parts.iter().map(|part| part.replace(' ', "")).collect();
            assert_eq!(plain, [part("p"), part("q"), part("r")]);
            // Begin, three reports, and the end.
            assert_eq!(seen.len(), 3 + 5);
            // `current` sends the whole result beside; of `early` nothing is known beyond the parts.
            let known = dialect == Dialect::Current;
            assert_eq!(
                (outcome.json.is_some(), outcome.return_code),
                (known, known.then_some(0))
            );
            workspace.end().await;
        }
    }
}

#[tokio::test]
async fn row_10_recorded_segments_and_groups() {
    for (name, dialect) in [
        ("segments-current", Dialect::Current),
        ("segments-early", Dialect::Early),
    ] {
        for port in FRAMINGS {
            let workspace = workspace(name, speech(dialect, port));
            let chain = run(&workspace, "tally", words(&["a", "b", "a"])).await.unwrap();
            let came = trail(&chain);
            // The early revision merges what it was given into what it returns, so it counts twice.
            assert!(
                came.ends_with(&["count", "peek:6", "count"].map(str::to_owned)),
                "{came:?}"
            );
            assert!(chain.text.is_some());
            let fan = run(&workspace, "fan", words(&["a", "b"])).await;
            let fan = fan.unwrap();
            assert_eq!(trail(&fan).last().map(String::as_str), Some("peek:concurrent"));
            workspace.end().await;
        }
    }
}

#[tokio::test]
async fn row_04_a_recorded_linter_gives_findings_as_json_and_as_plain_text() {
    let workspace = workspace("ruff-current", ALL[2]);
    let files = json!({ "file_paths": ["file:///ws/ruffproj/bad.py"] });
    let lint = run(&workspace, "lint_python_files", files).await.unwrap();
    assert_eq!((lint.status, lint.return_code), (Status::Success, Some(1)));
    let text = lint.text.unwrap();
    assert!(
        text.starts_with("file:///ws/ruffproj/bad.py:1:8: F401 `os` imported but unused"),
        "{text}"
    );
    let findings: Value = serde_json::from_str(lint.json.unwrap().get()).unwrap();
    assert_eq!(
        findings["messages"]["file:///ws/ruffproj/bad.py"][0]["code"],
        "F401"
    );
    workspace.end().await;
}

#[tokio::test]
async fn row_11_a_recorded_handler_asks_for_configuration_and_runs_in_other_environments() {
    for (name, dialect) in [("lab-current", Dialect::Current), ("lab-early", Dialect::Early)] {
        for port in FRAMINGS {
            let workspace = workspace(name, speech(dialect, port));
            let back = run(&workspace, "back", words(&["config", "project", "iter", "ws"]))
                .await
                .unwrap();
            let came = trail(&back);
            assert_eq!(came.first().map(String::as_str), Some("back"));
            let nested = came.iter().filter(|word| *word == "peek:1");
            assert!(nested.count() >= 2, "{came:?}");
            workspace.end().await;
        }
    }
}
