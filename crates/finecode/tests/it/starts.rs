//! Starting and ending runners.

use bobbin_finecode::{Dialect, Event, RunError, RunnerSettings, RunnerState, Settings};
use serde_json::json;
use tokio::time::timeout;

use crate::support::{ALL, PATIENCE, Workspace, action, exports, settings, speech, trail};

fn tally() -> serde_json::Value {
    json!({ "tally": action("lab.Tally", &["count/tools/lab.Count", "peek/tools/lab.Peek"]) })
}

#[tokio::test]
async fn row_01_a_runner_lives_from_its_first_run_to_the_end_in_every_dialect_and_transport() {
    for speech in ALL {
        let workspace = Workspace::new(speech, &tally());
        assert_eq!(workspace.host.runners(), []);
        let outcome = workspace
            .run("tally", json!({ "words": ["a", "b", "a"] }))
            .await
            .unwrap();
        let json = r#"{"counts":{"a":2,"b":1},"trail":["count","peek:3"],"bad":false}"#;
        assert_eq!(outcome.json.as_ref().unwrap().get(), json, "{speech:?}");
        assert_eq!(outcome.text.as_deref(), Some("a=2 b=1 (count peek:3)"));
        assert_eq!(outcome.return_code, Some(0));
        assert_eq!(workspace.host.runners()[0].state, RunnerState::Running);
        workspace.host.end().await;
        let states: Vec<_> = workspace
            .events
            .lock()
            .iter()
            .map(|event| format!("{event:?}"))
            .collect();
        assert!(
            states[0].contains("Initializing") && states[1].contains("Running"),
            "{states:?}"
        );
        // A runner that leaves by itself has answered `shutdown` and seen `exit`: nobody had to kill it.
        assert_eq!(workspace.starts("tools"), 1);
    }
}

#[tokio::test]
async fn row_02_either_transport_is_found_and_lines_before_the_first_frame_do_no_harm() {
    for (port, found) in [(false, Dialect::Documented), (true, Dialect::Current)] {
        let mut settings = settings(speech(found, port), &tally());
        settings.runners.clear();
        let workspace = Workspace::with(settings, &exports(speech(found, port)));
        let outcome = workspace
            .run("lab.Tally", json!({ "words": ["a"] }))
            .await
            .unwrap();
        assert_eq!(trail(&outcome), ["count", "peek:1"]);
        let printed = workspace.host.output(&workspace.shop(), "tools").unwrap();
        assert!(
            printed.iter().any(|line| line.contains("warming up")),
            "{printed:?}"
        );
        assert!(
            printed.iter().any(|line| line.contains("the lab starts")),
            "{printed:?}"
        );
        workspace.end().await;
    }
}

#[tokio::test]
async fn row_03_a_failed_start_shows_its_exit_code_and_both_outputs() {
    let workspace = Workspace::with(
        settings(ALL[0], &tally()),
        "echo on stdout; echo on stderr >&2; exit 3",
    );
    let error = workspace
        .run("tally", json!({ "words": [] }))
        .await
        .unwrap_err()
        .to_string();
    let expected = "the runner of tools in shop cannot start: ended before it could be reached (exit code 3)\nstdout:\n  on stdout\nstderr:\n  on stderr";
    assert_eq!(error, expected);
    assert!(matches!(
        workspace.host.runners()[0].state,
        RunnerState::Failed(_)
    ));
    workspace.end().await;
}

#[tokio::test]
async fn row_03_a_missing_interpreter_is_no_crash() {
    let actions = json!({ "tally": action("lab.Tally", &["count/absent/lab.Count"]) });
    let workspace = Workspace::new(ALL[0], &actions);
    let error = workspace.run("tally", json!({ "words": [] })).await.unwrap_err();
    assert!(matches!(error, RunError::NotStarted { .. }));
    let text = error.to_string();
    assert!(
        text.contains("absent in shop") && text.contains("bin/python is missing"),
        "{text}"
    );
    assert!(matches!(
        workspace.host.runners()[0].state,
        RunnerState::NoVenv(_)
    ));
    // It is looked for at each use, without a pause.
    for _ in 0..3 {
        let again = workspace.run("tally", json!({ "words": [] })).await.unwrap_err();
        assert_eq!(again, error);
    }
    crate::support::environments(&workspace.shop(), &["absent"], &exports(ALL[0]));
    workspace.run("tally", json!({ "words": [] })).await.unwrap();
    workspace.end().await;
}

#[tokio::test]
async fn an_environment_that_has_moved_is_not_started() {
    let workspace = Workspace::new(ALL[0], &tally());
    let activate = workspace.shop().join(".venvs/tools/bin/activate");
    std::fs::write(activate, "VIRTUAL_ENV=\"/somewhere/else\"\n").unwrap();
    let error = workspace
        .run("tally", json!({ "words": [] }))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("was made for /somewhere/else and has moved"),
        "{error}"
    );
    assert_eq!(workspace.starts("tools"), 0);
    workspace.end().await;
}

#[tokio::test]
async fn row_18_callers_that_come_at_once_share_one_process() {
    for speech in ALL {
        let workspace = Workspace::new(speech, &tally());
        let run = || workspace.run("tally", json!({ "words": ["a"] }));
        let (one, two, three) = tokio::join!(run(), run(), run());
        for outcome in [one, two, three] {
            assert_eq!(trail(&outcome.unwrap()), ["count", "peek:1"]);
        }
        assert_eq!(workspace.starts("tools"), 1);
        workspace.end().await;
    }
}

#[tokio::test]
async fn row_20_a_published_package_without_the_methods_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let fixture = directory.path().join("old.jsonl");
    let greeting =
        json!({ "capabilities": { "executeCommandProvider": { "commands": [] } }, "serverInfo": {} });
    let frames = [
        json!({ "env": "tools", "from": "manager", "message": { "id": 1, "method": "initialize", "params": {} } }),
        json!({ "env": "tools", "from": "runner", "message": { "id": 1, "result": greeting } }),
    ];
    std::fs::write(&fixture, frames.map(|frame| frame.to_string()).join("\n")).unwrap();
    let exports = format!("LAB_MODE=replay\nLAB_FIXTURE={}", fixture.display());
    let workspace = Workspace::with(settings(ALL[0], &tally()), &exports);
    let error = workspace
        .run("tally", json!({ "words": [] }))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("is a published package (0.3 or 0.4.0a1)"),
        "{error}"
    );
    workspace.end().await;
}

#[tokio::test]
async fn a_debugger_is_announced_before_the_runner_serves() {
    let mut settings = settings(ALL[2], &tally());
    settings.runners[0].debug = Some(true);
    let exports = format!("echo 'Debug session: 127.0.0.1:5678'\n{}", exports(ALL[2]));
    let workspace = Workspace::with(settings, &exports);
    workspace.run("tally", json!({ "words": [] })).await.unwrap();
    let announced = workspace.events.lock().iter().any(|event| {
        matches!(event, Event::Debugger { address, env, .. } if address == "127.0.0.1:5678" && env == "tools")
    });
    assert!(announced);
    workspace.end().await;
}

#[tokio::test]
async fn a_start_that_takes_long_says_what_it_waits_for() {
    let mut settings = settings(ALL[0], &tally());
    settings.runners[0].command = Some(["/bin/sh", "-c", "exec sleep 60"].map(str::to_owned).to_vec());
    let workspace = Workspace::with(settings, "");
    let told = workspace.until(|events| {
        events.iter().any(|event| {
            matches!(event, Event::Message(said) if said.env == "tools"
                && said.text == "has not shown yet how it is reached; Bobbin waits 30 s")
        })
    });
    tokio::select! {
        ran = workspace.run("tally", json!({ "words": [] })) => panic!("{ran:?}"),
        () = told => {}
    }
    workspace.end().await;
}

#[tokio::test]
async fn a_command_of_the_settings_is_used_and_a_runner_is_restarted_and_stopped_on_request() {
    let mut all: Settings = settings(ALL[0], &tally());
    let workspace = Workspace::new(ALL[0], &json!({}));
    let python = workspace.shop().join(".venvs/tools/bin/python");
    all.runners.push(RunnerSettings {
        env: Some("elsewhere".to_owned()),
        command: Some(vec![python.display().to_string(), "-x".to_owned()]),
        ..RunnerSettings::default()
    });
    let actions = json!({ "tally": action("lab.Tally", &["count/elsewhere/lab.Count"]) });
    all.projects = settings(ALL[0], &actions).projects;
    let Workspace { directory, .. } = workspace;
    let workspace = Workspace::at(directory, all);
    let run = || workspace.run("tally", json!({ "words": ["a"] }));
    run().await.unwrap();
    let shop = workspace.shop();
    assert!(workspace.host.restart(&shop, "elsewhere") && !workspace.host.restart(&shop, "tools"));
    run().await.unwrap();
    assert!(workspace.host.stop(&shop, "elsewhere"));
    timeout(PATIENCE, async {
        while workspace.host.runners()[0].state != RunnerState::Stopped {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    run().await.unwrap();
    assert_eq!(workspace.starts("tools"), 3);
    workspace.end().await;
}
