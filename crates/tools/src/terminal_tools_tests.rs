//! Tests of the tools for terminals, and of the shell's way into the background.

use std::collections::BTreeSet;

use bobbin_agent_api::SystemClock;
use bobbin_children::{Children, Environment, Shell};
use bobbin_model::{CommandStatus, Mode};
use bobbin_rules::{RuleSet, RuleText};
use bobbin_sandbox::{Files, Network};
use bobbin_terminals::Bounds;

use super::*;
use crate::Sandbox;
use crate::ToolSet;
use crate::testing::Workspace;
use bobbin_agent_api::tool::split_status;
use bobbin_policy::RulesPolicy;

struct Bench {
    workspace: Workspace,
    terminals: Terminals,
    tools: ToolSet,
}

impl Bench {
    fn new() -> Self {
        Self::with(Bounds::default())
    }

    fn with(bounds: Bounds) -> Self {
        let workspace = Workspace::new();
        let mut environment = Environment::empty();
        environment.set("PATH", "/usr/bin:/bin");
        let children = Children::new(None);
        let terminals = Terminals::open(
            children,
            &workspace.outside().join("terminals"),
            Arc::new(SystemClock),
            bounds,
        )
        .unwrap();
        let tools = ToolSet::with_terminals(&terminals, environment, Shell::Posix, Sandbox::default());
        Self {
            workspace,
            terminals,
            tools,
        }
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        let tool = self.tools.get(tool).unwrap();
        self.workspace.call(&**tool, arguments).await
    }

    /// Starts a command in the background; returns its id and the output.
    async fn start(&self, command: &str) -> (String, ToolOutput) {
        let output = self
            .call("Exec", json!({ "command": command, "runInBackground": true }))
            .await;
        let (how, _) = split_status(&output.text).unwrap();
        (how.rsplit(' ').next().unwrap().to_owned(), output)
    }

    fn may_write(&self, id: &str, input: &str, environment: &ToolEnvironment) -> Result<Permission, String> {
        let arguments = Workspace::json(&json!({ "sessionId": id, "input": input }));
        let tool = self.tools.get("WriteTerminal").unwrap();
        let prepared = tool
            .prepare(&arguments, environment)
            .map_err(|refusal| refusal.to_string())?;
        Ok(prepared.permission())
    }
}

#[test]
fn the_built_in_tools_are_listed() {
    let bench = Bench::new();
    let offered = bench
        .tools
        .names(Mode::Agent)
        .chain(bench.tools.names(Mode::Plan));
    let known: BTreeSet<_> = crate::built_in_names().collect();
    for name in offered.chain(["SpawnAgent", "FindTools", "SkillView", "UpdateTodos"]) {
        assert!(known.contains(name), "{name}");
    }
}

#[tokio::test]
async fn a_command_in_the_background_is_read_written_to_and_stopped() {
    let bench = Bench::new();
    let (id, output) = bench
        .start("echo begun; while read -r x; do echo got $x; done")
        .await;
    assert_eq!(output.text, format!("goes on in the background as {id}\nbegun\n"));
    let end = output.command.unwrap();
    assert_eq!((end.status, end.exit_code), (CommandStatus::Backgrounded, None));
    assert_eq!(end.background.unwrap().0, id);
    assert!(end.output_path.unwrap().ends_with(&format!("{id}.log")));
    let asked = json!({ "sessionId": id, "input": "tea\n", "yieldTimeMs": 200 });
    let written = bench.call("WriteTerminal", asked).await;
    assert!(
        written.success && written.text.ends_with("s\nbegun\ngot tea\n"),
        "{}",
        written.text
    );
    let short = json!({ "sessionId": id, "maxOutputChars": 4 });
    let read = bench.call("ReadTerminal", short).await.text;
    assert!(read.contains("has been running for") && read.contains("[10 characters before this are in "));
    assert!(read.ends_with("\ntea\n"));
    let stopped = bench.call("StopTerminal", json!({ "sessionId": id })).await.text;
    assert!(
        stopped.starts_with(&format!("{id} was stopped after ")),
        "{stopped}"
    );
    let list = bench.call("ListTerminals", json!({})).await.text;
    assert!(list.contains("was stopped") && list.ends_with("done"), "{list}");
}

#[tokio::test]
async fn what_ends_at_once_is_told_as_any_command() {
    let bench = Bench::new();
    let output = bench
        .call(
            "Exec",
            json!({ "command": "echo no; exit 4", "runInBackground": true }),
        )
        .await;
    assert_eq!(output.text, "exit code 4\nno\n");
    assert!(!output.success);
    let list = bench.call("ListTerminals", json!({})).await.text;
    assert_eq!(list, "no command runs, or ran, in the background");
}

#[tokio::test]
async fn where_there_is_no_room_nothing_is_started_in_the_background() {
    let bench = Bench::with(Bounds {
        per_thread: 0,
        ..Bounds::default()
    });
    let output = bench
        .call("Exec", json!({ "command": "touch ran", "runInBackground": true }))
        .await;
    assert!(
        output.text.starts_with("did not run: this thread has 0"),
        "{}",
        output.text
    );
    assert!(!bench.workspace.root().join("ran").exists());
}

#[tokio::test]
async fn output_that_does_not_fit_is_kept_and_named() {
    let bench = Bench::new();
    let output = bench.call("Exec", json!({ "command": "seq 20000" })).await;
    let path = output.command.unwrap().output_path.unwrap();
    let all = std::fs::read_to_string(&path).unwrap();
    assert!(all.ends_with("19999\n20000\n") && all.lines().count() == 20_000);
    let (_, place) = output
        .text
        .rsplit_once("[All 108894 bytes of it are in ")
        .unwrap();
    let read = bench
        .call(
            "ReadFile",
            json!({ "path": place.trim_end_matches(", for ReadFile and GrepFiles]"), "offset": 12_345, "limit": 1 }),
        )
        .await;
    assert!(read.text.contains("12345"), "{}", read.text);
}

#[tokio::test]
async fn terminals_of_other_conversations_are_not_there() {
    let bench = Bench::new();
    let (id, _) = bench.start("sleep 600").await;
    for (tool, arguments) in [
        ("ReadTerminal", json!({ "sessionId": id })),
        ("StopTerminal", json!({ "sessionId": id })),
        ("WriteTerminal", json!({ "sessionId": id, "input": "x" })),
    ] {
        let arguments = Workspace::json(&arguments);
        let prepared = bench
            .tools
            .get(tool)
            .unwrap()
            .prepare(&arguments, &bench.workspace.environment());
        let mut context = Workspace::context();
        context.origin.thread = bobbin_model::ThreadId::new("thread_other");
        let output = prepared.unwrap().run(context).await;
        assert_eq!(output.text, format!("there is no terminal {id}"));
    }
    bench.terminals.end().await;
}

#[tokio::test]
async fn what_is_written_is_asked_about_and_held_against_the_rules() {
    let mut bench = Bench::new();
    let (id, _) = bench.start("sleep 600").await;
    let rules = RuleText {
        action: "deny".to_owned(),
        command: Some("git push *".to_owned()),
        ..RuleText::default()
    };
    let path = RuleText {
        action: "deny".to_owned(),
        path: Some("secrets/key".to_owned()),
        ..RuleText::default()
    };
    let policy = Arc::new(RulesPolicy::new(RuleSet::new([rules, path], None).unwrap()));
    let environment = ToolEnvironment {
        policy,
        ..bench.workspace.environment()
    };
    let Ok(Permission::Ask { scope, reason }) = bench.may_write(&id, "ls\n", &environment) else {
        panic!("free, or refused")
    };
    assert_eq!(
        (scope.kind, scope.operation.as_str()),
        (ApprovalKind::Shell, "write to `sleep 600`: ls\n")
    );
    assert_eq!(
        reason,
        "The agent wants to write to the running command `sleep 600`."
    );
    for input in ["ls\ngit push origin\n", "cd secrets\ncat key\n"] {
        let refused = bench.may_write(&id, input, &environment).unwrap_err();
        assert!(refused.starts_with("refused: "), "{input}: {refused}");
    }
    assert!(bench.may_write("term_0", "x", &environment).is_err());
    // Commands are sandboxed and this one is not, so only a user's approval of this input counts.
    let profile = Profile {
        files: Files::WorkspaceWrite,
        network: Network::Off,
    };
    let tools = all(&bench.terminals, profile);
    bench.tools = ToolSet::new(tools);
    let Ok(Permission::Ask { scope, .. }) = bench.may_write(&id, "ls\n", &environment) else {
        panic!("free, or refused")
    };
    assert_eq!(scope.kind, ApprovalKind::RemoteResource);
    let auto = ToolEnvironment {
        approvals: ApprovalPolicy::AutoApprove,
        ..environment
    };
    // Input that cannot be judged needs an approval, and this policy never asks.
    let unread = "cat /proc/self/fd/9\n";
    let refused = bench.may_write(&id, unread, &auto).unwrap_err();
    assert!(refused.contains("cannot be held against the rules"), "{refused}");
    let asks = ToolEnvironment {
        approvals: ApprovalPolicy::Default,
        ..auto.clone()
    };
    assert!(matches!(
        bench.may_write(&id, unread, &asks),
        Ok(Permission::Ask { .. })
    ));
    assert!(
        bench
            .may_write(&id, "ls\n", &auto)
            .unwrap_err()
            .contains("asks nobody")
    );
    bench.terminals.end().await;
}
