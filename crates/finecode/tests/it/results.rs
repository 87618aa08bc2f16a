//! What comes of runs: formats, outcomes, orchestration, JSON that is carried unchanged.

use std::fs;

use bobbin_finecode::{Format, RunError, Status};
use serde_json::json;

use crate::support::{ALL, Workspace, action, exports, raw, request, settings, trail};

#[tokio::test]
async fn row_04_formats_without_a_result_are_an_error_of_the_protocol() {
    let answers = [
        (
            json!({ "status": "success", "result_by_format": "{}", "return_code": 0 }),
            "without a result",
        ),
        (
            json!({ "status": "success", "resultByFormat": {}, "returnCode": 0 }),
            "without a result",
        ),
        (
            json!({ "status": "success", "resultByFormat": "nonsense", "returnCode": 0 }),
            "cannot be read",
        ),
        (
            json!({ "status": "done", "resultByFormat": { "json": {} }, "returnCode": 0 }),
            "status \"done\"",
        ),
    ];
    for (answer, why) in answers {
        let outcome = recorded_answer(&json!({ "result": answer })).await;
        let Err(RunError::Protocol { problem, .. }) = outcome else {
            panic!("{answer}: {outcome:?}");
        };
        assert!(problem.contains(why), "{problem}");
    }
}

/// Runs an action whose runner answers this.
async fn recorded_answer(answer: &serde_json::Value) -> Result<bobbin_finecode::Outcome, RunError> {
    let directory = tempfile::tempdir().unwrap();
    let fixture = directory.path().join("frames.jsonl");
    let mut answered = answer.clone();
    answered["id"] = json!(2);
    let asked =
        json!({ "id": 2, "method": "actions/run", "params": { "actionName": "tally", "params": {} } });
    let frames = [
        json!({ "env": "tools", "from": "manager", "message": { "id": 1, "method": "initialize" } }),
        json!({ "env": "tools", "from": "runner", "message": { "id": 1, "result": { "capabilities": {} } } }),
        json!({ "env": "tools", "from": "manager", "message": asked }),
        json!({ "env": "tools", "from": "runner", "message": answered }),
    ];
    fs::write(&fixture, frames.map(|frame| frame.to_string()).join("\n")).unwrap();
    let exports = format!("LAB_MODE=replay\nLAB_FIXTURE={}", fixture.display());
    let actions = json!({ "tally": action("lab.Tally", &["count/tools/lab.Count"]) });
    let workspace = Workspace::with(settings(ALL[0], &actions), &exports);
    let outcome = workspace.run("tally", json!({})).await;
    workspace.end().await;
    outcome
}

#[tokio::test]
async fn row_05_each_way_to_end_has_an_outcome_of_its_own() {
    let actions = json!({
        "good": action("lab.Tally", &["bad/tools/lab.Bad"]),
        "stop": action("lab.Other", &["stop/tools/lab.Stop", "count/tools/lab.Count"]),
        "fail": action("lab.Third", &["fail/tools/lab.Fail"]),
        "none": { "source": "lab.None" },
        "unknown": action("lab.Unknown", &["count/tools/lab.Count"]),
        "die": action("lab.Fan", &["die/tools/lab.Die"]),
    });
    for speech in ALL {
        let workspace = Workspace::new(speech, &actions);
        let words = || json!({ "words": [] });
        let good = workspace.run("good", words()).await.unwrap();
        assert_eq!((good.status, good.return_code), (Status::Success, Some(1)));
        let stopped = workspace.run("stop", words()).await.unwrap();
        assert_eq!((stopped.status, stopped.return_code), (Status::Stopped, Some(1)));
        assert_eq!(trail(&stopped), ["stop"]);
        let failed = workspace.run("fail", words()).await.unwrap_err();
        assert_eq!(failed, RunError::Action("handler fail failed: boom".to_owned()));
        let invalid = workspace.run("good", json!([])).await.unwrap();
        assert_eq!(
            invalid.status,
            Status::Success,
            "the handler does not look at its payload"
        );
        let none = workspace.run("none", words()).await.unwrap();
        assert_eq!((none.status, none.return_code), (Status::NoHandlers, Some(0)));
        let unknown = workspace.run("unknown", words()).await.unwrap_err().to_string();
        assert_eq!(unknown, "this program has no action lab.Unknown");
        let lost = workspace.run("die", words()).await.unwrap_err();
        assert!(matches!(lost, RunError::Stopped { .. }), "{lost:?}");
        assert!(matches!(
            workspace.run("absent", words()).await,
            Err(RunError::NoAction { .. })
        ));
        workspace.end().await;
    }
    let rpc = recorded_answer(&json!({ "error": { "code": -32603, "message": "no such thing" } })).await;
    let text = rpc.unwrap_err().to_string();
    assert_eq!(
        text,
        "the runner of tools in shop answered: no such thing (-32603)"
    );
    let cancelled =
        recorded_answer(&json!({ "error": { "code": -32800, "message": "Request cancelled" } })).await;
    assert_eq!(cancelled.unwrap_err(), RunError::Cancelled);
}

#[tokio::test]
async fn row_08_segments_pass_results_on_and_only_the_last_one_formats() {
    let actions = json!({
        "one": action("lab.Tally", &["a/tools/lab.Count", "b/tools/lab.Peek", "c/docs/lab.Peek"]),
        "two": action("lab.Other", &["a/tools/lab.Count", "c/docs/lab.Peek", "b/tools/lab.Bad"]),
    });
    for speech in ALL {
        let workspace = Workspace::new(speech, &actions);
        let one = workspace
            .run("one", json!({ "words": ["x", "y"] }))
            .await
            .unwrap();
        assert_eq!(trail(&one), ["count", "peek:2", "peek:2"]);
        assert_eq!(one.text.as_deref(), Some("x=1 y=1 (count peek:2 peek:2)"));
        let two = workspace.run("two", json!({ "words": ["x"] })).await.unwrap();
        assert_eq!(trail(&two), ["count", "peek:1", "bad"]);
        assert_eq!((two.status, two.return_code), (Status::Success, Some(1)));
        assert_eq!((workspace.starts("tools"), workspace.starts("docs")), (1, 1));
        workspace.end().await;
    }
}

#[tokio::test]
async fn row_08_all_segments_of_a_run_have_one_id() {
    let actions =
        json!({ "one": action("lab.Tally", &["a/tools/lab.Count", "c/docs/lab.Peek", "b/tools/lab.Peek"]) });
    let mut settings = settings(ALL[0], &actions);
    settings.runners[0].wal = Some(true);
    let workspace = Workspace::with(settings, &exports(ALL[0]));
    workspace.run("one", json!({ "words": ["x"] })).await.unwrap();
    let mut ids = Vec::new();
    for env in ["tools", "docs"] {
        let text = fs::read_to_string(workspace.shop().join(format!(".venvs/{env}/runs.jsonl"))).unwrap();
        for line in text.lines() {
            let entry: serde_json::Value = serde_json::from_str(line).unwrap();
            ids.push(entry["wal_run_id"].as_str().unwrap().to_owned());
        }
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    workspace.end().await;
}

#[tokio::test]
async fn row_09_a_stop_in_the_first_segment_ends_the_chain() {
    let actions =
        json!({ "one": action("lab.Tally", &["a/tools/lab.Stop", "c/docs/lab.Fail", "b/tools/lab.Fail"]) });
    for speech in ALL {
        let workspace = Workspace::new(speech, &actions);
        let outcome = workspace.run("one", json!({ "words": [] })).await.unwrap();
        assert_eq!((outcome.status, outcome.return_code), (Status::Stopped, Some(1)));
        assert_eq!(trail(&outcome), ["stop"]);
        workspace.end().await;
    }
}

#[tokio::test]
async fn row_10_groups_are_merged_in_their_order_and_formatted_without_handlers() {
    let actions = json!({
        "fan": action("lab.Fan", &["a/tools/lab.Count", "c/docs/lab.Bad", "b/tools/lab.Peek"]),
        "failing": action("lab.Tally", &["a/tools/lab.Count"]),
    });
    for speech in ALL {
        let workspace = Workspace::new(speech, &actions);
        let outcome = workspace.run("fan", json!({ "words": ["x"] })).await.unwrap();
        let why = "handlers of a concurrent action have no current result";
        assert_eq!(trail(&outcome), ["count", why, "bad"]);
        assert_eq!(outcome.text.unwrap(), format!("x=1 (count {why} bad)"));
        assert_eq!((outcome.status, outcome.return_code), (Status::Success, Some(1)));
        workspace.end().await;
    }
}

#[tokio::test]
async fn a_group_that_fails_fails_the_run_and_one_that_stops_is_merged() {
    let actions = json!({ "fan": action("lab.Fan", &["a/tools/lab.Count", "c/docs/lab.Stop"]) });
    let workspace = Workspace::new(ALL[0], &actions);
    let outcome = workspace.run("fan", json!({ "words": ["x"] })).await.unwrap();
    assert_eq!(
        (outcome.status, trail(&outcome)),
        (Status::Stopped, vec!["count".to_owned(), "stop".to_owned()])
    );
    workspace.end().await;
    let actions = json!({ "fan": action("lab.Fan", &["a/tools/lab.Hang", "c/docs/lab.Fail"]) });
    let workspace = Workspace::new(ALL[0], &actions);
    let error = workspace.run("fan", json!({ "words": ["x"] })).await.unwrap_err();
    assert_eq!(error, RunError::Action("handler c failed: boom".to_owned()));
    workspace.end().await;
}

#[tokio::test]
async fn row_19_payloads_and_results_arrive_as_they_were() {
    let texts = [
        r#"{"snake_case":1.0,"camelCase":1e400,"null":null,"big":123456789012345678901234567890,"words":[],"ünï":"cödé 🍵 \u0007"}"#.to_owned(),
        format!(r#"{{"words":[],"large":"{}"}}"#, "ä".repeat(1_500_000)),
    ];
    let actions = json!({ "echo": action("lab.Tally", &["echo/tools/lab.Echo"]) });
    for speech in ALL {
        let workspace = Workspace::new(speech, &actions);
        for text in &texts {
            let mut asked = request("echo", &json!(null));
            asked.payload = serde_json::value::RawValue::from_string(text.clone()).unwrap();
            asked.formats = vec![Format::Json];
            let outcome = workspace.run_with(&asked, None).await.unwrap();
            let expected = format!(r#"{{"counts":{{}},"trail":["echo"],"bad":false,"blob":{text}}}"#);
            assert!(
                outcome.json.unwrap().get() == expected,
                "{speech:?}: {}",
                &text[..60]
            );
            assert_eq!(outcome.text, None);
        }
        workspace.end().await;
    }
}

#[tokio::test]
async fn configuration_of_handlers_reaches_them_and_the_schema_of_payloads_comes_back() {
    let workspace = Workspace::new(
        ALL[2],
        &json!({ "tally": action("lab.Tally", &["count/tools/lab.Count"]) }),
    );
    let schema = workspace.host.schema("shop".as_ref(), "tally").await.unwrap();
    let words = json!({ "type": "array", "items": { "type": "string" }, "description": "Words to tally." });
    assert_eq!(
        schema,
        json!({ "properties": { "words": words }, "required": ["words"] })
    );
    assert_eq!(raw(&schema).get(), schema.to_string());
    workspace.end().await;
}
