//! Computes the next reply from the conversation alone.
//!
//! The instructions of the last user's message are processed in order. Each takes its existing results; the first
//! instruction without a result is the next call. After a failure, the rest is skipped.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Value, json};

use super::answer::answer;
use super::help::help;
use super::instruction::Instruction;
use super::prompt::instructions;
use super::speech::Speech;
use super::summary::{readme, summary};
use bobbin_agent_api::model::{Call, Message};
use bobbin_agent_api::tool::without_numbers;

/// Most repetitions, and most bytes of all of them.
const MAX_REPEATS: usize = 100_000;
const MAX_REPEATED_BYTES: usize = 4 << 20;

/// The next step.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Make a call.
    Call {
        tool: Cow<'static, str>,
        arguments: Value,
    },
    /// Send this text and finish.
    Say(Vec<Speech>),
    /// Say that this part of the prompt was not understood, and finish.
    NotUnderstood(String),
}

/// The result of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome<'a> {
    pub(super) text: &'a str,
    pub(super) success: bool,
}

/// Returns the next step of a conversation.
pub(super) fn next_step(messages: &[Message]) -> Step {
    let Some((prompt, since)) = last_prompt(messages) else {
        return Step::Say(vec![Speech::Text(help())]);
    };
    let instructions = match instructions(&prompt) {
        Ok(instructions) => instructions,
        Err(line) => return Step::NotUnderstood(line),
    };
    let mut given = outcomes(since).into_iter();
    let mut said = Vec::new();
    for (index, instruction) in instructions.iter().enumerate() {
        let done = match do_one(instruction, &mut given) {
            Progress::Next(call) => return call,
            Progress::Done { speech, success } => {
                said.push(speech);
                success
            }
        };
        let left = &instructions[index + 1..];
        if !done && !left.is_empty() {
            let left: Vec<String> = left.iter().map(Instruction::in_words).collect();
            said.push(Speech::Text(format!(
                "I stopped there. Not done: {}.",
                left.join("; ")
            )));
            break;
        }
    }
    Step::Say(said)
}

enum Progress {
    Next(Step),
    Done { speech: Speech, success: bool },
}

fn do_one<'a>(instruction: &Instruction, given: &mut impl Iterator<Item = Outcome<'a>>) -> Progress {
    if let Some((tool, arguments)) = instruction.call() {
        return match given.next() {
            None => Progress::Next(Step::Call { tool, arguments }),
            Some(outcome) => Progress::Done {
                speech: Speech::Text(answer(instruction, outcome)),
                success: outcome.success,
            },
        };
    }
    let said = |text: String| Progress::Done {
        speech: Speech::Text(text),
        success: true,
    };
    match instruction {
        Instruction::Say { text } => said(text.clone()),
        Instruction::Repeat { times, text } => match repeated(*times, text) {
            Ok(speech) => Progress::Done {
                speech,
                success: true,
            },
            Err(why) => said(why),
        },
        Instruction::Summarize => summarize(given),
        _ => said(help()),
    }
}

fn repeated(times: usize, text: &str) -> Result<Speech, String> {
    if times > MAX_REPEATS || times.saturating_mul(text.len()) > MAX_REPEATED_BYTES {
        return Err(format!(
            "I repeat a text at most {MAX_REPEATS} times and {} MiB altogether.",
            MAX_REPEATED_BYTES >> 20
        ));
    }
    if times == 0 {
        return Err("Zero times: nothing to say.".to_owned());
    }
    Ok(Speech::Repeated {
        text: text.to_owned(),
        times,
    })
}

/// Lists all files, reads the README if there is one, and writes the summary.
fn summarize<'a>(given: &mut impl Iterator<Item = Outcome<'a>>) -> Progress {
    let done = |text: String, success| Progress::Done {
        speech: Speech::Text(text),
        success,
    };
    let Some(listed) = given.next() else {
        return Progress::Next(Step::Call {
            tool: "FindFiles".into(),
            arguments: json!({ "recursive": true }),
        });
    };
    if !listed.success {
        return done(format!("I could not list the workspace: {}", listed.text), false);
    }
    let Some(path) = readme(listed.text) else {
        return done(summary(listed.text, None), true);
    };
    match given.next() {
        None => Progress::Next(Step::Call {
            tool: "ReadFile".into(),
            arguments: json!({ "path": path, "limit": 200 }),
        }),
        // An unreadable README does not affect the rest.
        Some(read) => {
            let readme = if read.success {
                without_numbers(read.text)
            } else {
                String::new()
            };
            done(summary(listed.text, Some(&readme)), true)
        }
    }
}

/// Returns the user's last message, and the messages after it.
fn last_prompt(messages: &[Message]) -> Option<(String, &[Message])> {
    let at = messages
        .iter()
        .rposition(|message| matches!(message, Message::User { .. }))?;
    let Message::User { parts } = &messages[at] else {
        return None;
    };
    // Attachments are no instructions.
    let said = parts
        .iter()
        .filter(|part| !matches!(part, bobbin_model::InputPart::Context { .. }));
    let prompt = said.map(bobbin_model::InputPart::display).collect();
    Some((prompt, &messages[at + 1..]))
}

/// Returns the results of the calls, in the order of the calls.
fn outcomes(since: &[Message]) -> Vec<Outcome<'_>> {
    let results: HashMap<&str, Outcome<'_>> = since
        .iter()
        .filter_map(|message| match message {
            Message::Result {
                call_id,
                text,
                success,
            } => Some((
                call_id.as_str(),
                Outcome {
                    text,
                    success: *success,
                },
            )),
            _ => None,
        })
        .collect();
    let calls = since.iter().flat_map(|message| match message {
        Message::Agent { calls, .. } => calls.as_slice(),
        _ => &[],
    });
    calls
        .filter_map(|call: &Call| results.get(call.id.as_str()).copied())
        .collect()
}

#[cfg(test)]
#[path = "steps_tests.rs"]
mod tests;
