//! What runners ask, and the limits on that.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use bobbin_finecode::{Dialect, Editor, Json};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::{ALL, Workspace, action, environments, exports, raw, request, settings, trail};

fn lab() -> Value {
    json!({
        "back": action("lab.Other", &["b/tools/lab.Back"]),
        "far": action("lab.Tally", &["c/docs/lab.Count", "p/docs/lab.Peek"]),
        "wide": action("lab.Third", &["c/docs/lab.Count", "p/tools/lab.Peek"]),
        "flow": action("lab.Fan", &["s/docs/lab.Stream"]),
    })
}

#[tokio::test]
async fn row_11_a_handler_runs_another_action_over_environments_while_its_own_run_waits() {
    for speech in ALL {
        let workspace = Workspace::new(speech, &lab());
        let words = json!({ "words": [
            "project lab.actions.Tally", "project lab.actions.Third", "project lab.Tally", "stream lab.actions.Fan",
            "stream lab.actions.Tally", "workspace lab.actions.Tally",
        ] });
        let came = trail(&workspace.run("back", words).await.unwrap());
        assert_eq!(came[0], "back:1");
        assert_eq!(
            came[1],
            r#"{"counts":{"x":1},"trail":["count","peek:1"],"bad":false}"#
        );
        assert_eq!(came[2], came[1], "an action of two environments");
        assert!(
            came[3].contains("no action with the canonical source lab.Tally"),
            "{}",
            came[3]
        );
        assert_eq!(came[4], r#"0 {"counts":{"x":1},"trail":["stream"],"bad":false}"#);
        assert_eq!(
            came[5],
            format!("0 {}", came[1]),
            "what does not stream is sent once"
        );
        let result: Value = serde_json::from_str(&came[1]).unwrap();
        let path = workspace.shop().display().to_string();
        let answer = match speech.dialect {
            Dialect::Documented => result,
            Dialect::Early => json!({ "far": result }),
            Dialect::Current => json!({ "far": { "result": result, "status": "success" } }),
        };
        assert_eq!(
            serde_json::from_str::<Value>(&came[6]).unwrap(),
            json!({ path: answer })
        );
        workspace.end().await;
    }
}

#[tokio::test]
async fn row_12_depth_7_passes_and_8_is_refused_before_anything_runs() {
    for speech in ALL {
        for (limit, passes) in [(8, true), (2, true), (1, false)] {
            let mut settings = settings(speech, &lab());
            settings.limits.depth = limit;
            let workspace = Workspace::with(settings, &exports(speech));
            for what in ["project", "workspace"] {
                let words = json!({ "words": [format!("{what} lab.actions.Tally")] });
                let came = trail(&workspace.run("back", words).await.unwrap());
                let refused = came[1].contains(&format!("depth 1 has reached the limit of {limit}"));
                assert_eq!(refused, !passes, "{came:?}");
            }
            assert_eq!(workspace.starts("docs"), usize::from(passes));
            workspace.end().await;
        }
    }
}

#[tokio::test]
async fn row_12_recursion_ends_at_the_limit() {
    // An action that runs itself: each level carries one more.
    let actions = json!({ "back": action("lab.Other", &["r/tools/lab.Recurse"]) });
    for speech in ALL {
        let workspace = Workspace::new(speech, &actions);
        let came = trail(&workspace.run("back", json!({ "words": [] })).await.unwrap());
        let expected: Vec<_> = (1..=8).rev().map(|depth| format!("depth {depth}")).collect();
        assert_eq!(came[..8], expected, "{came:?}");
        assert!(came[8].contains("depth 8 has reached the limit of 8"), "{came:?}");
        workspace.end().await;
    }
}

#[tokio::test]
async fn row_12_64_projects_pass_and_65_are_refused() {
    for (count, passes) in [(64, true), (65, false)] {
        let speech = ALL[0];
        let mut settings = settings(speech, &lab());
        // Only the asking project has environments: the others have an action without handlers.
        let empty = json!({ "action": { "idle": { "source": "lab.Idle" } } });
        let projects: Vec<_> = (0..count)
            .map(|number| PathBuf::from(format!("p{number}")))
            .collect();
        for path in &projects {
            settings
                .projects
                .insert(path.clone(), empty.as_object().unwrap().clone());
        }
        let workspace = Workspace::with(settings, &exports(speech));
        let mut asked = request("idle", &json!({}));
        asked.projects = None;
        let ran = workspace.host.run(&asked, None).await;
        if passes {
            assert_eq!(ran.unwrap().len(), 64);
        } else {
            let why = "the run would be in 65 projects, more than the limit of 64";
            assert_eq!(ran.unwrap_err().to_string(), why);
        }
        // And as a runner asks it.
        let came = trail(
            &workspace
                .run("back", json!({ "words": ["workspace lab.Idle"] }))
                .await
                .unwrap(),
        );
        let refused = came[1].contains("more than the limit of 64");
        assert_eq!(refused, !passes, "{came:?}");
        assert_eq!(workspace.starts("docs") > 0, passes);
        workspace.end().await;
    }
}

#[tokio::test]
async fn row_13_configuration_is_answered_while_a_run_waits_for_it() {
    for speech in ALL {
        let workspace = Workspace::new(speech, &lab());
        let definition = workspace.shop().join("pyproject.toml");
        let words = json!({ "words": [format!("config {}", definition.display())] });
        assert_eq!(
            trail(&workspace.run("back", words).await.unwrap()),
            ["back:1", "4"]
        );
        let error = workspace
            .run("back", json!({ "words": ["config /nowhere"] }))
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains("/nowhere is not a project"), "{error}");
        workspace.end().await;
    }
}

/// A client that notes edits and applies them.
struct Client(Arc<Mutex<Vec<String>>>, &'static str);

impl Editor for Client {
    fn apply(&self, _: Json) -> BoxFuture<'static, Result<Json, String>> {
        self.0.lock().push(self.1.to_owned());
        async { Ok(raw(&json!({ "applied": true }))) }.boxed()
    }
}

#[tokio::test]
async fn row_14_an_edit_reaches_the_right_client_and_nobody_writes_the_file() {
    for speech in ALL {
        let workspace = Workspace::new(speech, &lab());
        let file = workspace.shop().join("note.txt");
        fs::write(&file, "as it was").unwrap();
        let uri = format!("file://{}", file.display());
        let edit = json!({ "words": [format!("edit {uri}")] });
        let edited = |client: Option<u64>| {
            let mut asked = request("back", &edit);
            asked.client = client;
            asked
        };
        let alone = trail(&workspace.run_with(&edited(None), None).await.unwrap());
        let refused = r#"{"applied":false,"failureReason":"no client can apply edits"}"#;
        assert_eq!(alone[1], refused);
        let seen = Arc::new(Mutex::new(Vec::new()));
        for (number, name) in [(1, "first"), (2, "second"), (3, "third")] {
            workspace
                .host
                .connect(number, Arc::new(Client(seen.clone(), name)));
        }
        // The client of the run, the one that has the document, the one that was active last.
        workspace.run_with(&edited(Some(1)), None).await.unwrap();
        workspace.run_with(&edited(None), None).await.unwrap();
        workspace.host.open_document(2, &uri, 1, "as it was").unwrap();
        workspace.run_with(&edited(None), None).await.unwrap();
        workspace.host.disconnect(2);
        workspace.run_with(&edited(None), None).await.unwrap();
        assert_eq!(*seen.lock(), ["first", "third", "second", "third"]);
        assert_eq!(fs::read_to_string(&file).unwrap(), "as it was");
        workspace.end().await;
    }
}

#[tokio::test]
async fn runners_are_told_of_projects_and_actions() {
    let workspace = Workspace::new(ALL[2], &lab());
    let words = json!({ "words": [
        "ask workspace/getProjectPaths", "ask workspace/getWorkspaceEditablePackages",
        "ask finecode/getActionsForParent", "ask finecode/listWorkspaceActions", "ask nope/nope",
    ] });
    let came = trail(&workspace.run("back", words).await.unwrap());
    let path = workspace.shop();
    assert_eq!(
        came[1],
        json!({ "projects": [{ "path": path, "configStatus": "valid" }] }).to_string()
    );
    assert_eq!(
        (came[2].as_str(), came[3].as_str()),
        (r#"{"packages":{}}"#, r#"{"subactions":[]}"#)
    );
    let actions: Value = serde_json::from_str(&came[4]).unwrap();
    assert_eq!(actions["actions"][0]["canonicalSource"], "lab.actions.Other");
    assert_eq!(actions["actions"][1]["handlers"][0]["env"], "docs");
    assert!(came[5].contains("-32601"), "{}", came[5]);
    workspace.end().await;
}

#[tokio::test]
async fn a_workspace_run_names_the_project_that_fails() {
    let speech = ALL[0];
    let mut settings = settings(speech, &lab());
    let other = json!({ "action": { "far": action("lab.Tally", &["f/tools/lab.Fail"]) } });
    settings
        .projects
        .insert("other".into(), other.as_object().unwrap().clone());
    let workspace = Workspace::with(settings, &exports(speech));
    environments(
        &workspace.directory.path().join("other"),
        &["tools"],
        &exports(speech),
    );
    let came = trail(
        &workspace
            .run("back", json!({ "words": ["workspace lab.actions.Tally"] }))
            .await
            .unwrap(),
    );
    assert!(came[1].contains("/other: handler f failed: boom"), "{}", came[1]);
    workspace.end().await;
}
