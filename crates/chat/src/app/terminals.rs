//! Commands of the Thread that run in the background.

use bobbin_client::Notification;
use bobbin_model::TerminalStatus;
use bobbin_native_wire::terminal::types::{
    BackgroundTerminal, TerminalListParams, TerminalNotification, TerminalReadParams, TerminalResult,
    TerminalStopParams, TerminalsResult,
};

use crate::picker::{Entry, Picker};
use crate::text::{Line, Style, safe, safe_line};
use crate::transcript::{ACCENT, hanging};

use super::{App, Purpose};

/// Characters of an output that are shown.
const MAX_OUTPUT: u64 = 20_000;

impl App {
    /// Reads the Thread's commands in the background.
    pub(super) fn list_terminals(&mut self) {
        let Some(thread) = self.thread.clone() else {
            return;
        };
        let params = TerminalListParams {
            thread_id: Some(thread.clone()),
        };
        let client = self.client.clone();
        self.ask(
            async move { client.read::<TerminalsResult>("terminal/list", &params).await },
            move |app, listed| {
                if app.thread.as_ref() == Some(&thread) {
                    let named = |terminal: BackgroundTerminal| (terminal.session_id.clone(), terminal);
                    app.terminals = listed.terminals.into_iter().map(named).collect();
                }
            },
        );
    }

    /// Takes a change of a command in the background.
    pub(super) fn terminal_changed(&mut self, news: &Notification) {
        if !matches!(
            news.method.as_ref(),
            "terminal/started" | "terminal/completed" | "terminal/stalled"
        ) {
            return;
        }
        let Some(TerminalNotification { terminal, .. }) = news.params() else {
            return;
        };
        if self.thread.as_deref() != Some(terminal.thread_id.as_str()) {
            return;
        }
        if terminal.status != TerminalStatus::Running {
            let end = ended(&terminal);
            self.note(&format!(
                "in the background, `{}` {end}",
                one_line(&terminal.command)
            ));
        }
        self.terminals.insert(terminal.session_id.clone(), terminal);
    }

    fn running(&self) -> impl Iterator<Item = &BackgroundTerminal> {
        let all = self.terminals.values();
        all.filter(|terminal| terminal.status == TerminalStatus::Running)
    }

    /// Returns a line for each command that runs in the background.
    pub(super) fn terminal_lines(&self, width: usize) -> Vec<Line> {
        let line = |terminal: &BackgroundTerminal| {
            let line = Line::of("  ▸ ", ACCENT).and(one_line(&terminal.command), Style::PLAIN);
            line.and("  in the background · /terminals", Style::DIM)
                .cut(width)
        };
        self.running().map(line).collect()
    }

    /// Lists the commands, to show the output of one or to stop it.
    pub(super) fn choose_terminal(&mut self, purpose: Purpose) {
        let stops = purpose == Purpose::Stops;
        let entry = |terminal: &BackgroundTerminal| Entry {
            value: terminal.session_id.clone(),
            label: one_line(&terminal.command),
            note: ended(terminal),
        };
        let entries: Vec<Entry> = if stops {
            self.running().map(entry).collect()
        } else {
            self.terminals.values().rev().map(entry).collect()
        };
        if entries.is_empty() {
            return self.note("no command runs in the background");
        }
        let title = if stops { "Stop" } else { "Output of" };
        self.picker = Some((purpose, Picker::new(title, entries, None)));
    }

    pub(super) fn show_terminal(&mut self, session_id: String) {
        let params = TerminalReadParams {
            session_id,
            wait_ms: None,
            max_output_chars: Some(MAX_OUTPUT),
        };
        let client = self.client.clone();
        self.ask(
            async move { client.read::<TerminalResult>("terminal/read", &params).await },
            |app, read| {
                let terminal = read.terminal;
                app.note(&format!("`{}` {}", one_line(&terminal.command), ended(&terminal)));
                for line in terminal.output.lines() {
                    let shown = line.rsplit('\r').next().unwrap_or_default();
                    let lines = hanging("  │ ", Style::DIM, &safe(shown), Style::PLAIN, app.width);
                    app.notes.extend(lines);
                }
            },
        );
    }

    pub(super) fn stop_terminal(&mut self, session_id: String) {
        let params = TerminalStopParams {
            session_id,
            client_request_id: None,
        };
        let client = self.client.clone();
        self.ask(
            async move { client.once::<TerminalResult>("terminal/stop", &params).await },
            |_, _| {},
        );
    }
}

fn one_line(command: &str) -> String {
    safe_line(command.lines().next().unwrap_or_default())
}

/// Returns how a command is doing.
fn ended(terminal: &BackgroundTerminal) -> String {
    match (terminal.status, terminal.exit_code) {
        (TerminalStatus::Running, _) => "runs".to_owned(),
        (TerminalStatus::Killed, _) => "was stopped".to_owned(),
        (TerminalStatus::TimedOut, _) => "took too long".to_owned(),
        (TerminalStatus::Lost, _) => "ended with the server".to_owned(),
        (_, Some(code)) => format!("ended with exit code {code}"),
        (_, None) => "ended".to_owned(),
    }
}
