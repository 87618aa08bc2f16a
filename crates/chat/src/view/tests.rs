//! Pictures of a Thread as a terminal shows them, at three widths.

use bobbin_client::{Notification, ThreadState};
use serde_json::{Value, json};

use super::*;
use crate::screen::{Place, Screen};
use crate::theme::Theme;

pub(crate) const AT: &str = "2027-01-01T00:00:00.000Z";

fn thread() -> Value {
    json!({
        "id": "t", "sessionId": "t", "workspacePath": "/w", "effectiveWorkspacePath": "/w", "cwd": "/w",
        "runtimeWorkspaceRoots": ["/w"], "ephemeral": false, "worktree": null, "originChannel": "cli",
        "source": { "kind": "user" }, "status": "active", "createdAt": AT, "lastActiveAt": AT,
        "historyMode": "server", "metadata": {}, "queuedInputs": [], "displayName": "Mend the kettle",
        "runtime": { "running": true, "waitingOnApproval": false, "waitingOnPlanConfirmation": false },
        "turns": [], "cost": 0.25,
    })
}

pub(crate) struct Talk {
    pub(crate) state: ThreadState,
    items: usize,
}

impl Talk {
    pub(crate) fn new() -> Self {
        let mut state = ThreadState::default();
        state.replace(serde_json::from_value(json!({ "thread": thread(), "seq": 1 })).unwrap());
        let turn = json!({ "id": "u", "threadId": "t", "status": "running", "startedAt": AT });
        state.apply(&Notification::of("turn/started", &json!({ "turn": turn })));
        Self { state, items: 0 }
    }

    pub(crate) fn item(&mut self, kind: &str, status: &str, payload: &Value) {
        self.items += 1;
        let id = format!("item_{}", self.items);
        let item = json!({
            "id": id, "turnId": "u", "type": kind, "payloadKind": kind, "status": status, "createdAt": AT,
            "completedAt": (status == "completed").then_some("2027-01-01T00:00:02.500Z"), "payload": payload,
        });
        let params = json!({ "threadId": "t", "turnId": "u", "item": item });
        self.state.apply(&Notification::of("item/started", &params));
    }

    pub(crate) fn done(&mut self, kind: &str, payload: &Value) {
        self.item(kind, "completed", payload);
    }

    pub(crate) fn call(&mut self, id: &str, tool: &str, arguments: &Value, result: &str, success: bool) {
        let call =
            json!({ "toolName": tool, "providerFlatName": tool, "callId": id, "arguments": arguments });
        self.done("toolCall", &call);
        let result = json!({
            "callId": id, "toolName": tool, "providerFlatName": tool, "result": result, "success": success,
        });
        self.done("toolResult", &result);
    }

    pub(crate) fn end(&mut self, status: &str, error: Option<&str>) {
        let turn = json!({
            "id": "u", "threadId": "t", "status": status, "startedAt": AT, "error": error,
            "completedAt": "2027-01-01T00:01:05.000Z", "cost": 0.0031, "filesChanged": 2,
            "tokenUsage": { "inputTokens": 5380, "outputTokens": 10, "totalTokens": 5390, "cachedInputTokens": 4304 },
        });
        self.state
            .apply(&Notification::of("turn/completed", &json!({ "turn": turn })));
    }
}

/// A conversation with one of everything.
fn talk() -> Talk {
    let mut talk = Talk::new();
    talk.done(
        "userMessage",
        &json!({ "text": "Mend the kettle,\nplease: 世界" }),
    );
    talk.done(
        "reasoningContent",
        &json!({ "text": "The kettle leaks. Where? I look at its seams first." }),
    );
    talk.call("c1", "ReadFile", &json!({ "path": "src/kettle.rs" }), "…", true);
    talk.call(
        "c2",
        "GrepFiles",
        &json!({ "pattern": "seam", "path": "src" }),
        "…",
        true,
    );
    talk.done(
        "agentMessage",
        &json!({ "text": "I found **it**:\n\n1. the `seam`\n2. the lid\n\n| part | state |\n|---|---|\n| seam | leaks |\n" }),
    );
    talk.call(
        "c3",
        "EditFile",
        &json!({ "path": "src/kettle.rs", "oldText": "let seam = 0;\nboil();", "newText": "let seam = 1;\nboil();" }),
        "Changed.",
        true,
    );
    let output: Vec<String> = (1..=20).map(|n| format!("test {n} ok")).collect();
    let output = output.join("\n");
    let command = json!({
        "command": "cargo test --workspace --quiet", "workingDirectory": "/w", "source": "sandbox", "status": "failed",
        "aggregatedOutput": output, "exitCode": 101, "durationMs": 12_345, "callId": "c4",
    });
    let call = json!({ "toolName": "Exec", "providerFlatName": "Exec", "callId": "c4", "arguments": {} });
    talk.done("toolCall", &call);
    talk.done("commandExecution", &command);
    talk.call(
        "c5",
        "mcp__pot__pour",
        &json!({ "cup": "blue" }),
        "the cup is\u{1b}[2J full",
        false,
    );
    talk
}

/// Returns the terminal's text after the picture.
fn picture(talk: &Talk, printed: &mut Printed, columns: usize) -> String {
    let rows = 60;
    let (finished, mut live) = printed.advance(&talk.state, columns);
    live.push(Line::default());
    live.extend(working(&talk.state, 3, Duration::from_secs(7), columns));
    live.extend(queued(&talk.state, columns));
    let facts = Status {
        model: "anthropic/claude-sonnet-4-5",
        policy: "auto in sandbox",
        ..Status::default()
    };
    live.push(status(&talk.state, &facts, columns));
    let mut bytes = Vec::new();
    let mut screen = Screen::new(&mut bytes, (columns, rows), Theme::Dark);
    screen.draw(&finished, live, Some(Place::default())).unwrap();
    let small = |number| u16::try_from(number).unwrap();
    let mut terminal = vt100::Parser::new(small(rows), small(columns), 0);
    terminal.process(&bytes);
    terminal.screen().contents().trim_end().to_owned()
}

#[test]
fn a_conversation_at_three_widths() {
    for columns in [40, 80, 200] {
        let mut talk = talk();
        talk.item("agentMessage", "started", &json!({ "text": "Still" }));
        let running = picture(&talk, &mut Printed::default(), columns);
        talk.end("failed", Some("The provider does not answer."));
        let ended = picture(&talk, &mut Printed::default(), columns);
        insta::assert_snapshot!(format!("at_{columns}"), format!("{running}\n======\n{ended}"));
    }
}

#[test]
fn what_is_printed_is_printed_once_and_in_order() {
    let mut talk = Talk::new();
    let mut printed = Printed::default();
    let mut seen = String::new();
    let mut step = |talk: &Talk, printed: &mut Printed| {
        let (finished, live) = printed.advance(&talk.state, 80);
        for line in finished {
            seen += &line.text();
            seen.push('\n');
        }
        live.iter().map(Line::text).collect::<Vec<_>>().join("\n")
    };
    talk.done("userMessage", &json!({ "text": "go" }));
    step(&talk, &mut printed);
    talk.item("agentMessage", "started", &json!({ "text": "" }));
    let delta = |talk: &mut Talk, text: &str| {
        let params = json!({ "threadId": "t", "turnId": "u", "itemId": "item_2", "delta": text });
        talk.state
            .apply(&Notification::of("item/agentMessage/delta", &params));
    };
    delta(&mut talk, "First.\n\nSec");
    assert_eq!(step(&talk, &mut printed).trim(), "Sec");
    delta(&mut talk, "ond.\n\nThird");
    assert_eq!(step(&talk, &mut printed).trim(), "Third");
    let item = json!({
        "id": "item_2", "turnId": "u", "type": "agentMessage", "payloadKind": "agentMessage", "status": "completed",
        "createdAt": AT, "payload": { "text": "First.\n\nSecond.\n\nThird." },
    });
    let params = json!({ "threadId": "t", "turnId": "u", "item": item });
    talk.state.apply(&Notification::of("item/completed", &params));
    talk.end("completed", None);
    step(&talk, &mut printed);
    step(&talk, &mut printed);
    let words: Vec<&str> = seen
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let end = "65 s · 5,380 in (4,304 cached), 10 out · $0.0031 · 2 files changed";
    assert_eq!(words, ["› go", "• First.", "Second.", "Third.", end]);
}

#[test]
fn a_plan_is_shown_with_its_steps() {
    let mut talk = Talk::new();
    let plan = json!({
        "title": "Tea", "overview": "Make tea.", "plan": "# How\n\n1. Boil\n2. Pour",
        "todos": [
            { "content": "Boil", "status": "completed" }, { "content": "Pour\u{1b}[2J", "status": "in_progress" },
            { "content": "Stir", "status": "cancelled" }, { "content": "Drink" },
        ],
    });
    talk.call("c1", "CreatePlan", &plan, "the plan is shown", true);
    let change = json!({ "updates": [{ "id": "1", "status": "completed" }] });
    talk.call("c2", "UpdateTodos", &change, "the steps are shown", true);
    talk.call("c3", "TodoWrite", &json!({ "todos": [] }), "no steps", false);
    insta::assert_snapshot!(picture(&talk, &mut Printed::default(), 40));
}

#[test]
fn an_input_says_what_it_waits_for() {
    let shown = |is_running: bool, statuses: &[&str]| {
        let inputs: Vec<Value> = statuses
            .iter()
            .map(|status| {
                json!({
                    "id": status, "threadId": "t", "nativeInputParts": [], "materializedInputParts": [],
                    "displayText": status, "status": status, "createdAt": AT,
                })
            })
            .collect();
        let mut talk = Talk::new();
        let change = json!({ "threadId": "t", "queuedInputs": inputs });
        talk.state
            .apply(&Notification::of("thread/queue/updated", &change));
        if !is_running {
            talk.end("failed", None);
        }
        let lines = queued(&talk.state, 80);
        lines.iter().map(Line::text).collect::<Vec<_>>()
    };
    let both = shown(true, &["queued", "guidancePending"]);
    let next = "    waits for the turn's next step";
    let keys = "    waits for the turn · ↑ edits it · Ctrl-S sends it now";
    assert_eq!(both, ["  ⋮ guidancePending", next, "  ⋮ queued", keys]);
    let left = shown(false, &["queued"]);
    assert_eq!(
        left,
        ["  ⋮ queued", "    not sent yet · ↑ edits it · Ctrl-S sends it"]
    );
}

/// Returns the lines that are printed.
fn printed(talk: &Talk, columns: usize) -> Vec<String> {
    let (finished, live) = Printed::default().advance(&talk.state, columns);
    finished.iter().chain(&live).map(Line::text).collect()
}

fn approval(talk: &mut Talk, id: &str, call: Option<&str>, operation: &str, decision: &str) {
    let request = json!({
        "approvalType": "shell", "operation": operation, "target": "/w", "requestId": id, "callId": call,
        "scopeKey": "shell", "reason": "No rule allows it.",
    });
    talk.done("approvalRequest", &request);
    let response = json!({ "requestId": id, "approved": decision == "accept", "decision": decision });
    talk.done("approvalResponse", &response);
}

#[test]
fn a_refusal_is_shown_once_at_its_call() {
    let call = |talk: &mut Talk, id: &str, tool: &str, arguments: &Value| {
        let call =
            json!({ "toolName": tool, "providerFlatName": tool, "callId": id, "arguments": arguments });
        talk.done("toolCall", &call);
    };
    let result = |talk: &mut Talk, id: &str, tool: &str| {
        let result = json!({
            "callId": id, "toolName": tool, "providerFlatName": tool, "result": "refused: not run", "success": false,
        });
        talk.done("toolResult", &result);
    };
    let mut talk = Talk::new();
    call(&mut talk, "c1", "Exec", &json!({ "command": "touch a" }));
    call(&mut talk, "c2", "Exec", &json!({ "command": "touch b" }));
    approval(&mut talk, "r2", Some("c2"), "touch b", "decline");
    approval(&mut talk, "r1", Some("c1"), "touch a", "accept");
    result(&mut talk, "c2", "Exec");
    call(
        &mut talk,
        "c3",
        "EditFile",
        &json!({ "path": "/w/tea", "oldText": "a", "newText": "b" }),
    );
    approval(&mut talk, "r3", Some("c3"), "write", "cancel");
    // Another agent's question is about no call that is shown.
    approval(&mut talk, "r4", None, "rm -r /", "decline");
    talk.end("cancelled", None);
    let lines = printed(&talk, 80);
    let shown: Vec<&str> = lines
        .iter()
        .map(String::as_str)
        .filter(|line| !line.is_empty())
        .collect();
    let end = "  65 s · 5,380 in (4,304 cached), 10 out · $0.0031 · 2 files changed";
    assert_eq!(
        shown,
        [
            "• Run touch a",
            "• Run touch b",
            "  ✗ Refused",
            "• Edit /w/tea",
            "  ✗ Refused",
            "✗ Refused: rm -r /",
            "✗ Interrupted",
            end
        ]
    );
}

#[test]
fn a_command_that_the_server_left_says_why_it_has_no_end() {
    let mut talk = Talk::new();
    let command = json!({
        "command": "make", "workingDirectory": "/w", "source": "sandbox", "status": "lost",
        "aggregatedOutput": "cc tea.c", "callId": "c1",
    });
    talk.done("commandExecution", &command);
    let lines = printed(&talk, 80);
    assert_eq!(
        lines[1..5],
        [
            "• Run make",
            "  │ cc tea.c",
            "  └ the server was restarted while it ran: it may have had some or all of its",
            "    effects"
        ]
    );
}

#[test]
fn a_long_message_is_folded() {
    let message = |lines: usize| {
        let text: Vec<String> = (1..=lines).map(|line| format!("line {line}")).collect();
        let mut talk = Talk::new();
        talk.done("userMessage", &json!({ "text": text.join("\n") }));
        printed(&talk, 80)
    };
    assert_eq!(message(20).len(), 21);
    let folded = message(200);
    assert_eq!(folded.len(), 10);
    assert_eq!(folded[8], "  line 8");
    assert_eq!(folded[9], "    … 192 more lines");
}
