//! Reads the answer of a hook from its exit code and its output. Pure.
//!
//! Code 0 goes on, with what the output says as JSON. Code 2 blocks, and the standard error says why. Any other code of a
//! program's own is a failure: the user is notified, and the moment passes. A guard (`PreToolUse`) that gives no answer,
//! because it did not run, did not end or cannot be understood, refuses its call: the agent may be the reason.

use bobbin_agent_api::hook::{HookEvent, HookReport, HookSaid};
use bobbin_children::Exit;
use serde::Deserialize;
use serde_json::Value;

/// Longest text for a model or a user, in bytes.
const MAX_TEXT: usize = 10 << 10;

/// The output of a hook.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) output: String,
    /// Whether the output was longer than what was read.
    pub(crate) output_cut: bool,
    pub(crate) errors: String,
}

/// The output of a hook as JSON. What is not here is not taken.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Said {
    #[serde(rename = "continue")]
    goes_on: Option<bool>,
    stop_reason: Option<String>,
    system_message: Option<String>,
    decision: Option<String>,
    reason: Option<String>,
    hook_specific_output: Specific,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Specific {
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    additional_context: Option<String>,
    updated_input: Option<Value>,
}

/// Returns what came of one hook.
pub(crate) fn read(event: HookEvent, hook: &str, exit: Exit, written: &Written) -> HookReport {
    let mut report = HookReport::default();
    let said = |text: &str| HookSaid {
        hook: hook.to_owned(),
        text: cut(text),
    };
    let errors = written.errors.trim();
    match exit {
        Exit::Exited(0) => answer(event, hook, written, &mut report),
        Exit::Exited(2) if blocks(event) => {
            let why = if errors.is_empty() {
                "it does not say why"
            } else {
                errors
            };
            report.blocked = Some(said(why));
        }
        Exit::Exited(code) => {
            let why = errors.lines().next().unwrap_or("it does not say why");
            let failure = format!("failed with the exit code {code}: {why}");
            if gave_no_answer(code) {
                no_answer(event, hook, &failure, &mut report);
            } else {
                report.notes.push(cut(&format!("{hook} {failure}")));
            }
        }
        Exit::TimedOut => no_answer(
            event,
            hook,
            "did not end within its time limit and was ended",
            &mut report,
        ),
        Exit::Signaled(_) | Exit::OverMemory(_) | Exit::Cancelled => {
            no_answer(event, hook, "was ended by a signal", &mut report);
        }
    }
    report
}

/// Whether an exit code is the shell's own: it could not run a program, or a signal has ended one.
fn gave_no_answer(code: i32) -> bool {
    matches!(code, 126 | 127 | 129..=192)
}

/// Reports a hook that gave no answer. A guard blocks then.
fn no_answer(event: HookEvent, hook: &str, failure: &str, report: &mut HookReport) {
    if event == HookEvent::PreToolUse {
        report.blocked = Some(HookSaid {
            hook: hook.to_owned(),
            text: cut(&format!(
                "the hook {failure}, and a call that it did not look at is not run; mend the hook"
            )),
        });
    } else {
        report.notes.push(cut(&format!("{hook} {failure}.")));
    }
}

/// Whether a hook can block an event.
fn blocks(event: HookEvent) -> bool {
    match event {
        HookEvent::PreToolUse
        | HookEvent::PostToolUse
        | HookEvent::UserPromptSubmit
        | HookEvent::Stop
        | HookEvent::SubagentStop => true,
        HookEvent::SessionStart | HookEvent::Notification | HookEvent::PreCompact => false,
    }
}

fn answer(event: HookEvent, hook: &str, written: &Written, report: &mut HookReport) {
    let said = |text: Option<String>, otherwise: &str| HookSaid {
        hook: hook.to_owned(),
        text: cut(text.as_deref().unwrap_or(otherwise)),
    };
    let output = written.output.trim();
    if !output.starts_with('{') {
        let is_context = matches!(event, HookEvent::UserPromptSubmit | HookEvent::SessionStart);
        if is_context && !output.is_empty() {
            report.context.push(said(Some(output.to_owned()), ""));
        }
        return;
    }
    let read = if written.output_cut {
        Err("it is too long".to_owned())
    } else {
        serde_json::from_str::<Said>(output).map_err(|error| error.to_string())
    };
    let answer = match read {
        Ok(answer) => answer,
        Err(why) => {
            let failure = format!("wrote an answer that cannot be read: {why}");
            no_answer(event, hook, &failure, report);
            return;
        }
    };
    let specific = answer.hook_specific_output;
    if let Some(message) = answer.system_message {
        report.notes.push(cut(&format!("{hook} says: {message}")));
    }
    if answer.goes_on == Some(false) {
        report.ends = Some(said(answer.stop_reason, "it does not say why"));
    }
    if let Some(context) = specific.additional_context.filter(|text| !text.trim().is_empty()) {
        report.context.push(said(Some(context), ""));
    }
    if answer.decision.as_deref() == Some("block") && blocks(event) {
        report.blocked = Some(said(answer.reason, "it does not say why"));
    }
    if event != HookEvent::PreToolUse {
        return;
    }
    let why = specific.permission_decision_reason;
    match specific.permission_decision.as_deref() {
        Some("deny") => report.blocked = Some(said(why, "it does not say why")),
        Some("ask") => report.asks = Some(said(why, "it wants you to look at it")),
        // Rules and users decide as they do without it.
        Some("allow") | None => {}
        Some(other) => {
            let failure = format!("wrote an unknown decision: {other:?}");
            no_answer(event, hook, &failure, report);
        }
    }
    if specific.updated_input.is_some() && report.blocked.is_none() {
        let why = "it wants to change the arguments of the call, which is not possible here";
        report.blocked = Some(said(None, why));
    }
}

/// Joins what came of the hooks of a moment, in their order. The first word of a kind counts.
pub(crate) fn join(reports: Vec<HookReport>) -> HookReport {
    let mut whole = HookReport::default();
    for report in reports {
        whole.blocked = whole.blocked.or(report.blocked);
        whole.asks = whole.asks.or(report.asks);
        whole.ends = whole.ends.or(report.ends);
        whole.context.extend(report.context);
        whole.notes.extend(report.notes);
    }
    whole
}

fn cut(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    format!("{}… [cut]", &text[..text.floor_char_boundary(MAX_TEXT)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(event: HookEvent, code: i32, output: &str, errors: &str) -> HookReport {
        let written = Written {
            output: output.to_owned(),
            output_cut: false,
            errors: errors.to_owned(),
        };
        read(event, "h", Exit::Exited(code), &written)
    }

    fn text(said: Option<HookSaid>) -> Option<String> {
        said.map(|said| said.text)
    }

    #[test]
    fn code_2_blocks_where_something_can_be_blocked_and_other_codes_warn() {
        let report = of(HookEvent::PreToolUse, 2, "", "no rm\n");
        assert_eq!(text(report.blocked).as_deref(), Some("no rm"));
        let report = of(HookEvent::PreCompact, 2, "", "no");
        assert!(report.blocked.is_none() && report.notes[0].contains("exit code 2: no"));
        let report = of(HookEvent::PreToolUse, 1, "", "broken\nmore");
        assert!(report.blocked.is_none() && report.notes[0].ends_with("exit code 1: broken"));
    }

    #[test]
    fn a_guard_that_gives_no_answer_refuses_its_call_and_other_hooks_warn() {
        let ends = [
            (Exit::TimedOut, "did not end within its time limit"),
            (Exit::Signaled(9), "ended by a signal"),
            (Exit::OverMemory(1), "ended by a signal"),
            (Exit::Exited(126), "exit code 126"),
            (Exit::Exited(127), "exit code 127"),
            (Exit::Exited(137), "exit code 137"),
        ];
        for (exit, expected) in ends {
            let report = read(HookEvent::PreToolUse, "h", exit, &Written::default());
            let why = text(report.blocked).unwrap_or_default();
            assert!(why.contains(expected), "{exit:?}: {why}");
            assert_eq!(report.notes, [""; 0]);
            let report = read(HookEvent::Stop, "h", exit, &Written::default());
            assert!(
                report.blocked.is_none() && report.notes[0].contains(expected),
                "{report:?}"
            );
        }
        for code in [1, 3, 125, 128, 255] {
            let report = of(HookEvent::PreToolUse, code, "", "");
            assert!(report.blocked.is_none() && report.notes.len() == 1, "{code}");
        }
    }

    #[test]
    fn the_answer_as_json_blocks_asks_ends_and_adds() {
        let pre = |decision: &str| {
            format!(
                r#"{{"hookSpecificOutput":{{"permissionDecision":"{decision}","permissionDecisionReason":"r"}}}}"#
            )
        };
        let report = of(HookEvent::PreToolUse, 0, &pre("deny"), "");
        assert_eq!(text(report.blocked).as_deref(), Some("r"));
        let report = of(HookEvent::PreToolUse, 0, &pre("ask"), "");
        assert_eq!(text(report.asks).as_deref(), Some("r"));
        assert_eq!(
            of(HookEvent::PreToolUse, 0, &pre("allow"), ""),
            HookReport::default()
        );
        let unknown = of(HookEvent::PreToolUse, 0, &pre("perhaps"), "").blocked;
        assert!(text(unknown).unwrap().contains("unknown decision"));
        let updated = r#"{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{}}}"#;
        assert!(of(HookEvent::PreToolUse, 0, updated, "").blocked.is_some());
        let report = of(
            HookEvent::Stop,
            0,
            r#"{"decision":"block","reason":"test first"}"#,
            "",
        );
        assert_eq!(text(report.blocked).as_deref(), Some("test first"));
        let report = of(
            HookEvent::PostToolUse,
            0,
            r#"{"continue":false,"stopReason":"enough","systemMessage":"m"}"#,
            "",
        );
        assert_eq!(text(report.ends).as_deref(), Some("enough"));
        assert_eq!(report.notes, ["h says: m"]);
        let context = r#"{"hookSpecificOutput":{"additionalContext":"it rains"}}"#;
        assert_eq!(
            of(HookEvent::PostToolUse, 0, context, "").context[0].text,
            "it rains"
        );
    }

    #[test]
    fn plain_output_is_context_for_prompts_only_and_nonsense_is_said() {
        assert_eq!(
            of(HookEvent::UserPromptSubmit, 0, " it rains\n", "").context[0].text,
            "it rains"
        );
        assert_eq!(of(HookEvent::PreToolUse, 0, "fine", ""), HookReport::default());
        let unreadable = of(HookEvent::PreToolUse, 0, "{no", "").blocked;
        assert!(text(unreadable).unwrap().contains("cannot be read"));
        assert!(of(HookEvent::Stop, 0, "{no", "").notes[0].contains("cannot be read"));
        let long = of(HookEvent::UserPromptSubmit, 0, &"x".repeat(MAX_TEXT + 1), "");
        assert!(long.context[0].text.ends_with("… [cut]"));
    }
}
