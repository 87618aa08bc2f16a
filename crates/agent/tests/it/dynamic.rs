//! Tools that a client runs, as the engine sees them: what the model is offered and told, and what a crash leaves.

use std::sync::Arc;

use bobbin_agent_api::client::{Answered, ClientToolCall, Clients, Editor, Service, ThreadClient};
use bobbin_agent_api::model::Message;
use bobbin_core::{Command, Resumed};
use bobbin_model::{
    DynamicTool, DynamicToolCall, ItemBody, Json, ThreadId, ToolAnswer, ToolContent, Turn, TurnStatus,
};
use bobbin_testkit::TestWorkspace;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;

use crate::support::{Bench, Script, Scripted, answer, built_in, call, message, say, text};

/// A client that answers with the name it was called by, or never.
#[derive(Default)]
struct Far {
    calls: Mutex<Vec<ClientToolCall>>,
    is_silent: bool,
}

impl ThreadClient for Far {
    fn is_there(&self) -> bool {
        true
    }

    fn run_tool(&self, call: ClientToolCall) -> BoxFuture<'_, Answered<ToolAnswer>> {
        let answer = ToolAnswer {
            success: true,
            content: vec![ToolContent::Text(format!("{} ran", call.tool))],
            ..ToolAnswer::default()
        };
        self.calls.lock().push(call);
        if self.is_silent {
            return std::future::pending().boxed();
        }
        std::future::ready(Ok(answer)).boxed()
    }

    fn editor(&self) -> Option<&dyn Editor> {
        None
    }
}

fn tool(name: &str) -> DynamicTool {
    DynamicTool {
        plugin_id: None,
        name: name.to_owned(),
        namespace: None,
        description: "d".to_owned(),
        input_schema: Json::of(&json!({ "type": "object" })).unwrap(),
        approval: None,
    }
}

async fn bring(bench: &Bench, tools: &[&str]) {
    let tools = tools.iter().map(|name| tool(name)).collect();
    let resumed: Resumed = answer(&bench.thread, |reply| Command::Resume {
        by: "test".to_owned(),
        tools: Some(tools),
        reply,
    })
    .await;
    drop(resumed);
}

fn serve(clients: &Clients, thread: &ThreadId, is_silent: bool) -> Arc<Far> {
    let far = Arc::new(Far {
        is_silent,
        ..Far::default()
    });
    let client: Arc<dyn ThreadClient> = far.clone();
    clients.bind(thread, Service::Tools, &client);
    far
}

fn calls(turn: &Turn) -> Vec<&DynamicToolCall> {
    let calls = turn.items.iter().filter_map(|item| match &item.body {
        ItemBody::DynamicToolCall(call) => Some(&**call),
        _ => None,
    });
    calls.collect()
}

fn shape(messages: &[Message]) -> Vec<String> {
    let one = |message: &Message| match message {
        Message::User { .. } => "user".to_owned(),
        Message::Agent { text, calls } => {
            let calls: Vec<String> = calls
                .iter()
                .map(|call| format!("{} {}", call.tool, call.id))
                .collect();
            format!("agent {text} [{}]", calls.join(", "))
        }
        Message::Result {
            call_id,
            text,
            success,
        } => format!("result {call_id} {success} {text}"),
    };
    messages.iter().map(one).collect()
}

#[tokio::test]
async fn the_tools_of_a_client_are_offered_while_it_is_there() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([say("a"), say("b"), say("c")]);
    let bench = Bench::open(&workspace, model.clone(), built_in()).await;
    bring(&bench, &["boil", "Exec"]).await;
    bench.run("1").await;
    let offers = |wanted: &str| model.offered().iter().any(|name| name.starts_with(wanted));
    assert!(!offers("boil") && offers("Exec"), "{:?}", model.offered());
    let far = serve(bench.threads.clients(), bench.thread.id(), false);
    bench.run("2").await;
    // A built-in tool keeps its name.
    assert!(offers("boil") && offers("client__Exec_"), "{:?}", model.offered());
    let gone: Arc<dyn ThreadClient> = far;
    bench.threads.clients().leave(&gone);
    bench.run("3").await;
    assert!(!offers("boil") && !offers("client__"), "{:?}", model.offered());
    bench.threads.stop().await;
}

#[tokio::test]
async fn the_model_reads_calls_of_client_tools_like_any_others_then_and_later() {
    let workspace = TestWorkspace::default();
    let mut both = vec![text("Both.")];
    both.extend(call("1", "boil", &json!({ "cups": 2 })));
    both.extend(call("2", "steep", &json!({})));
    let model = Scripted::new([
        Script::Reply(both),
        Script::Reply(call("1", "boil", &json!({}))),
        say("done"),
        say("again"),
    ]);
    let bench = Bench::open(&workspace, model.clone(), built_in()).await;
    bring(&bench, &["boil", "steep"]).await;
    let far = serve(bench.threads.clients(), bench.thread.id(), false);
    bench.run("go").await;
    let turn = bench.last_turn().await;
    assert_eq!((turn.status, calls(&turn).len()), (TurnStatus::Completed, 3));
    let sent: Vec<String> = far.calls.lock().iter().map(|call| call.call_id.clone()).collect();
    assert_eq!(sent, ["dyntool_1", "dyntool_2", "dyntool_1_2"]);
    let expected = [
        "user",
        "agent Both. [boil dyntool_1, steep dyntool_2]",
        "result dyntool_1 true boil ran",
        "result dyntool_2 true steep ran",
        "agent  [boil dyntool_1_2]",
        "result dyntool_1_2 true boil ran",
    ];
    assert_eq!(shape(&model.asked()[2]), expected);
    bench.run("more").await;
    let later = shape(&model.asked()[3]);
    // Calls of two replies in one millisecond, as this clock has them, are read back as calls of one.
    assert!(
        later[1].starts_with("agent Both. [boil dyntool_1, steep dyntool_2"),
        "{later:?}"
    );
    let results = later.iter().filter(|line| line.starts_with("result"));
    assert_eq!(results.count(), 3, "{later:?}");
    assert_eq!(later[later.len() - 2..], ["agent done []", "user"]);
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_call_in_flight_at_a_crash_is_not_sent_again_and_the_model_is_told() {
    let workspace = TestWorkspace::default();
    let mut two = call("1", "boil", &json!({}));
    two.extend(call("2", "steep", &json!({})));
    let bench = Bench::open(&workspace, Scripted::new([Script::Reply(two)]), built_in()).await;
    bring(&bench, &["boil", "steep"]).await;
    let far = serve(bench.threads.clients(), bench.thread.id(), true);
    bench.start("go").await;
    bench.until(|_| far.calls.lock().len() == 1).await;

    // Nobody serves the tools when the Turn is taken up: what was not sent cannot be, what was is not repeated.
    let model = Scripted::new([say("I leave it.")]);
    let second = bench.reopen(&workspace, model.clone(), built_in()).await;
    let turn = second.last_turn().await;
    assert_eq!(
        (turn.status, message(&turn)),
        (TurnStatus::Completed, "I leave it.")
    );
    let codes: Vec<&str> = calls(&turn)
        .iter()
        .map(|call| call.answer.as_ref().unwrap().error_code.as_deref().unwrap())
        .collect();
    assert_eq!(codes, ["InterruptedByRestart", "DynamicToolUnavailable"]);
    let told = shape(&model.asked()[0]);
    assert!(
        told[2].starts_with("result dyntool_1 false interrupted_by_restart"),
        "{told:?}"
    );
    assert!(
        told[3].starts_with("result dyntool_2 false DynamicToolUnavailable"),
        "{told:?}"
    );
    assert_eq!(far.calls.lock().len(), 1);
    second.threads.stop().await;
}
