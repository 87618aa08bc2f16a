//! The agent's tools for documents and extensions.

use std::sync::Arc;

use bobbin_agent_api::tool::{
    CallContext, OutputSink, OutsideWorkspace, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput,
    ToolRefusal, ToolSource as _, Touches,
};
use bobbin_hermes::{AgentTools, AgentValues, Change, News, Origin};
use bobbin_model::{ApprovalKind, ApprovalPolicy, Json, Mode, ThreadId};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{ADT, World, with_commands};

fn tools(world: &World, values: AgentValues) -> AgentTools {
    let tools = AgentTools::new(values);
    tools.begin(world.host.clone());
    tools
}

fn names(tools: &AgentTools, thread: &ThreadId) -> Vec<String> {
    let tools = tools.tools_of(thread).into_iter();
    tools.map(|tool| tool.spec().name.to_string()).collect()
}

fn prepare(
    tools: &AgentTools,
    thread: &ThreadId,
    name: &str,
    arguments: &Value,
    approvals: ApprovalPolicy,
) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
    let environment = ToolEnvironment {
        root: "/".into(),
        mode: Mode::Agent,
        outside_workspace: OutsideWorkspace::Ask,
        config: Arc::default(),
        policy: Arc::new(bobbin_agent_api::policy::NoRules),
        approvals,
        clients: bobbin_agent_api::client::ThreadClients::default(),
    };
    let mut found = tools.tools_of(thread).into_iter();
    let tool: Arc<dyn Tool> = found.find(|tool| *tool.spec().name == *name).unwrap();
    tool.prepare(&Json::of(arguments).unwrap(), &environment)
}

async fn call(tools: &AgentTools, thread: &ThreadId, name: &str, arguments: Value) -> ToolOutput {
    let prepared = prepare(tools, thread, name, &arguments, ApprovalPolicy::Default).unwrap();
    assert_ne!(prepared.touches(), Touches::Files(Vec::new()));
    prepared
        .run(CallContext::alone(CancellationToken::new(), Arc::new(Nowhere)))
        .await
}

struct Nowhere;

impl OutputSink for Nowhere {
    fn write(&self, _: String) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

#[tokio::test]
async fn tools_are_there_with_a_document_and_values_take_a_word() {
    let world = World::new();
    let ask = tools(&world, AgentValues::Ask);
    assert_eq!(names(&ask, &ThreadId::new("t")), [""; 0]);
    let thread = world.open("t", ADT).await;
    assert_eq!(names(&ask, &thread), ["Hl7Get", "Hl7Patch", "Hl7Validate"]);
    assert_eq!(names(&ask, &ThreadId::new("other")), [""; 0]);
    assert_eq!(names(&tools(&world, AgentValues::Withheld), &thread), [""; 0]);

    let get = |tools: &AgentTools, approvals| prepare(tools, &thread, "Hl7Get", &json!({}), approvals);
    let Permission::Ask { scope, reason } = get(&ask, ApprovalPolicy::Default).unwrap().permission() else {
        panic!("it asks");
    };
    assert_eq!(
        (scope.kind, scope.target.as_str()),
        (ApprovalKind::File, "hl7:values")
    );
    assert!(
        scope.may_be_remembered() && reason.contains("provider"),
        "{reason}"
    );
    // A Thread that asks no user has no permission either.
    let refused = get(&ask, ApprovalPolicy::AutoApprove).err().unwrap();
    assert!(refused.to_string().contains("HermesAgent"), "{refused}");
    let allow = tools(&world, AgentValues::Allowed);
    let allowed = get(&allow, ApprovalPolicy::AutoApprove).unwrap();
    assert_eq!(allowed.permission(), Permission::Free);
}

#[tokio::test]
async fn a_message_is_read_changed_checked_and_taken_back() {
    let mut world = World::new();
    let thread = world.open("t", ADT).await;
    let agent = tools(&world, AgentValues::Allowed);
    let whole = call(&agent, &thread, "Hl7Get", json!({})).await;
    assert!(
        whole.success && whole.text.contains("\nPID|1||4711||MÜLLER^ANN"),
        "{}",
        whole.text
    );
    let place = call(&agent, &thread, "Hl7Get", json!({ "path": "PID.5.1" })).await;
    assert_eq!(place.text, "version 0\nMÜLLER");
    let place = call(&agent, &thread, "Hl7Get", json!({ "path": "PID.8" })).await;
    assert_eq!(place.text, "version 0\n(empty)");
    let json = call(&agent, &thread, "Hl7Get", json!({ "format": "json" })).await;
    assert!(json.text.contains("\"segment\""), "{}", json.text);

    let patches = json!([{ "path": "PID.5.1", "value": "ROE" }, { "path": "PID.0", "value": "x" }]);
    let patched = call(
        &agent,
        &thread,
        "Hl7Patch",
        json!({ "patches": patches, "version": 0 }),
    )
    .await;
    assert!(!patched.success, "{}", patched.text);
    assert!(
        patched
            .text
            .starts_with("1 patches applied by the agent; the message has version 1 now\nPID.0: ")
    );
    let origin = world.news(|news| match news {
        News::Document(status, origin) if status.version == 1 => Some(origin),
        _ => None,
    });
    assert_eq!(origin.await, Origin::Agent);
    let stale = call(
        &agent,
        &thread,
        "Hl7Patch",
        json!({ "patches": [{ "path": "PID.8" }], "version": 0 }),
    )
    .await;
    assert!(!stale.success && stale.text.contains("version"), "{}", stale.text);
    let patches: Vec<_> = (0..12)
        .map(|n| json!({ "path": format!("ZZ1.{}", n + 1) }))
        .collect();
    let many = prepare(
        &agent,
        &thread,
        "Hl7Patch",
        &json!({ "patches": patches }),
        ApprovalPolicy::Default,
    );
    let Permission::Ask { reason, .. } = many.unwrap().permission() else {
        panic!("it asks");
    };
    assert!(reason.contains("ZZ1.10 and 2 more"), "{reason}");
    world.host.change(&thread, None, Change::Undo).await.unwrap();
    assert_eq!(world.host.text(&thread).await.unwrap().0, ADT);

    let found = call(&agent, &thread, "Hl7Validate", json!({})).await;
    assert!(
        found.success && !found.text.contains("4711") && !found.text.contains("MÜLLER"),
        "{}",
        found.text
    );
    for (name, arguments) in [
        ("Hl7Get", json!({ "path": "PID." })),
        ("Hl7Get", json!({ "format": "xml" })),
        ("Hl7Patch", json!({ "patches": [] })),
        (
            "Hl7Patch",
            json!({ "patches": [{ "path": "PID.5", "value": { "x": "MÜLLER" } }] }),
        ),
    ] {
        let refused = prepare(&agent, &thread, name, &arguments, ApprovalPolicy::Default);
        let refused = refused.err().unwrap().to_string();
        assert!(!refused.contains("MÜLLER"), "{refused}");
    }
}

#[tokio::test]
async fn a_command_of_an_extension_says_what_became_of_the_message() {
    let mut world = World::new();
    let (id, mut fake) = world.run(with_commands(&["tea/fill"])).await;
    let thread = world.open("t", ADT).await;
    let agent = tools(&world, AgentValues::Ask);
    assert!(names(&agent, &ThreadId::new("other")).contains(&"ExtensionCommand".to_owned()));
    let unknown = prepare(
        &agent,
        &thread,
        "ExtensionCommand",
        &json!({ "command": "x" }),
        ApprovalPolicy::Default,
    );
    assert!(unknown.err().unwrap().to_string().contains("there are tea/fill"));
    let running = call(
        &agent,
        &thread,
        "ExtensionCommand",
        json!({ "command": "tea/fill" }),
    );
    let filling = async {
        fake.receive_method("command/execute").await;
        let patches = json!([{ "path": "PID.8", "value": "F" }]);
        let params = json!({ "patches": patches });
        fake.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "editor/patchMessage", "params": params }))
            .await;
        fake.receive().await
    };
    let (ran, patched) = tokio::join!(running, filling);
    assert_eq!(patched["result"]["success"], true, "{patched}");
    assert!(ran.success, "{}", ran.text);
    assert!(
        ran.text.contains("version 1 now, changed by the extension tea"),
        "{} {id}",
        ran.text
    );
}

#[tokio::test]
async fn changes_of_an_earlier_document_are_not_those_of_a_command() {
    let mut world = World::new();
    let (_, _fake) = world.run(with_commands(&["tea/idle"])).await;
    let thread = world.open("t", ADT).await;
    let text = (ADT.replace("ANN", "BEA"), bobbin_hl7::Format::Hl7);
    world
        .host
        .change(&thread, None, Change::Set(text.0, text.1))
        .await
        .unwrap();
    let again = bobbin_hermes::Source::Text(ADT.to_owned());
    world.host.open(&thread, again, true).await.unwrap();
    let wait = std::time::Duration::from_millis(50);
    let changed = world
        .host
        .execute_and_wait("tea/idle", &thread, wait)
        .await
        .unwrap();
    assert_eq!(changed, None);
}
