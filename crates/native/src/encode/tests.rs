//! Every kind of frame and its notifications, as tables.

use bobbin_core::Frame;
use bobbin_model::{Event, Outcome, TokenUsage};
use serde_json::Value;

use super::samples::{AT, TURN, ended, of_approvals, of_deltas, of_items, of_threads, of_turns, plainly};
use super::{Kind, Numbers, encode};
use crate::convert::ToolExecutions;
use crate::group::Groups;

fn groups() -> Groups {
    Groups::of(&[crate::GROUPS])
}

const RICH: Kind = Kind {
    tool_executions: ToolExecutions::Shown,
    numbers: Numbers::Shown,
};
const PLAIN: Kind = Kind {
    tool_executions: ToolExecutions::Hidden,
    numbers: Numbers::Hidden,
};

fn encoded(frames: &[(&str, Frame)], kind: Kind) -> String {
    let mut lines = Vec::new();
    for (name, frame) in frames {
        lines.push(format!("# {name}"));
        let messages = encode(frame, kind, &groups());
        lines.extend(
            messages
                .iter()
                .map(|message| String::from_utf8(message.json.to_vec()).unwrap()),
        );
    }
    lines.join("\n")
}

fn all() -> Vec<(&'static str, Frame)> {
    [of_threads(), of_turns(), of_items(), of_approvals(), of_deltas()]
        .into_iter()
        .flatten()
        .collect()
}

fn json(frame: &Frame, kind: Kind) -> Vec<Value> {
    let messages = encode(frame, kind, &groups());
    messages
        .iter()
        .map(|message| {
            let json: Value = serde_json::from_slice(&message.json).unwrap();
            assert_eq!(json["method"], message.method);
            json
        })
        .collect()
}

#[test]
fn frames_of_threads() {
    insta::assert_snapshot!(encoded(&of_threads(), RICH));
}

#[test]
fn frames_of_turns() {
    insta::assert_snapshot!(encoded(&of_turns(), RICH));
}

#[test]
fn frames_of_items() {
    insta::assert_snapshot!(encoded(&of_items(), RICH));
}

#[test]
fn frames_of_approvals() {
    insta::assert_snapshot!(encoded(&of_approvals(), RICH));
}

#[test]
fn frames_of_deltas() {
    insta::assert_snapshot!(encoded(&of_deltas(), RICH));
}

#[test]
fn numbers_are_on_every_notification_of_those_who_want_them_and_of_nobody_else() {
    for (name, frame) in all() {
        for (place, message) in (0_u64..).zip(json(&frame, RICH)) {
            assert_eq!(message["params"]["seq"], 7 * 8 + place, "{name}");
        }
        for message in json(&frame, PLAIN) {
            assert_eq!(message["params"].get("seq"), None, "{name}");
        }
    }
}

#[test]
fn tool_executions_are_left_out_for_those_who_did_not_ask_for_them() {
    let kind = Kind {
        numbers: Numbers::Shown,
        ..PLAIN
    };
    for (name, frame) in all() {
        for message in json(&frame, kind) {
            assert!(
                !message.to_string().contains("toolExecution"),
                "{name}: {message}"
            );
        }
    }
    let shown = json(&ended(Outcome::Completed, None), RICH);
    assert_eq!(shown[0]["params"]["turn"]["items"].as_array().unwrap().len(), 2);
}

#[test]
fn an_item_that_starts_is_never_complete_and_one_that_completes_always_is() {
    for (name, frame) in all() {
        for message in json(&frame, RICH) {
            let item = &message["params"]["item"];
            match message["method"].as_str().unwrap() {
                "item/started" => {
                    assert_eq!(item["status"], "started", "{name}");
                    assert_eq!(item.get("completedAt"), None, "{name}");
                }
                "item/completed" => {
                    assert_eq!(item["status"], "completed", "{name}");
                    assert!(item["completedAt"].is_string(), "{name}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn every_kind_has_its_own_slot() {
    let mut slots: Vec<usize> = Vec::new();
    for tool_executions in [ToolExecutions::Shown, ToolExecutions::Hidden] {
        for numbers in [Numbers::Shown, Numbers::Hidden] {
            slots.push(
                Kind {
                    tool_executions,
                    numbers,
                }
                .slot(),
            );
        }
    }
    slots.sort_unstable();
    assert_eq!(slots, [0, 1, 2, 3], "four slots are kept for this dialect");
}

#[test]
fn the_end_of_a_turn_that_cannot_be_shown_is_left_out() {
    let event = Event::TurnEnded {
        turn: TURN,
        outcome: Outcome::Completed,
        completed_at: AT,
        usage: TokenUsage::default(),
        plan_pending: false,
    };
    assert!(encode(&plainly(event), RICH, &groups()).is_empty());
}
