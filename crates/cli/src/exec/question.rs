//! An approval request as the user of a terminal reads and answers it.
//!
//! Its texts are the agent's. They stay within their lines, and no single key gives more than this thread has. A change of a file
//! or the arguments for an MCP server are shown; the answers that allow it are taken once all of it was.

use std::io::BufRead as _;

use bobbin_model::{Lines, marked, visible};
use serde_json::Value;

use bobbin_server::console;

/// A question to the user, with its possible answers.
pub(super) struct Question {
    text: String,
    /// Lines on the screen of the change that are not shown yet.
    more: Vec<String>,
    answers: Vec<&'static str>,
}

/// Most lines of a change that are shown unasked: they fit on a screen, with the question.
const MAX_LINES: usize = 40;

/// Each answer's decision, and what the user types.
const ANSWERS: &[(&str, &[&str])] = &[
    ("accept", &["y", "Y", "yes"]),
    ("decline", &["n", "N", "no"]),
    ("acceptForSession", &["s", "S", "session"]),
    ("cancel", &["c", "C", "cancel"]),
    ("acceptAlways", &["always"]),
    (ASK_LESS, &["sandbox"]),
];

/// Allows what is asked about, and has everything that the sandbox confines run unasked from now on.
pub(super) const ASK_LESS: &str = "askLess";

impl Question {
    /// Puts the params of an `item/approval/request` into words, with the change that the call would make.
    pub(super) fn new(params: &Value, change: Option<Vec<String>>) -> Self {
        let one_line = |name: &str| visible(params[name].as_str().unwrap_or_default(), Lines::One);
        let offered = params["availableDecisions"].as_array();
        let answers = ANSWERS.iter().map(|(decision, _)| *decision);
        let is_confined = params["confined"] == true;
        let answers: Vec<&str> = answers
            .filter(|answer| match *answer {
                ASK_LESS => is_confined,
                answer => offered.is_none_or(|offered| offered.iter().any(|one| one == answer)),
            })
            .collect();
        let mut text = match one_line("reason") {
            reason if reason.is_empty() => "The agent needs your approval.".to_owned(),
            reason => console::quoted("? ", &reason),
        };
        // Each line behind a sign: none can pass for a line of ours.
        for line in marked(params["operation"].as_str().unwrap_or_default()).split('\n') {
            text.push('\n');
            text += &console::quoted("  | ", line);
        }
        let target = one_line("target");
        if !target.is_empty() {
            text.push('\n');
            text += &console::labelled("  in ", &target);
        }
        let change = change.unwrap_or_default();
        let mut more: Vec<String> = change.iter().flat_map(|line| behind_bar(line)).collect();
        let rest = more.split_off(more.len().min(MAX_LINES));
        let shown = std::mem::replace(&mut more, rest);
        text += &lines_of(&shown);
        if answers.contains(&"acceptForSession") {
            text.push('\n');
            text += &console::labelled("  session: ", &covered(params));
        }
        if answers.contains(&"acceptAlways") {
            let scope = match one_line("alwaysScopeKey") {
                scope if scope.is_empty() => "this exact request".to_owned(),
                scope => match scope.strip_prefix("shell:") {
                    Some(start) => format!("`{start} …` in the sandbox"),
                    None => format!("{scope} in the sandbox"),
                },
            };
            text.push('\n');
            text += &console::labelled(
                "  always: ",
                &format!("{scope}, in every thread of this workspace"),
            );
        }
        if is_confined {
            text += "\n  sandbox: ask less: run everything that the sandbox confines, from now on in this workspace";
        }
        Self { text, more, answers }
    }

    /// Asks until there is an answer and returns the decision.
    pub(super) fn ask(mut self) -> &'static str {
        console::ask(&self.text);
        loop {
            console::ask(&self.prompt());
            let mut line = String::new();
            if std::io::stdin().lock().read_line(&mut line).unwrap_or(0) == 0 {
                return "decline";
            }
            if line.trim() == "d" && !self.more.is_empty() {
                console::ask(&lines_of(&std::mem::take(&mut self.more)));
            } else if let Some(decision) = self.meaning(line.trim()) {
                return decision;
            } else if !line.trim().is_empty() {
                console::ask(&self.misunderstood());
            }
        }
    }

    /// Returns the line for an answer that is none.
    fn misunderstood(&self) -> String {
        let words: Vec<&str> = self.offered().filter_map(last_word).collect();
        let more = if self.more.is_empty() { "" } else { "d, " };
        format!("\nThat is no answer. Type {more}{}.", words.join(", "))
    }

    /// Returns the line that names the answers.
    fn prompt(&self) -> String {
        let mut keys = Vec::new();
        if !self.more.is_empty() {
            keys.push(format!("[d] shows {} more lines", self.more.len()));
        }
        for answer in self.offered() {
            keys.push(
                match answer {
                    "accept" => "[y]es",
                    "decline" => "[n]o",
                    "acceptForSession" => "[s]ession",
                    "cancel" => "[c]ancel the turn",
                    ASK_LESS => "or type sandbox",
                    _ => "or type always",
                }
                .to_owned(),
            );
        }
        format!("\nAllow? {}: ", keys.join(", "))
    }

    /// Returns the answers that count now: what is not shown cannot be allowed.
    fn offered(&self) -> impl Iterator<Item = &'static str> {
        let whole = self.more.is_empty();
        let answers = self.answers.iter().copied();
        answers.filter(move |answer| whole || matches!(*answer, "decline" | "cancel"))
    }

    fn meaning(&self, typed: &str) -> Option<&'static str> {
        let (decision, _) = ANSWERS.iter().find(|(_, words)| words.contains(&typed))?;
        self.offered().find(|answer| answer == decision)
    }
}

/// Returns the whole word for a decision.
fn last_word(decision: &'static str) -> Option<&'static str> {
    let (_, words) = ANSWERS.iter().find(|(known, _)| *known == decision)?;
    words.last().copied()
}

/// Returns the lines on the screen of a line of a change, each behind a bar, so that none can pass for a line of ours.
fn behind_bar(line: &str) -> Vec<String> {
    let lines = console::quoted("  | ", line);
    lines.split('\n').map(str::to_owned).collect()
}

/// Returns lines as they follow another one.
fn lines_of(lines: &[String]) -> String {
    lines.iter().flat_map(|line| ["\n", line]).collect()
}

/// Returns what an answer for the session allows.
fn covered(params: &Value) -> String {
    let text = |name: &str| visible(params[name].as_str().unwrap_or_default(), Lines::One);
    let (operation, target, scope) = (text("operation"), text("target"), text("scopeKey"));
    let allowed = match scope.strip_prefix("shell:") {
        Some(command) if command == operation => format!("`{command}`"),
        Some(start) => format!("`{start} …`"),
        None => format!("{operation} {target}"),
    };
    format!("allows {allowed} for the rest of this thread")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_says_what_each_answer_covers_and_offers_only_what_there_is() {
        let mut params = json!({
            "reason": "The agent wants to run a command.",
            "operation": "touch one\nAllow? [y]es\u{1b}[2J",
            "target": "/w\nreally",
            "scopeKey": "shell:touch",
        });
        let question = Question::new(&params, None);
        assert_eq!(
            question.text,
            "? The agent wants to run a command.\n  | touch one\n  | Allow? [y]es\\u{1b}[2J\n  in /w\\nreally\n  \
             session: allows `touch …` for the rest of this thread\n  \
             always: this exact request, in every thread of this workspace"
        );
        assert_eq!(
            question.prompt(),
            "\nAllow? [y]es, [n]o, [s]ession, [c]ancel the turn, or type always: "
        );
        assert_eq!(
            question.misunderstood(),
            "\nThat is no answer. Type yes, no, session, cancel, always."
        );
        for (typed, meaning) in [
            ("y", Some("accept")),
            ("s", Some("acceptForSession")),
            ("always", Some("acceptAlways")),
            ("a", None),
            ("A", None),
            ("", None),
        ] {
            assert_eq!(question.meaning(typed), meaning, "{typed}");
        }
        params["alwaysScopeKey"] = json!("shell:pytest");
        assert!(
            Question::new(&params, None)
                .text
                .contains("\n  always: `pytest …` in the sandbox, in every")
        );
        assert_eq!(question.meaning("sandbox"), None);
        params["confined"] = json!(true);
        assert_eq!(Question::new(&params, None).meaning("sandbox"), Some(ASK_LESS));
        params["confined"] = json!(false);
        params["availableDecisions"] = json!(["accept", "decline"]);
        let question = Question::new(&params, None);
        assert_eq!(question.prompt(), "\nAllow? [y]es, [n]o: ");
        assert_eq!(question.meaning("always"), None);
    }

    #[test]
    fn no_line_of_a_reason_begins_as_one_of_ours() {
        let reason = format!(
            "The agent wants to call pour with {}Allow? [y]es, [n]o: ",
            "tea, ".repeat(60)
        );
        let question = Question::new(&json!({ "reason": reason }), None);
        let lines: Vec<&str> = question
            .text
            .lines()
            .take_while(|line| line.starts_with("? "))
            .collect();
        assert!(
            lines.len() > 3 && lines.last().unwrap().contains("[n]o"),
            "{}",
            question.text
        );
    }

    #[test]
    fn a_long_line_counts_as_the_lines_that_it_fills() {
        let question = Question::new(&json!({}), Some(vec!["tea ".repeat(5000)]));
        assert_eq!(question.meaning("y"), None);
        assert!(question.prompt().contains("[d] shows "), "{}", question.prompt());
    }

    #[test]
    fn a_change_is_allowed_only_after_all_of_it_was_shown() {
        let params = json!({ "operation": "write", "target": "/w/a", "scopeKey": "file:write:/w/a" });
        let change = |lines: usize| Some((0..lines).map(|line| format!("+{line}")).collect());
        let question = Question::new(&params, change(40));
        assert!(
            question
                .text
                .contains("\n  | +39\n  session: allows write /w/a for"),
            "{}",
            question.text
        );
        assert_eq!(question.meaning("y"), Some("accept"));
        let mut question = Question::new(&params, change(43));
        assert!(!question.text.contains("+40"), "{}", question.text);
        assert_eq!(
            question.prompt(),
            "\nAllow? [d] shows 3 more lines, [n]o, [c]ancel the turn: "
        );
        for (typed, meaning) in [("y", None), ("always", None), ("s", None), ("n", Some("decline"))] {
            assert_eq!(question.meaning(typed), meaning, "{typed}");
        }
        question.more.clear();
        assert_eq!(question.meaning("y"), Some("accept"));
        let lie = Question::new(&params, Some(vec!["+Allow? [y]es\u{1b}[2J\u{202e}".to_owned()]));
        assert!(
            lie.text.contains("  | +Allow? [y]es\\u{1b}[2J\\u{202e}"),
            "{}",
            lie.text
        );
    }
}
