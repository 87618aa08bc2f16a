//! A question of the server: the lines that ask it, and the keys that answer it.

use std::collections::BTreeMap;

use bobbin_client::{Answer, Question};
use bobbin_model::{Decision, marked};
use bobbin_native_wire::item::approval::ApprovalRequestParams;
use bobbin_native_wire::item::user_input_types::RequestUserInputParams;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::cells::Call;
use crate::change::{self, ChangeLine};
use crate::text::{Line, Style, in_margin, safe_line};
use crate::transcript::{ACCENT, WARN, hanging, said};

/// A question that is shown.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) question: Question,
    /// Title of its Thread, if that is another one than the open one.
    pub(crate) title: Option<String>,
    /// The subagent that asks.
    pub(crate) agent: Option<String>,
    /// The change that the call would make.
    change: Option<Vec<ChangeLine>>,
    /// First line of a long question that is shown.
    scroll: usize,
    /// Answers so far to a model's questions.
    answers: BTreeMap<String, Vec<String>>,
    /// The place of the question that is answered now, and of its chosen option.
    at: usize,
    chosen: usize,
    /// The text of an answer that is typed.
    typed: Option<String>,
}

/// The effect of a key on a question.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// It is no key of the question.
    Other,
    Stay,
    Answered(Answer),
}

/// Each decision: its key and its words.
const DECISIONS: &[(Decision, char, &str)] = &[
    (Decision::Accept, 'y', "Yes"),
    (Decision::AcceptForSession, 's', "Yes, in this thread"),
    (Decision::AcceptAlways, 'A', "Yes, always (type always)"),
    (Decision::Decline, 'n', "No, go on without it"),
    (Decision::Cancel, 'c', "No, stop the turn"),
];

impl Asked {
    pub(crate) fn new(question: Question) -> Self {
        Self {
            question,
            title: None,
            agent: None,
            change: None,
            scroll: 0,
            answers: BTreeMap::new(),
            at: 0,
            chosen: 0,
            typed: None,
        }
    }

    /// Takes the call that waits: the question shows its change.
    pub(crate) fn show_change(&mut self, call: &Call) {
        if let Question::Approval(params) = &self.question {
            self.change = change::change_of_call(&call.tool, &call.arguments, &params.target);
        }
    }

    /// Returns the lines of the question in so many columns and rows.
    pub(crate) fn lines(&self, width: usize, rows: usize) -> Vec<Line> {
        let agent = self.agent.as_deref().map(safe_line);
        let head = match (self.title.as_deref().map(safe_line), agent) {
            (None, None) => return self.asking(width, rows),
            (None, Some(agent)) => format!("The subagent {agent} asks"),
            (Some(title), None) => format!("Esc leaves it for later · In “{title}”"),
            (Some(title), Some(agent)) => {
                format!("Esc leaves it for later · The subagent {agent} in “{title}”")
            }
        };
        let mut lines = vec![Line::of(head, WARN).cut(width)];
        lines.extend(self.asking(width, rows.saturating_sub(1)));
        lines
    }

    fn asking(&self, width: usize, rows: usize) -> Vec<Line> {
        match &self.question {
            Question::Approval(params) => self.approval(params, width, rows),
            Question::UserInput(params) => self.input(params, width),
        }
    }

    /// Returns one line about it.
    pub(crate) fn summary(&self) -> String {
        let text = match &self.question {
            Question::Approval(params) => &params.operation,
            Question::UserInput(params) => match params.questions.first() {
                Some(question) => &question.question,
                None => return String::new(),
            },
        };
        safe_line(text)
    }

    fn approval(&self, params: &ApprovalRequestParams, width: usize, rows: usize) -> Vec<Line> {
        let reason = params
            .reason
            .as_deref()
            .unwrap_or("The agent needs your approval.");
        let mut head = hanging("? ", WARN, &safe_line(reason), Style::BOLD, width);
        let bar = Line::of("  │ ", WARN);
        let mut body: Vec<Line> = marked(&params.operation)
            .lines()
            .flat_map(|line| in_margin(&[Line::of(line, Style::PLAIN)], width, &bar, &bar))
            .collect();
        if !params.target.is_empty() {
            let target = Line::of("  in ", Style::DIM).and(safe_line(&params.target), Style::DIM);
            body.push(target.cut(width));
        }
        if let Some(change) = &self.change {
            body.extend(change::lines(change, width, usize::MAX));
        }
        let mut keys = Vec::new();
        if let Some(typed) = &self.typed {
            keys.extend(said(&format!("  Type always to confirm: {typed}"), WARN, width));
        } else {
            for (decision, key, words) in offered(params) {
                let words = match decision {
                    Decision::AcceptForSession => format!("{words}: {}", covered(params)),
                    Decision::AcceptAlways => format!("{words}: {}", always(params)),
                    _ => words.to_owned(),
                };
                let key = format!("  {key} ");
                keys.extend(hanging(&key, ACCENT, &safe_line(&words), Style::PLAIN, width));
            }
        }
        let room = rows.saturating_sub(head.len() + keys.len() + 1).max(3);
        if body.len() > room {
            let last = body.len() - room;
            let scroll = self.scroll.min(last);
            let left = body.len() - scroll - room;
            body = body.into_iter().skip(scroll).take(room).collect();
            let note = format!("    {scroll} lines before, {left} lines after: ↑ ↓");
            body.push(Line::of(note, Style::DIM).cut(width));
        }
        head.extend(body);
        head.extend(keys);
        head
    }

    fn input(&self, params: &RequestUserInputParams, width: usize) -> Vec<Line> {
        let Some(question) = params.questions.get(self.at) else {
            return Vec::new();
        };
        let mut lines = hanging("? ", WARN, &safe_line(&question.question), Style::BOLD, width);
        if let Some(typed) = &self.typed {
            let line = Line::of("  › ", ACCENT).and(safe_line(typed), Style::PLAIN);
            lines.push(line.and("▏", Style::DIM));
            lines.push(Line::of("  Enter answers, Esc goes back to the choices", Style::DIM).cut(width));
            return lines;
        }
        for (at, option) in question.options.iter().enumerate() {
            let is_chosen = at == self.chosen;
            let (sign, style) = if is_chosen {
                ("  › ", Style::BOLD)
            } else {
                ("    ", Style::PLAIN)
            };
            let mut line = Line::of(sign, ACCENT).and(format!("{}. ", at + 1), Style::DIM);
            line.push(safe_line(&option.label), style);
            if !option.description.is_empty() {
                line.push(format!("  {}", safe_line(&option.description)), Style::DIM);
            }
            lines.push(line.cut(width));
        }
        let other = if question.is_other {
            ", o types another answer"
        } else {
            ""
        };
        let keys = format!("  Enter or a number answers{other}, x leaves it to the agent");
        lines.push(Line::of(keys, Style::DIM).cut(width));
        lines
    }

    /// Returns its lines in the plain mode.
    pub(crate) fn plain_lines(&self, width: usize) -> Vec<Line> {
        let mut lines = self.lines(width, usize::MAX);
        if matches!(self.question, Question::UserInput(_)) {
            // The keys of the screen.
            lines.pop();
            lines.push(Line::of(
                "  Type a number or your answer, or x to leave it to the agent.",
                Style::PLAIN,
            ));
        }
        lines
    }

    /// Returns a text that changes when another answer is wanted.
    pub(crate) fn place(&self) -> String {
        format!("{} {}", self.question.request_id(), self.at)
    }

    /// Takes an answer that was typed as a line.
    pub(crate) fn line(&mut self, line: &str) -> Step {
        let line = line.trim();
        match self.question.clone() {
            Question::Approval(params) => {
                let words = |decision: Decision, key: char| match decision {
                    Decision::AcceptAlways => line == "always",
                    Decision::Accept => line == "y" || line == "yes",
                    Decision::Decline => line == "n" || line == "no",
                    _ => line.chars().eq([key]),
                };
                let decision = offered(&params).find(|(decision, key, _)| words(*decision, *key));
                decision.map_or(Step::Other, |(decision, ..)| {
                    Step::Answered(Answer::Decision(decision))
                })
            }
            Question::UserInput(params) => {
                let Some(question) = params.questions.get(self.at) else {
                    return Step::Answered(Answer::Texts(std::mem::take(&mut self.answers)));
                };
                let place = line
                    .parse::<usize>()
                    .ok()
                    .and_then(|number| number.checked_sub(1));
                let option = place.and_then(|place| question.options.get(place));
                let option = option.or_else(|| question.options.iter().find(|option| option.label == line));
                match option {
                    Some(option) => {
                        let label = option.label.clone();
                        self.answer(&params, &question.id, Some(label))
                    }
                    None if line == "x" => self.answer(&params, &question.id, None),
                    None if line.is_empty() || !question.is_other && !question.options.is_empty() => {
                        Step::Other
                    }
                    None => self.answer(&params, &question.id, Some(line.to_owned())),
                }
            }
        }
    }

    /// Takes a pasted text. Returns whether it belongs to an answer that is typed.
    pub(crate) fn paste(&mut self, text: &str) -> bool {
        match (&self.question, &mut self.typed) {
            (Question::UserInput(_), Some(typed)) => {
                typed.push_str(text);
                true
            }
            _ => false,
        }
    }

    /// Takes a key.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Step {
        if key
            .modifiers
            .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
        {
            return Step::Other;
        }
        match self.question.clone() {
            Question::Approval(params) => self.key_of_approval(&params, key.code),
            Question::UserInput(params) => self.key_of_input(&params, key.code),
        }
    }

    fn key_of_approval(&mut self, params: &ApprovalRequestParams, key: KeyCode) -> Step {
        if let Some(typed) = &mut self.typed {
            match key {
                KeyCode::Char(c) => typed.push(c),
                KeyCode::Backspace => {
                    typed.pop();
                }
                KeyCode::Enter if typed == "always" => {
                    return Step::Answered(Answer::Decision(Decision::AcceptAlways));
                }
                KeyCode::Enter | KeyCode::Esc => self.typed = None,
                _ => {}
            }
            return Step::Stay;
        }
        let decision = match key {
            KeyCode::Up => {
                self.scroll = self.scroll.saturating_sub(1);
                return Step::Stay;
            }
            KeyCode::Down => {
                self.scroll += 1;
                return Step::Stay;
            }
            KeyCode::PageUp => {
                self.scroll = self.scroll.saturating_sub(10);
                return Step::Stay;
            }
            KeyCode::PageDown => {
                self.scroll += 10;
                return Step::Stay;
            }
            KeyCode::Char(c) => offered(params)
                .find(|(_, key, _)| *key == c)
                .map(|(decision, ..)| decision),
            _ => return Step::Other,
        };
        match decision {
            Some(Decision::AcceptAlways) => {
                self.typed = Some(String::new());
                Step::Stay
            }
            Some(decision) => Step::Answered(Answer::Decision(decision)),
            // The first letter of a text for the prompt.
            None => Step::Other,
        }
    }

    fn key_of_input(&mut self, params: &RequestUserInputParams, key: KeyCode) -> Step {
        let Some(question) = params.questions.get(self.at) else {
            return Step::Answered(Answer::Texts(std::mem::take(&mut self.answers)));
        };
        if let Some(typed) = &mut self.typed {
            match key {
                KeyCode::Char(c) => typed.push(c),
                KeyCode::Backspace => {
                    typed.pop();
                }
                KeyCode::Esc => self.typed = None,
                KeyCode::Enter if !typed.trim().is_empty() => {
                    let answer = typed.trim().to_owned();
                    return self.answer(params, &question.id, Some(answer));
                }
                _ => {}
            }
            return Step::Stay;
        }
        match key {
            KeyCode::Up => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Down => self.chosen = (self.chosen + 1).min(question.options.len().saturating_sub(1)),
            KeyCode::Enter if question.options.is_empty() => self.typed = Some(String::new()),
            KeyCode::Enter => {
                let label = question
                    .options
                    .get(self.chosen)
                    .map(|option| option.label.clone());
                return self.answer(params, &question.id, label);
            }
            KeyCode::Char(c) if c.is_ascii_digit() => {
                let place = (c as usize).wrapping_sub('1' as usize);
                if let Some(option) = question.options.get(place) {
                    return self.answer(params, &question.id, Some(option.label.clone()));
                }
            }
            KeyCode::Char('o') if question.is_other => self.typed = Some(String::new()),
            KeyCode::Char('x') => return self.answer(params, &question.id, None),
            KeyCode::Esc => return Step::Other,
            _ => {}
        }
        Step::Stay
    }

    fn answer(&mut self, params: &RequestUserInputParams, id: &str, answer: Option<String>) -> Step {
        if let Some(answer) = answer {
            self.answers.insert(id.to_owned(), vec![answer]);
        }
        self.at += 1;
        self.chosen = 0;
        self.typed = None;
        if self.at < params.questions.len() {
            return Step::Stay;
        }
        Step::Answered(Answer::Texts(std::mem::take(&mut self.answers)))
    }
}

/// Returns the words for a decision.
pub(crate) fn words_of(decision: Decision) -> &'static str {
    match decision {
        Decision::Accept => "yes",
        Decision::AcceptForSession => "yes, in this thread",
        Decision::AcceptAlways => "yes, always",
        Decision::Decline => "no",
        Decision::Cancel => "no, the turn stops",
    }
}

/// Returns the decisions that make sense, with their keys and words.
fn offered(params: &ApprovalRequestParams) -> impl Iterator<Item = (Decision, char, &'static str)> + '_ {
    let offered = params.available_decisions.as_ref();
    DECISIONS
        .iter()
        .copied()
        .filter(move |(decision, ..)| offered.is_none_or(|offered| offered.contains(decision)))
}

/// Returns what "in this thread" covers.
fn covered(params: &ApprovalRequestParams) -> String {
    let key = &params.scope_key;
    match key.strip_prefix("shell:") {
        Some(command) => format!("`{command}`"),
        None => key.clone(),
    }
}

/// Returns what "always" covers.
fn always(params: &ApprovalRequestParams) -> String {
    let scope = match params.always_scope_key.as_deref() {
        None | Some("") => "this exact request".to_owned(),
        Some(scope) => match scope.strip_prefix("shell:") {
            Some(start) => format!("`{start} …` in the sandbox"),
            None => format!("{scope} in the sandbox"),
        },
    };
    format!("{scope}, in every thread of this workspace")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn press(asked: &mut Asked, code: KeyCode) -> Step {
        asked.key(KeyEvent::from(code))
    }

    fn approval(decisions: &[&str]) -> Asked {
        let params = json!({
            "threadId": "t", "turnId": "u", "itemId": "i", "requestId": "r", "approvalType": "shell",
            "operation": "rm x\u{1b}[2J", "target": "/w", "scopeKey": "shell:rm x",
            "expiresAt": "2027-01-01T00:00:00.000Z", "reason": "No rule allows it.", "availableDecisions": decisions,
        });
        Asked::new(Question::Approval(serde_json::from_value(params).unwrap()))
    }

    #[test]
    fn an_approval_shows_what_is_asked_and_takes_only_what_is_offered() {
        let mut asked = approval(&["accept", "decline", "cancel"]);
        let lines: Vec<String> = asked.lines(60, 20).iter().map(Line::text).collect();
        insta::assert_snapshot!(lines.join("\n"));
        assert_eq!(press(&mut asked, KeyCode::Char('s')), Step::Other);
        let accepted = Step::Answered(Answer::Decision(Decision::Accept));
        assert_eq!(press(&mut asked, KeyCode::Char('y')), accepted);
    }

    #[test]
    fn a_question_names_the_subagent_that_asks() {
        let mut asked = approval(&["accept"]);
        asked.agent = Some("Fido\u{7}".to_owned());
        let head = |asked: &Asked| asked.lines(80, 20)[0].text();
        assert_eq!(head(&asked), r"The subagent Fido\u{7} asks");
        asked.title = Some("Tea".to_owned());
        assert_eq!(
            head(&asked),
            r"Esc leaves it for later · The subagent Fido\u{7} in “Tea”"
        );
    }

    #[test]
    fn always_takes_a_whole_word() {
        let mut asked = approval(&["accept", "acceptAlways"]);
        for c in ['A', 'a', 'l'] {
            assert_eq!(press(&mut asked, KeyCode::Char(c)), Step::Stay);
        }
        assert_eq!(
            press(&mut asked, KeyCode::Enter),
            Step::Stay,
            "half a word is none"
        );
        press(&mut asked, KeyCode::Char('A'));
        for c in "always".chars() {
            press(&mut asked, KeyCode::Char(c));
        }
        let always = Step::Answered(Answer::Decision(Decision::AcceptAlways));
        assert_eq!(press(&mut asked, KeyCode::Enter), always);
    }

    #[test]
    fn a_model_is_answered_by_choice_or_by_words() {
        let params = json!({
            "threadId": "t", "turnId": "u", "itemId": "i", "callId": "c", "requestId": "r", "isBlocking": true,
            "questions": [
                { "id": "q1", "header": "h", "question": "Which?", "isOther": true, "isSecret": false,
                  "options": [{ "label": "red", "description": "" }, { "label": "blue", "description": "" }] },
                { "id": "q2", "header": "h", "question": "Name?", "isOther": true, "isSecret": false, "options": [] },
            ],
        });
        let question = Question::UserInput(serde_json::from_value(params).unwrap());
        let mut asked = Asked::new(question);
        assert_eq!(press(&mut asked, KeyCode::Char('2')), Step::Stay);
        assert!(!asked.paste("of the prompt"));
        assert_eq!(press(&mut asked, KeyCode::Enter), Step::Stay);
        assert!(asked.paste("Ad"));
        press(&mut asked, KeyCode::Char('a'));
        let texts = [("q1", "blue"), ("q2", "Ada")];
        let texts = texts
            .map(|(id, text)| (id.to_owned(), vec![text.to_owned()]))
            .into();
        assert_eq!(
            press(&mut asked, KeyCode::Enter),
            Step::Answered(Answer::Texts(texts))
        );
    }
}
