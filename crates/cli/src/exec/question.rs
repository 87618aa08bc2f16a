//! An approval request as the user of a terminal reads and answers it.
//!
//! Its texts are the agent's. They stay within their lines, and no single key gives more than this thread has. A change of a file
//! or the arguments for an MCP server are shown; the answers that allow it are taken once all of it was.

use std::io::BufRead as _;

use bobbin_chat::ChangeLine;
use bobbin_model::{Decision, Lines, marked, visible};
use bobbin_native_wire::item::approval::ApprovalRequestParams;

use bobbin_server::console;

/// A question to the user, with its possible answers.
pub(super) struct Question {
    text: String,
    /// Lines on the screen of the change that are not shown yet.
    more: Vec<String>,
    answers: Vec<Reply>,
}

/// An answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    Decided(Decision),
    /// Allows what is asked about, and has everything that the sandbox confines run unasked from now on.
    AskLess,
}

/// Most lines of a change that are shown unasked: they fit on a screen, with the question.
const MAX_LINES: usize = 40;

/// Each answer, what the user types, and how the line that names the answers has it.
const ANSWERS: &[(Reply, &[&str], &str)] = &[
    (Reply::Decided(Decision::Accept), &["y", "Y", "yes"], "[y]es"),
    (Reply::Decided(Decision::Decline), &["n", "N", "no"], "[n]o"),
    (
        Reply::Decided(Decision::AcceptForSession),
        &["s", "S", "session"],
        "[s]ession",
    ),
    (
        Reply::Decided(Decision::Cancel),
        &["c", "C", "cancel"],
        "[c]ancel the turn",
    ),
    (
        Reply::Decided(Decision::AcceptAlways),
        &["always"],
        "or type always",
    ),
    (Reply::AskLess, &["sandbox"], "or type sandbox"),
];

impl Question {
    /// Puts the params of an `item/approval/request` into words, with the change that the call would make.
    pub(super) fn new(params: &ApprovalRequestParams, change: Option<Vec<ChangeLine>>) -> Self {
        let one_line = |text: &str| visible(text, Lines::One).into_owned();
        let offered = params.available_decisions.as_ref();
        let is_confined = params.confined;
        let answers = ANSWERS.iter().map(|(answer, ..)| *answer);
        let answers: Vec<Reply> = answers
            .filter(|answer| match answer {
                Reply::AskLess => is_confined,
                Reply::Decided(decision) => offered.is_none_or(|offered| offered.contains(decision)),
            })
            .collect();
        let mut text = match one_line(params.reason.as_deref().unwrap_or_default()) {
            reason if reason.is_empty() => "The agent needs your approval.".to_owned(),
            reason => console::quoted("? ", &reason),
        };
        // Each line behind a sign: none can pass for a line of ours.
        for line in marked(&params.operation).split('\n') {
            text.push('\n');
            text += &console::quoted("  | ", line);
        }
        let target = one_line(&params.target);
        if !target.is_empty() {
            text.push('\n');
            text += &console::labelled("  in ", &target);
        }
        let change = change.unwrap_or_default();
        let mut more: Vec<String> = change
            .iter()
            .flat_map(|line| behind_bar(&line.to_string()))
            .collect();
        let rest = more.split_off(more.len().min(MAX_LINES));
        let shown = std::mem::replace(&mut more, rest);
        text += &lines_of(&shown);
        if answers.contains(&Reply::Decided(Decision::AcceptForSession)) {
            text.push('\n');
            text += &console::labelled("  session: ", &covered(params));
        }
        if answers.contains(&Reply::Decided(Decision::AcceptAlways)) {
            let scope = match one_line(params.always_scope_key.as_deref().unwrap_or_default()) {
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
    pub(super) fn ask(mut self) -> Reply {
        console::ask(&self.text);
        loop {
            console::ask(&self.prompt());
            let mut line = String::new();
            if std::io::stdin().lock().read_line(&mut line).unwrap_or(0) == 0 {
                return Reply::Decided(Decision::Decline);
            }
            if line.trim() == "d" && !self.more.is_empty() {
                console::ask(&lines_of(&std::mem::take(&mut self.more)));
            } else if let Some(answer) = self.meaning(line.trim()) {
                return answer;
            } else if !line.trim().is_empty() {
                console::ask(&self.misunderstood());
            }
        }
    }

    /// Returns the line for an answer that is none.
    fn misunderstood(&self) -> String {
        let words = self.offered().filter_map(row_of);
        let words: Vec<&str> = words.filter_map(|(_, words, _)| words.last().copied()).collect();
        let more = if self.more.is_empty() { "" } else { "d, " };
        format!("\nThat is no answer. Type {more}{}.", words.join(", "))
    }

    /// Returns the line that names the answers.
    fn prompt(&self) -> String {
        let mut keys = Vec::new();
        if !self.more.is_empty() {
            keys.push(format!("[d] shows {} more lines", self.more.len()));
        }
        let named = self.offered().filter_map(row_of);
        keys.extend(named.map(|(_, _, key)| (*key).to_owned()));
        format!("\nAllow? {}: ", keys.join(", "))
    }

    /// Returns the answers that count now: what is not shown cannot be allowed.
    fn offered(&self) -> impl Iterator<Item = Reply> {
        let whole = self.more.is_empty();
        let answers = self.answers.iter().copied();
        answers.filter(move |answer| {
            whole || matches!(answer, Reply::Decided(Decision::Decline | Decision::Cancel))
        })
    }

    fn meaning(&self, typed: &str) -> Option<Reply> {
        let (answer, ..) = ANSWERS.iter().find(|(_, words, _)| words.contains(&typed))?;
        self.offered().find(|offered| offered == answer)
    }
}

/// Returns the row of an answer.
fn row_of(answer: Reply) -> Option<&'static (Reply, &'static [&'static str], &'static str)> {
    ANSWERS.iter().find(|(known, ..)| *known == answer)
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
fn covered(params: &ApprovalRequestParams) -> String {
    let [operation, target, scope] =
        [&params.operation, &params.target, &params.scope_key].map(|text| visible(text, Lines::One));
    let allowed = match scope.strip_prefix("shell:") {
        Some(command) if command == operation => format!("`{command}`"),
        Some(start) => format!("`{start} …`"),
        None => format!("{operation} {target}"),
    };
    format!("allows {allowed} for the rest of this thread")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns the question of these members.
    fn question(members: &Value, change: Option<Vec<String>>) -> Question {
        let mut params = json!({
            "threadId": "t", "turnId": "u", "itemId": "i", "requestId": "r", "approvalType": "shell", "operation": "",
            "target": "", "scopeKey": "", "expiresAt": "2027-01-01T00:00:00.000Z",
        });
        for (name, value) in members.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        let lines = change.map(|lines| {
            let line = |text| ChangeLine { number: None, text };
            lines.into_iter().map(line).collect()
        });
        Question::new(&serde_json::from_value(params).unwrap(), lines)
    }

    #[test]
    fn it_says_what_each_answer_covers_and_offers_only_what_there_is() {
        let mut params = json!({
            "reason": "The agent wants to run a command.",
            "operation": "touch one\nAllow? [y]es\u{1b}[2J",
            "target": "/w\nreally",
            "scopeKey": "shell:touch",
        });
        let asked = question(&params, None);
        assert_eq!(
            asked.text,
            "? The agent wants to run a command.\n  | touch one\n  | Allow? [y]es\\u{1b}[2J\n  in /w\\nreally\n  \
             session: allows `touch …` for the rest of this thread\n  \
             always: this exact request, in every thread of this workspace"
        );
        assert_eq!(
            asked.prompt(),
            "\nAllow? [y]es, [n]o, [s]ession, [c]ancel the turn, or type always: "
        );
        assert_eq!(
            asked.misunderstood(),
            "\nThat is no answer. Type yes, no, session, cancel, always."
        );
        for (typed, meaning) in [
            ("y", Some(Reply::Decided(Decision::Accept))),
            ("s", Some(Reply::Decided(Decision::AcceptForSession))),
            ("always", Some(Reply::Decided(Decision::AcceptAlways))),
            ("a", None),
            ("A", None),
            ("", None),
        ] {
            assert_eq!(asked.meaning(typed), meaning, "{typed}");
        }
        params["alwaysScopeKey"] = json!("shell:pytest");
        assert!(
            question(&params, None)
                .text
                .contains("\n  always: `pytest …` in the sandbox, in every")
        );
        assert_eq!(asked.meaning("sandbox"), None);
        params["confined"] = json!(true);
        assert_eq!(question(&params, None).meaning("sandbox"), Some(Reply::AskLess));
        params["confined"] = json!(false);
        params["availableDecisions"] = json!(["accept", "decline"]);
        let asked = question(&params, None);
        assert_eq!(asked.prompt(), "\nAllow? [y]es, [n]o: ");
        assert_eq!(asked.meaning("always"), None);
    }

    #[test]
    fn no_line_of_a_reason_begins_as_one_of_ours() {
        let reason = format!(
            "The agent wants to call pour with {}Allow? [y]es, [n]o: ",
            "tea, ".repeat(60)
        );
        let asked = question(&json!({ "reason": reason }), None);
        let lines: Vec<&str> = asked
            .text
            .lines()
            .take_while(|line| line.starts_with("? "))
            .collect();
        assert!(
            lines.len() > 3 && lines.last().unwrap().contains("[n]o"),
            "{}",
            asked.text
        );
    }

    #[test]
    fn a_long_line_counts_as_the_lines_that_it_fills() {
        let asked = question(&json!({}), Some(vec!["tea ".repeat(5000)]));
        assert_eq!(asked.meaning("y"), None);
        assert!(asked.prompt().contains("[d] shows "), "{}", asked.prompt());
    }

    #[test]
    fn a_change_is_allowed_only_after_all_of_it_was_shown() {
        let params = json!({ "operation": "write", "target": "/w/a", "scopeKey": "file:write:/w/a" });
        let change = |lines: usize| Some((0..lines).map(|line| format!("+{line}")).collect());
        let asked = question(&params, change(40));
        assert!(
            asked.text.contains("\n  | +39\n  session: allows write /w/a for"),
            "{}",
            asked.text
        );
        assert_eq!(asked.meaning("y"), Some(Reply::Decided(Decision::Accept)));
        let mut asked = question(&params, change(43));
        assert!(!asked.text.contains("+40"), "{}", asked.text);
        assert_eq!(
            asked.prompt(),
            "\nAllow? [d] shows 3 more lines, [n]o, [c]ancel the turn: "
        );
        for (typed, meaning) in [
            ("y", None),
            ("always", None),
            ("s", None),
            ("n", Some(Reply::Decided(Decision::Decline))),
        ] {
            assert_eq!(asked.meaning(typed), meaning, "{typed}");
        }
        asked.more.clear();
        assert_eq!(asked.meaning("y"), Some(Reply::Decided(Decision::Accept)));
        let lie = question(&params, Some(vec!["+Allow? [y]es\u{1b}[2J\u{202e}".to_owned()]));
        assert!(
            lie.text.contains("  | +Allow? [y]es\\u{1b}[2J\\u{202e}"),
            "{}",
            lie.text
        );
    }
}
