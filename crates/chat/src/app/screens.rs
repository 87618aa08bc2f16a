//! The screens of each state as a terminal shows them, at three widths.

use bobbin_client::{Notification, Question};
use serde_json::{Value, json};

use super::*;
use crate::app::tests::app;
use crate::cells::CallState;
use crate::picker::Entry;
use crate::view::tests::{AT, Talk};

const ROWS: usize = 24;

/// A client that follows a Thread.
fn following(talk: Talk) -> App {
    let mut app = app(Opens::New, None);
    app.thread = Some("t".to_owned());
    app.state = talk.state;
    let defaults = json!({
        "model": "anthropic/claude-sonnet-4-5", "modelSource": "setting", "reasoningEfforts": [],
        "approvalPolicy": "sandboxed", "approvalPolicySet": true,
    });
    app.defaults = Some(serde_json::from_value(defaults).unwrap());
    app
}

fn asking(talk: &mut Talk) -> Value {
    let arguments = json!({
        "path": "src/kettle.rs", "oldText": "let seam = 0;\nboil();",
        "newText": "let seam = 1; // a long comment about the seam, which leaks when the water boils\nboil();",
    });
    let call = json!({ "toolName": "EditFile", "providerFlatName": "EditFile", "callId": "c1", "arguments": arguments });
    talk.done("toolCall", &call);
    json!({
        "threadId": "t", "turnId": "u", "itemId": "i", "callId": "c1", "requestId": "r", "approvalType": "file",
        "operation": "EditFile", "target": "/w/src/kettle.rs", "scopeKey": "file:/w/src/kettle.rs",
        "expiresAt": "2027-01-01T00:00:00.000Z",
        "reason": "The policy of this workspace asks before each change of a file.",
    })
}

fn ask(app: &mut App, params: Value) {
    app.question(Question::Approval(serde_json::from_value(params).unwrap()));
    app.bell = false;
}

/// Returns what the terminal shows at each width. No line may be wider than it.
fn screens(make: impl Fn(usize) -> App) -> String {
    let mut shown = Vec::new();
    for columns in [40, 80, 200] {
        let mut app = make(columns);
        let mut bytes = Vec::new();
        let mut screen = Screen::new(&mut bytes, (columns, ROWS), Theme::Dark);
        app.draw(&mut screen).unwrap();
        let small = |number| u16::try_from(number).unwrap();
        let mut terminal = vt100::Parser::new(small(ROWS), small(columns), 0);
        terminal.process(&bytes);
        let screen = terminal.screen();
        for row in 0..small(ROWS) {
            assert!(
                !screen.row_wrapped(row),
                "a line is too long: {}",
                screen.contents()
            );
        }
        shown.push(format!("== {columns}\n{}", screen.contents().trim_end()));
    }
    shown.join("\n\n")
}

#[tokio::test]
async fn a_new_thread() {
    insta::assert_snapshot!(screens(|_| {
        let mut app = following(Talk::new());
        app.thread = None;
        app.state = ThreadState::default();
        app
    }));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_streams() {
    insta::assert_snapshot!(screens(|_| {
        let mut talk = Talk::new();
        talk.done("userMessage", &json!({ "text": "Mend the kettle, please." }));
        let text = "I look at the seams first.\n\nThe seam at the spout **leaks**, because its solder is";
        talk.item("agentMessage", "started", &json!({ "text": text }));
        let input = json!({
            "id": "q", "threadId": "t", "nativeInputParts": [], "materializedInputParts": [],
            "displayText": "then polish it until the whole kitchen is in it", "status": "queued", "createdAt": AT,
        });
        let queue = json!({ "threadId": "t", "queuedInputs": [input] });
        talk.state
            .apply(&Notification::of("thread/queue/updated", &queue));
        let mut app = following(talk);
        app.compose
            .set("and what of the lid? It rattles whenever the steam is strong enough to lift it");
        app.running_since = Some(Instant::now());
        app
    }));
}

#[tokio::test]
async fn a_question_with_its_change() {
    insta::assert_snapshot!(screens(|_| {
        let mut talk = Talk::new();
        let params = asking(&mut talk);
        let mut app = following(talk);
        ask(&mut app, params);
        app
    }));
}

#[tokio::test]
async fn a_question_of_a_subagent() {
    insta::assert_snapshot!(screens(|_| {
        let mut talk = Talk::new();
        let entry = |label: &str, tool: Option<&str>, is_completed: bool| {
            json!({
                "label": label, "currentTool": tool, "inputTokens": 1, "outputTokens": 1, "isCompleted": is_completed,
            })
        };
        let entries = [
            entry("Fido", Some("EditFile"), false),
            entry("the one that reads everything about kettles", None, false),
            entry("Rex", None, true),
        ];
        let progress = json!({ "threadId": "t", "turnId": "u", "entries": entries });
        talk.state
            .apply(&Notification::of("subagent/progress", &progress));
        let mut params = asking(&mut talk);
        params["threadId"] = "of-a-subagent".into();
        let mut app = following(talk);
        ask(&mut app, params);
        app.asked[0].agent = Some("Fido".to_owned());
        let call = call_of(&app.state, &approval_of(&app)).unwrap();
        assert_eq!(call.state, CallState::Open);
        app.asked[0].show_change(&call);
        app
    }));
}

fn approval_of(app: &App) -> ApprovalRequestParams {
    let Question::Approval(params) = &app.asked[0].question else {
        unreachable!("it is an approval");
    };
    (**params).clone()
}

#[tokio::test]
async fn the_list_of_threads() {
    insta::assert_snapshot!(screens(|_| {
        let entry = |value: &str, label: &str, note: &str| Entry {
            value: value.to_owned(),
            label: label.to_owned(),
            note: note.to_owned(),
        };
        let long =
            "Find out why the kettle whistles in two voices when the lid is not quite closed, and mend it";
        let entries = vec![
            entry("a", "Mend the kettle", "just now · running · 3 turns · cli"),
            entry("b", long, "5 min ago · needs your answer · 12 turns · desktop"),
            entry(
                "c",
                "世界の湯沸かし器を直してください、蓋も",
                "2 days ago · 1 turn · page",
            ),
        ];
        let mut app = following(Talk::new());
        app.picker = Some((Purpose::Threads, Picker::new("Threads", entries, Some("b"))));
        app
    }));
}

#[tokio::test]
async fn a_plan_under_way() {
    insta::assert_snapshot!(screens(|_| {
        let mut talk = Talk::new();
        let mut plan = json!({
            "title": "Kettle", "overview": "Mend the kettle so that it boils, whistles and pours as it did before.",
            "plan": "# How\n\n1. Solder the seam\n2. Close the lid",
            "todos": [
                { "id": "1", "content": "Solder the seam", "status": "completed" },
                { "id": "2", "content": "Close the lid so that no steam gets out beside the whistle", "status": "in_progress" },
                { "id": "3", "content": "Boil", "status": "pending" },
            ],
        });
        talk.call("c1", "CreatePlan", &plan, "the plan is shown", true);
        plan["threadId"] = "t".into();
        plan["content"] = plan["plan"].take();
        talk.state.apply(&Notification::of("plan/updated", &plan));
        following(talk)
    }));
}

#[tokio::test]
async fn a_failed_turn_and_a_complaint() {
    insta::assert_snapshot!(screens(|width| {
        let mut talk = Talk::new();
        talk.done("userMessage", &json!({ "text": "Mend the kettle." }));
        talk.end(
            "failed",
            Some("The provider anthropic does not answer: connection refused (https://api.example/v1)."),
        );
        let mut app = following(talk);
        app.width = width;
        app.prompts = Some(Vec::new());
        app.submit("/compat".to_owned());
        app
    }));
}

#[tokio::test]
async fn without_a_server() {
    insta::assert_snapshot!(screens(|_| {
        let mut talk = Talk::new();
        talk.done("userMessage", &json!({ "text": "Mend the kettle." }));
        let mut app = following(talk);
        app.lost = Some("the server of this folder cannot be started: the disk is full".to_owned());
        app.compose.set("are you there?");
        app
    }));
}
