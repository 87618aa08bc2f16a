//! The commands of the prompt, and what is chosen from lists.

use std::fmt::Write as _;

use bobbin_model::{ApprovalPolicy, Effort, ModelListErrorCode};
use bobbin_native_wire::handshake::types::{EmptyParams, EmptyResult};
use bobbin_native_wire::history::types::{
    ThreadForkParams, TurnDiffReadParams, TurnDiffReadResult, TurnRevertParams, TurnRevertResult,
};
use bobbin_native_wire::item::payload::ItemPayload;
use bobbin_native_wire::mcp::types::McpStatusListResult;
use bobbin_native_wire::models::types::{ModelListParams, ModelListResult};
use bobbin_native_wire::policy::types::ApprovalRulesListResult;
use bobbin_native_wire::thread::config::ThreadConfiguration;
use bobbin_native_wire::thread::params::{
    ThreadConfigUpdateParams, ThreadRenameParams, ThreadResult, ThreadRollbackParams, ThreadRollbackResult,
    ThreadTargetParams,
};
use serde_json::Value;

use crate::cells::{self, Body, Call};
use crate::change;
use crate::commands::{self, Act, COMMANDS, KEYS};
use crate::picker::{Entry, Picker};
use crate::text::{Line, Style, safe, safe_line};
use crate::theme::Theme;
use crate::transcript::{GOOD, grouped, hanging, money};

use super::requests::offered;
use super::{App, Leaves, Purpose};

/// Lines of a diff that are shown.
const MAX_DIFF: usize = 2_000;

impl App {
    pub(super) fn act(&mut self, act: Act, argument: &str) {
        match act {
            Act::New => {
                self.forget_thread();
                self.note("── a new thread: describe a task ──");
            }
            Act::Threads => self.list_threads(),
            Act::Model if argument.is_empty() => self.list_models(),
            Act::Model => self.find_model(argument.to_owned()),
            Act::Theme if argument.is_empty() => self.list_themes(),
            Act::Theme => self.choose(Purpose::Themes, argument.to_owned()),
            Act::Effort if argument.is_empty() => self.list_efforts(),
            Act::Effort => self.choose(Purpose::Efforts, argument.to_owned()),
            Act::Policy if argument.is_empty() => self.list_policies(),
            Act::Policy => self.choose(Purpose::Policies, argument.to_owned()),
            Act::Mode => self.change_mode(argument),
            Act::Diff => self.show_diff(),
            Act::Undo => self.undo(false),
            Act::Redo => self.undo(true),
            Act::Edit => self.list_messages(),
            Act::Fork => self.fork(),
            Act::Compact => self.on_thread("thread/compact/start", |app, compacted| {
                if let Some(message) = compacted["message"].as_str() {
                    app.note(message);
                }
            }),
            Act::Archive => self.on_thread("thread/archive", |app, _| {
                app.forget_thread();
                app.note("── archived; a new thread: describe a task ──");
            }),
            Act::Rename => self.rename(argument),
            Act::Waiting => self.list_waiting(),
            Act::Terminals => self.choose_terminal(Purpose::Terminals),
            Act::Stop => self.choose_terminal(Purpose::Stops),
            Act::Usage => self.show_usage(),
            Act::Mcp => self.show_servers(),
            Act::Rules => self.show_rules(),
            Act::Help => self.help(),
            Act::Quit => self.leaves = Some(Leaves::ForGood),
        }
    }

    /// Makes a request about the Thread that takes nothing but its id.
    fn on_thread(&mut self, method: &'static str, then: impl FnOnce(&mut Self, Value) + Send + 'static) {
        let Some(thread_id) = self.thread.clone() else {
            return self.note("there is no thread yet");
        };
        let params = ThreadTargetParams {
            thread_id,
            client_request_id: None,
        };
        let client = self.client.clone();
        self.ask(async move { client.once::<Value>(method, &params).await }, then);
    }

    pub(super) fn config(&self) -> ThreadConfiguration {
        match &self.state.thread {
            Some(thread) => thread.configuration.clone().unwrap_or_default(),
            None => self.draft.clone(),
        }
    }

    /// Changes the configuration of the Thread, or of the next one.
    pub(super) fn configure(&mut self, change: impl FnOnce(&mut ThreadConfiguration)) {
        let mut config = self.config();
        change(&mut config);
        self.draft.clone_from(&config);
        let Some(thread_id) = self.thread.clone() else {
            return;
        };
        let params = ThreadConfigUpdateParams {
            thread_id,
            config: config.clone(),
            client_request_id: None,
        };
        let client = self.client.clone();
        self.ask(
            async move { client.once::<EmptyResult>("thread/config/update", &params).await },
            move |app, _| {
                if let Some(thread) = &mut app.state.thread {
                    thread.configuration = Some(config);
                }
            },
        );
    }

    pub(super) fn change_mode(&mut self, wanted: &str) {
        let is_plan = self.config().mode.as_deref() == Some("plan");
        let mode = match wanted {
            "" if is_plan => "agent",
            "" => "plan",
            "agent" | "plan" => wanted,
            _ => return self.complain("the modes are agent and plan"),
        };
        let mode = mode.to_owned();
        self.configure(|config| config.mode = Some(mode));
    }

    pub(super) fn list_models(&mut self) {
        let client = self.client.clone();
        self.ask(
            async move {
                client
                    .read::<ModelListResult>("model/list", &ModelListParams::default())
                    .await
            },
            |app, listed| app.show_models(&listed),
        );
    }

    /// Says that the models cannot be listed, if that is so.
    fn has_models(&mut self, listed: &ModelListResult) -> bool {
        if !listed.success {
            let why = listed.error_message.as_deref().unwrap_or_default();
            let is_missing = listed.error_code == Some(ModelListErrorCode::MissingApiKey);
            let more = if is_missing {
                " `bobbin setup` sets one up."
            } else {
                ""
            };
            self.complain(&format!("the models cannot be listed: {why}{more}"));
        }
        listed.success
    }

    /// Chooses the model with a name. A part of a name searches in the list.
    fn find_model(&mut self, name: String) {
        let client = self.client.clone();
        self.ask(
            async move {
                client
                    .read::<ModelListResult>("model/list", &ModelListParams::default())
                    .await
            },
            move |app, listed| app.choose_model(&name, &listed),
        );
    }

    fn choose_model(&mut self, name: &str, listed: &ModelListResult) {
        if !self.has_models(listed) {
            return;
        }
        let ids = || listed.models.iter().map(|model| model.id.as_str());
        let lower = name.to_lowercase();
        let of_provider = |id: &&str| id.split_once('/').is_some_and(|(_, model)| model == name);
        let mut unique = ids().filter(of_provider);
        let found = ids().find(|id| *id == name);
        let found = found.or(unique.next().filter(|_| unique.next().is_none()));
        if let Some(id) = found.map(str::to_owned) {
            return self.choose(Purpose::Models, id);
        }
        if ids().any(|id| id.to_lowercase().contains(&lower)) {
            self.show_models(listed);
            self.picker = self
                .picker
                .take()
                .map(|(purpose, picker)| (purpose, picker.filtered(name)));
            return;
        }
        let nearest = commands::nearest(name, ids());
        let offer = offered(nearest.into_iter().map(str::to_owned));
        self.complain(&format!("There is no model {name}{offer} /model lists all."));
    }

    fn show_models(&mut self, listed: &ModelListResult) {
        if !self.has_models(listed) {
            return;
        }
        let entry = |model: &bobbin_native_wire::models::types::ModelInfo| {
            let mut facts = Vec::new();
            if model.is_default {
                facts.push("default".to_owned());
            }
            facts.extend(
                model
                    .context_window
                    .map(|window| format!("{}k window", window / 1000)),
            );
            facts.extend(model.price.as_ref().map(|price| {
                format!(
                    "{} in, {} out per million",
                    money(price.input),
                    money(price.output)
                )
            }));
            Entry {
                value: model.id.clone(),
                label: safe_line(&model.id),
                note: facts.join(" · "),
            }
        };
        let entries = listed.models.iter().map(entry).collect();
        let current = self.model().to_owned();
        self.picker = Some((Purpose::Models, Picker::new("Model", entries, Some(&current))));
    }

    fn list_efforts(&mut self) {
        let entries = Effort::ALL.map(|effort| plain_entry(effort.name(), ""));
        let current = self.config().reasoning_effort.map(Effort::name);
        self.picker = Some((Purpose::Efforts, Picker::new("Effort", entries.into(), current)));
    }

    fn list_policies(&mut self) {
        let entries = POLICIES
            .iter()
            .map(|(policy, words)| plain_entry(policy_name(*policy), words));
        let current = self.config().approval_policy.map(policy_name);
        let picker = Picker::new("When you are asked", entries.collect(), current);
        self.picker = Some((Purpose::Policies, picker));
    }

    fn list_themes(&mut self) {
        let entries = Theme::ALL.map(|(_, name, words)| plain_entry(name, words));
        let picker = Picker::new("Colours", entries.into(), Some(self.theme.name()));
        self.picker = Some((Purpose::Themes, picker));
    }

    fn choose_theme(&mut self, name: &str) {
        let Some(theme) = Theme::of_name(name) else {
            let names = Theme::ALL.map(|(_, name, _)| name).join(", ");
            return self.complain(&format!("the themes are {names}"));
        };
        let stored = self
            .settings
            .theme
            .as_deref()
            .map_or(Ok(()), |file| theme.store(file));
        if let Err(error) = stored {
            self.complain(&format!("the theme is not remembered: {error}"));
        }
        if !self.settings.has_colors {
            return self.note("NO_COLOR is set, so there are no colours here");
        }
        self.theme = theme;
    }

    pub(super) fn list_messages(&mut self) {
        let mut entries = Vec::new();
        for turn in &self.state.turns {
            let text = turn.items.iter().find_map(|item| match &item.item.payload {
                ItemPayload::UserMessage(message) => Some(message.text.clone()),
                _ => None,
            });
            if let Some(text) = text {
                entries.push(Entry {
                    value: turn.turn.id.clone(),
                    label: safe_line(text.lines().next().unwrap_or_default()),
                    note: String::new(),
                });
            }
        }
        if entries.is_empty() {
            return;
        }
        let last = entries.last().map(|entry| entry.value.clone());
        let picker = Picker::new("Go back to before", entries, last.as_deref());
        self.picker = Some((Purpose::Messages, picker));
    }

    /// Does what was chosen from a list.
    pub(super) fn choose(&mut self, purpose: Purpose, value: String) {
        match purpose {
            Purpose::Threads => {
                self.open(value);
                self.note("──");
            }
            Purpose::Models => {
                self.configure(|config| config.model = Some(value));
            }
            Purpose::Efforts => match Effort::of_name(&value) {
                Some(effort) => self.configure(|config| config.reasoning_effort = Some(effort)),
                None => self.complain(&format!(
                    "the levels are {}",
                    Effort::ALL.map(Effort::name).join(", ")
                )),
            },
            Purpose::Policies => {
                let policy = POLICIES.iter().find(|(policy, _)| policy_name(*policy) == value);
                if let Some((policy, _)) = policy {
                    self.configure(|config| config.approval_policy = Some(*policy));
                } else {
                    let names: Vec<&str> = POLICIES.iter().map(|(policy, _)| policy_name(*policy)).collect();
                    self.complain(&format!("the policies are {}", names.join(", ")));
                }
            }
            Purpose::Themes => self.choose_theme(&value),
            Purpose::Messages => self.go_back(&value),
            Purpose::Waiting => self.choose_waiting(&value),
            Purpose::Terminals => self.show_terminal(value),
            Purpose::Stops => self.stop_terminal(value),
        }
    }

    /// Takes a Turn and those after it out of the conversation, and its prompt back into the prompt.
    fn go_back(&mut self, turn_id: &str) {
        let Some(place) = self.state.turns.iter().position(|turn| turn.turn.id == turn_id) else {
            return;
        };
        let Some(thread_id) = self.thread.clone() else {
            return;
        };
        let text = self.state.turns[place]
            .items
            .iter()
            .find_map(|item| match &item.item.payload {
                ItemPayload::UserMessage(message) => Some(message.text.clone()),
                _ => None,
            });
        let count = self.state.turns.len() - place;
        let params = ThreadRollbackParams {
            thread_id,
            num_turns: i64::try_from(count).unwrap_or(i64::MAX),
            client_request_id: None,
        };
        let client = self.client.clone();
        self.ask(
            async move {
                client
                    .once::<ThreadRollbackResult>("thread/rollback", &params)
                    .await
            },
            move |app, _| {
                app.compose.set(text.unwrap_or_default());
                app.note("files are as they are; /undo puts back what a turn changed");
            },
        );
    }

    fn fork(&mut self) {
        let Some(thread_id) = self.thread.clone() else {
            return self.note("there is no thread yet");
        };
        let params = ThreadForkParams {
            thread_id,
            turn_id: None,
            fork_point: None,
            display_name: None,
            config: None,
            identity: Some(self.identity()),
            dynamic_tools: None,
            ephemeral: None,
            client_request_id: None,
        };
        let client = self.client.clone();
        self.ask(
            async move { client.once::<ThreadResult>("thread/fork", &params).await },
            |app, forked| {
                app.open(forked.thread.id);
                app.note("── a copy of the thread ──");
            },
        );
    }

    fn rename(&mut self, title: &str) {
        let Some(thread_id) = self.thread.clone() else {
            return self.note("there is no thread yet");
        };
        if title.is_empty() {
            return self.complain("the title is missing: /rename TITLE");
        }
        let params = ThreadRenameParams {
            thread_id,
            display_name: title.to_owned(),
            client_request_id: None,
        };
        let client = self.client.clone();
        self.ask(
            async move { client.once::<EmptyResult>("thread/rename", &params).await },
            |_, _| {},
        );
    }

    /// Shows the whole output or result of the last call.
    pub(super) fn show_output(&mut self) {
        let cells = self
            .state
            .turns
            .iter()
            .rev()
            .flat_map(|turn| cells::of_turn(turn).into_iter().rev());
        let call = cells.into_iter().find_map(|cell| match cell.body {
            Body::Call(call) => Some(*call),
            Body::Looks(mut calls) => calls.pop(),
            _ => None,
        });
        let text = call.as_ref().and_then(Call::text);
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
            return self.note("the last call has no output");
        };
        let all: Vec<&str> = text.lines().collect();
        let left_out = all.len().saturating_sub(MAX_DIFF);
        for line in &all[left_out..] {
            self.notes
                .extend(hanging("  │ ", Style::DIM, &safe(line), Style::PLAIN, self.width));
        }
        if left_out > 0 {
            self.note(&format!("{left_out} lines before these are not shown"));
        }
    }

    fn show_diff(&mut self) {
        let mut turns = self.state.turns.iter().rev();
        let last = turns.find(|turn| !turn.has_ended() || turn.turn.files_changed.is_some());
        let last = last.map(|turn| turn.turn.id.clone());
        let Some((thread_id, turn_id)) = self.thread.clone().zip(last) else {
            return self.note("nothing was changed yet");
        };
        let params = TurnDiffReadParams { thread_id, turn_id };
        let client = self.client.clone();
        self.ask(
            async move { client.read::<TurnDiffReadResult>("turn/diff/read", &params).await },
            |app, read| {
                if read.files.is_empty() {
                    return app.note("the turn changed no file");
                }
                let lines = change::of_diff(&read.diff);
                app.notes.extend(change::lines(&lines, app.width, MAX_DIFF));
            },
        );
    }

    /// Puts back what the last Turn changed that was not undone, or makes the changes again that were undone last.
    fn undo(&mut self, redo: bool) {
        let turn = if redo {
            self.state.turn_to_redo()
        } else {
            self.state.turn_to_undo()
        };
        let (Some(turn), Some(thread_id)) = (turn, self.thread.clone()) else {
            return self.note(if redo {
                "no changes were undone since the last change"
            } else {
                "no turn changed a file that is not put back yet"
            });
        };
        let params = TurnRevertParams {
            thread_id,
            turn_id: turn.id.clone(),
            force: None,
            redo: redo.then_some(true),
            client_request_id: None,
        };
        let client = self.client.clone();
        self.ask(
            async move { client.once::<TurnRevertResult>("turn/revert", &params).await },
            move |app, reverted| {
                if reverted.files.is_empty() {
                    app.note("the files are so already");
                }
                let mark = if redo { "  ↷ " } else { "  ↶ " };
                for file in &reverted.files {
                    let line = Line::of(mark, GOOD).and(safe_line(&file.path), Style::PLAIN);
                    app.notes.push(line);
                }
                for note in reverted.notes {
                    app.note(&note);
                }
            },
        );
    }

    fn show_usage(&mut self) {
        let Some(thread) = &self.state.thread else {
            return self.note("there is no thread yet");
        };
        let (mut input, mut output) = (0, 0);
        for turn in &self.state.turns {
            let usage = turn.turn.token_usage.unwrap_or_default();
            input += usage.input_tokens;
            output += usage.output_tokens;
        }
        let mut text = format!(
            "{} in, {} out in the {} turns that are shown",
            grouped(input),
            grouped(output),
            self.state.turns.len()
        );
        if let Some(cost) = thread.cost {
            let _ = write!(text, "; {} in all", money(cost));
        }
        if let Some(usage) = &thread.context_usage {
            let (tokens, window) = (grouped(usage.tokens), grouped(usage.context_window));
            let _ = write!(text, "; window {tokens} of {window}");
        }
        self.note(&text);
    }

    fn show_servers(&mut self) {
        let client = self.client.clone();
        self.ask(
            async move {
                client
                    .read::<McpStatusListResult>("mcp/status/list", &EmptyParams {})
                    .await
            },
            |app, listed| {
                if listed.servers.is_empty() {
                    app.note("no tool server is configured; `bobbin mcp add` adds one");
                }
                for server in listed.servers {
                    let state = serde_json::to_value(server.startup_state).unwrap_or_default();
                    let state = state.as_str().unwrap_or_default().to_owned();
                    let tools = server
                        .tool_count
                        .map_or_else(String::new, |count| format!(", {count} tools"));
                    let why = server
                        .last_error
                        .map_or_else(String::new, |why| format!(": {}", safe_line(&why)));
                    app.note(&format!("{}: {state}{tools}{why}", safe_line(&server.name)));
                }
            },
        );
    }

    fn show_rules(&mut self) {
        let client = self.client.clone();
        self.ask(
            async move {
                client
                    .read::<ApprovalRulesListResult>("approval/rules/list", &EmptyParams {})
                    .await
            },
            |app, listed| {
                if listed.rules.is_empty() {
                    app.note("there are no rules: plain reads run, all else is asked about");
                }
                for rule in &listed.rules {
                    app.note(&format!("{}  ({})", rule.text, rule.source));
                }
                for answer in &listed.answers {
                    app.note(&format!(
                        "always allowed: {} in {}",
                        answer.operation, answer.target
                    ));
                }
                app.note("`bobbin rules` explains them and takes answers back");
            },
        );
    }

    fn help(&mut self) {
        let width = self.width;
        let mut lines = Vec::new();
        for command in COMMANDS {
            let name = format!("/{} {}", command.name, command.argument);
            lines.extend(explained(&name, 22, command.summary, width));
        }
        for (name, description) in self.prompts.iter().flatten() {
            let name = format!("/{}", safe_line(name));
            lines.extend(explained(&name, 22, &safe_line(description), width));
        }
        lines.push(Line::default());
        for (key, what) in KEYS {
            lines.extend(explained(key, 27, what, width));
        }
        self.notes.extend(lines);
    }
}

/// Returns a name of so many columns and its words, in a line or in two.
fn explained(name: &str, columns: usize, words: &str, width: usize) -> Vec<Line> {
    if width < columns + 30 {
        let mut lines = vec![Line::of(format!("  {}", name.trim_end()), Style::BOLD).cut(width)];
        lines.extend(hanging("    ", Style::PLAIN, words, Style::PLAIN, width));
        return lines;
    }
    let name = format!("  {name:<columns$} ");
    hanging(&name, Style::BOLD, words, Style::PLAIN, width)
}

fn plain_entry(value: &str, note: &str) -> Entry {
    Entry {
        value: value.to_owned(),
        label: value.to_owned(),
        note: note.to_owned(),
    }
}

/// The policies that a user chooses from, with their words.
const POLICIES: &[(ApprovalPolicy, &str)] = &[
    (ApprovalPolicy::Default, "as the workspace is configured"),
    (ApprovalPolicy::Ask, "ask about what no rule allows"),
    (
        ApprovalPolicy::Sandboxed,
        "run what the sandbox confines, ask about the rest",
    ),
    (ApprovalPolicy::AskWrites, "ask, also before each edit"),
    (ApprovalPolicy::AutoApprove, "never ask"),
    (ApprovalPolicy::Interrupt, "stop when approval is needed"),
];

fn policy_name(policy: ApprovalPolicy) -> &'static str {
    match policy {
        ApprovalPolicy::Default => "default",
        ApprovalPolicy::Ask => "ask",
        ApprovalPolicy::Sandboxed => "sandboxed",
        ApprovalPolicy::AskWrites => "askWrites",
        ApprovalPolicy::AutoApprove => "autoApprove",
        ApprovalPolicy::Interrupt => "interrupt",
        ApprovalPolicy::Refuse => "refuse",
    }
}

/// Returns a policy as the page names it.
pub(super) fn policy_words(policy: ApprovalPolicy) -> &'static str {
    match policy {
        ApprovalPolicy::Default | ApprovalPolicy::Ask => "asks",
        ApprovalPolicy::Sandboxed => "auto in sandbox",
        ApprovalPolicy::AskWrites => "asks before edits",
        ApprovalPolicy::AutoApprove => "never asks",
        ApprovalPolicy::Interrupt => "stops instead of asking",
        ApprovalPolicy::Refuse => "refuses instead of asking",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::app::Opens;
    use crate::app::tests::app;

    fn said(app: &mut App) -> String {
        let notes = std::mem::take(&mut app.notes);
        notes.iter().map(|line| line.text() + " ").collect()
    }

    #[tokio::test]
    async fn only_a_known_model_is_chosen() {
        let listed = || {
            let model = |id: &str| {
                json!({
                    "id": id, "ownedBy": "", "createdAt": "2027-01-01T00:00:00.000Z", "isDefault": false,
                })
            };
            let ids = ["offline", "one/tea", "one/milk", "two/milk", "two/Black-Tea"];
            let models = json!({ "success": true, "models": ids.map(model) });
            serde_json::from_value::<ModelListResult>(models).unwrap()
        };
        let mut app = app(Opens::New, None);
        app.choose_model("one/tee", &listed());
        let shown = said(&mut app);
        assert!(
            shown.contains("There is no model one/tee; the nearest: one/tea"),
            "{shown}"
        );
        app.choose_model("xyzzy", &listed());
        assert!(said(&mut app).contains("There is no model xyzzy. /model lists all."));
        assert_eq!((app.model(), app.picker.is_none()), ("", true));

        for (name, chosen) in [
            ("tea", "one/tea"),
            ("two/milk", "two/milk"),
            ("offline", "offline"),
        ] {
            app.choose_model(name, &listed());
            assert_eq!((app.model(), app.picker.is_none()), (chosen, true));
        }
        // Two have it, or it is a part of one.
        for name in ["milk", "black"] {
            app.choose_model(name, &listed());
            let (_, picker) = app.picker.take().unwrap();
            assert_eq!((picker.filter(), app.model()), (name, "offline"));
        }
        let failed = json!({ "success": false, "models": [], "errorMessage": "no network" });
        app.choose_model("one/tea", &serde_json::from_value(failed).unwrap());
        assert!(said(&mut app).contains("no network"));
        assert_eq!(app.model(), "offline");
    }

    #[tokio::test]
    async fn a_theme_is_stored_and_no_color_wins() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("theme");
        let mut app = app(Opens::New, None);
        app.settings.theme = Some(file.clone());
        app.act(Act::Theme, "light");
        assert_eq!((Theme::read(&file), app.theme), (Theme::Light, Theme::Colorless));
        assert!(said(&mut app).contains("NO_COLOR"));
        app.settings.has_colors = true;
        app.act(Act::Theme, "light");
        assert_eq!(app.theme, Theme::Light);
        app.act(Act::Theme, "puce");
        assert!(said(&mut app).contains("the themes are dark, light, none"));
        assert_eq!(app.theme, Theme::Light);
    }
}
