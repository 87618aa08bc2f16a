//! Calls that run by themselves after edits.

use std::sync::Arc;

use bobbin_agent::AgentEngine;
use bobbin_agent_api::model::Message;
use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
    Touches,
};
use bobbin_model::{ApprovalKind, Json, Scope, ThreadConfig};
use bobbin_testkit::TestWorkspace;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::support::{Bench, Script, Scripted, built_in, call, message, results, say};

/// Finds a word in a file of the workspace, and tidies another file up.
struct Lint {
    spec: ToolSpec,
    arguments: Json,
}

impl Lint {
    fn tool() -> Arc<dyn Tool> {
        Arc::new(Self {
            spec: ToolSpec {
                name: "lint".into(),
                description: "".into(),
                input_schema: Json::of(&json!({ "type": "object" })).unwrap(),
                effect: Effect::Writes,
            },
            arguments: Json::of(&json!({ "file": "a.txt" })).unwrap(),
        })
    }
}

impl Tool for Lint {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn after_edits(&self) -> Option<&Json> {
        Some(&self.arguments)
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let arguments: serde_json::Value = arguments.decode().unwrap();
        let root = environment.root.clone();
        Ok(Box::new(Run(
            root.join(arguments["file"].as_str().unwrap()),
            root.join("tidied"),
        )))
    }
}

struct Run(std::path::PathBuf, std::path::PathBuf);

impl PreparedCall for Run {
    fn permission(&self) -> Permission {
        Permission::Ask {
            scope: Scope::new(ApprovalKind::RemoteResource, "lint", "lint"),
            reason: "It runs code.".to_owned(),
        }
    }

    fn allowed_in_advance(&self) -> bool {
        true
    }

    fn touches(&self) -> Touches {
        Touches::Files(vec![self.1.clone()])
    }

    fn run(self: Box<Self>, _: CallContext) -> BoxFuture<'static, ToolOutput> {
        let text = std::fs::read_to_string(&self.0).unwrap();
        let before = std::fs::read(&self.1).ok();
        std::fs::write(&self.1, format!("{}+", before.as_ref().map_or(0, Vec::len))).unwrap();
        let is_clean = !text.contains("teh");
        let output = ToolOutput {
            text: if is_clean { "clean" } else { "a.txt:1:1: teh" }.to_owned(),
            success: is_clean,
            changed: vec![bobbin_agent_api::tool::ChangedFile { path: self.1, before }],
            ..ToolOutput::default()
        };
        std::future::ready(output).boxed()
    }
}

fn write(id: &str, text: &str) -> Script {
    let path = format!("{}.txt", &id[..1]);
    let mut events = call(&format!("{id}r"), "ReadFile", &json!({ "path": path }));
    events.extend(call(id, "WriteFile", &json!({ "path": path, "content": text })));
    Script::Reply(events)
}

async fn bench(workspace: &TestWorkspace, model: Arc<Scripted>, config: ThreadConfig) -> Bench {
    let engine = AgentEngine::new(model, built_in().and(vec![Lint::tool()]));
    Bench::open_engine(workspace, engine, config).await
}

#[tokio::test]
async fn what_a_check_finds_goes_to_the_model_until_it_is_clean() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([
        write("a1", "teh tea\n"),
        say("Done."),
        write("a2", "the tea\n"),
        say("Mended."),
    ]);
    let bench = bench(&workspace, model.clone(), ThreadConfig::default()).await;
    bench.run("write").await;
    let turn = bench.last_turn().await;
    assert_eq!(message(&turn), "Mended.");
    let found: Vec<_> = results(&turn).into_iter().map(|(text, _)| text).collect();
    let found: Vec<_> = found.iter().filter(|text| !text.contains("txt.")).collect();
    assert!(
        found.iter().any(|text| text.contains("a.txt:1:1: teh")),
        "{found:?}"
    );
    assert_eq!(found.last().unwrap().as_str(), "clean");
    // The model saw its own last words, the call, and what came of it. A clean check is the end of the Turn.
    let asked = model.asked();
    assert_eq!(asked.len(), 4);
    let [.., said, result] = asked[2].as_slice() else {
        panic!("{asked:#?}");
    };
    assert!(matches!(said, Message::Agent { text, calls } if text == "Done." && calls[0].tool == "lint"));
    assert!(matches!(result, Message::Result { success: false, text, .. } if text.contains("teh")));
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_model_that_mends_nothing_is_asked_three_times() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([
        write("a1", "teh 1\n"),
        say("1"),
        write("a2", "teh 2\n"),
        say("2"),
        write("a3", "teh 3\n"),
        say("3"),
        write("a4", "teh 4\n"),
        say("4"),
    ]);
    let bench = bench(&workspace, model.clone(), ThreadConfig::default()).await;
    bench.run("write").await;
    let turn = bench.last_turn().await;
    assert_eq!(message(&turn), "4");
    let checks = results(&turn)
        .iter()
        .filter(|(text, _)| text.contains("a.txt:1:1"))
        .count();
    assert_eq!(checks, 3);
    bench.threads.stop().await;
}

#[tokio::test]
async fn nothing_is_checked_without_edits_or_where_the_thread_denies_the_tool() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([say("Hello."), write("a1", "teh\n"), say("Done.")]);
    let first = bench(&workspace, model.clone(), ThreadConfig::default()).await;
    first.run("hello").await;
    assert!(results(&first.last_turn().await).is_empty());
    first.threads.stop().await;
    let workspace = TestWorkspace::default();
    let config = ThreadConfig {
        tool_deny_list: Some(vec!["lint".to_owned()]),
        ..ThreadConfig::default()
    };
    let other = bench(&workspace, model, config).await;
    other.run("write").await;
    assert_eq!(message(&other.last_turn().await), "Done.");
    assert!(!workspace.path().join("tidied").exists());
    other.threads.stop().await;
}
