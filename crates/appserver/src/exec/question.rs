//! An approval request as the user of a terminal reads and answers it.
//!
//! Its texts are the agent's. They stay within their lines, and no single key gives more than this thread has.

use std::io::BufRead as _;

use bobbin_model::{Lines, marked, visible};
use serde_json::Value;

use bobbin_serve::console;

/// What is asked, and which answers there are.
pub(super) struct Question {
    text: String,
    answers: Vec<&'static str>,
}

/// Each answer's decision, and what the user types.
const ANSWERS: &[(&str, &[&str])] = &[
    ("accept", &["y", "Y", "yes"]),
    ("decline", &["n", "N", "no"]),
    ("acceptForSession", &["s", "S", "session"]),
    ("cancel", &["c", "C", "cancel"]),
    ("acceptAlways", &["always"]),
];

impl Question {
    /// Puts the params of an `item/approval/request` into words.
    pub(super) fn new(params: &Value) -> Self {
        let one_line = |name: &str| visible(params[name].as_str().unwrap_or_default(), Lines::One);
        let offered = params["availableDecisions"].as_array();
        let answers = ANSWERS.iter().map(|(decision, _)| *decision);
        let answers: Vec<&str> = answers
            .filter(|answer| offered.is_none_or(|offered| offered.iter().any(|one| one == answer)))
            .collect();
        let mut text = match one_line("reason") {
            reason if reason.is_empty() => "The agent asks for permission.".to_owned(),
            reason => console::quoted("", &reason),
        };
        // Each line behind a bar: none can pass for a line of ours.
        for line in marked(params["operation"].as_str().unwrap_or_default()).split('\n') {
            text.push('\n');
            text += &console::quoted("  | ", line);
        }
        let (target, scope) = (one_line("target"), one_line("scopeKey"));
        let mut keys = String::new();
        for answer in &answers {
            match *answer {
                "accept" => keys += "[y]es, ",
                "decline" => keys += "[n]o, ",
                "acceptForSession" => keys += "[s]ession, ",
                "cancel" => keys += "[c]ancel the turn, ",
                _ => keys += "or type always, ",
            }
        }
        if !target.is_empty() {
            text.push('\n');
            text += &console::quoted("  in ", &target);
        }
        if answers.contains(&"acceptForSession") {
            let scope = format!("also later requests of {scope} in this thread");
            text.push('\n');
            text += &console::quoted("  session: ", &scope);
        }
        if answers.contains(&"acceptAlways") {
            text += "\n  always: exactly this, in every thread of this workspace";
        }
        text += &[
            "
Allow? ",
            keys.trim_end_matches(", "),
            ": ",
        ]
        .concat();
        Self { text, answers }
    }

    /// Asks until there is an answer and returns the decision.
    pub(super) fn ask(&self) -> &'static str {
        loop {
            console::ask(&self.text);
            let mut line = String::new();
            if std::io::stdin().lock().read_line(&mut line).unwrap_or(0) == 0 {
                return "decline";
            }
            if let Some(decision) = self.meaning(line.trim()) {
                return decision;
            }
        }
    }

    fn meaning(&self, typed: &str) -> Option<&'static str> {
        let (decision, _) = ANSWERS.iter().find(|(_, words)| words.contains(&typed))?;
        self.answers.iter().find(|answer| *answer == decision).copied()
    }
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
        let question = Question::new(&params);
        assert_eq!(
            question.text,
            "The agent wants to run a command.\n  | touch one\n  | Allow? [y]es\\u{1b}[2J\n  in /w\\nreally\n  \
             session: also later requests of shell:touch in this thread\n  \
             always: exactly this, in every thread of this workspace\n\
             Allow? [y]es, [n]o, [s]ession, [c]ancel the turn, or type always: "
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
        params["availableDecisions"] = json!(["accept", "decline"]);
        let question = Question::new(&params);
        assert!(
            question.text.ends_with("really\nAllow? [y]es, [n]o: "),
            "{}",
            question.text
        );
        assert_eq!(question.meaning("always"), None);
    }
}
