//! Background terminals between the core and the wire (AppServer protocol 03 §13). Pure.

use bobbin_agent_api::terminal::TerminalNews;
use bobbin_core::{Broadcast, WireMessage};
use bobbin_model::{Terminal, TerminalChange};
use bobbin_native_wire::item::tool_payload::CommandSource;
use bobbin_native_wire::terminal::types::{
    BackgroundTerminal, TerminalNotification, TerminalOutputDeltaNotification,
};

use super::{
    TERMINAL_CLEANED, TERMINAL_COMPLETED, TERMINAL_OUTPUT_DELTA, TERMINAL_STALLED, TERMINAL_STARTED,
};
use crate::convert;
use crate::message;

/// Returns a terminal as clients see it.
pub(crate) fn terminal(terminal: &Terminal) -> BackgroundTerminal {
    let facts = &terminal.facts;
    BackgroundTerminal {
        session_id: facts.id.clone(),
        thread_id: facts.thread.to_string(),
        turn_id: Some(facts.turn.to_string()),
        call_id: Some(facts.call.clone()),
        command: facts.command.clone(),
        working_directory: facts.working_directory.clone(),
        source: if facts.sandboxed {
            CommandSource::Sandbox
        } else {
            CommandSource::Host
        },
        status: terminal.status,
        output: terminal.output.clone(),
        output_path: facts.output_path.clone(),
        exit_code: terminal.exit_code.map(Into::into),
        started_at: convert::time(facts.started_at),
        completed_at: terminal.completed_at.map(convert::time),
        wall_time_ms: terminal.wall_time_ms,
        original_output_chars: terminal.output_chars,
        truncated: terminal.truncated,
        background_reason: Some(facts.reason.name().to_owned()),
    }
}

/// Returns the notification of news of a terminal.
pub(crate) fn broadcast(news: &Broadcast) -> Option<WireMessage> {
    let TerminalNews { change, terminal: of } = news.get()?;
    let terminal = terminal(of);
    let method = match change {
        TerminalChange::Output(delta) => {
            let delta = delta.clone();
            let params = TerminalOutputDeltaNotification { terminal, delta };
            return Some(message(TERMINAL_OUTPUT_DELTA, &params));
        }
        TerminalChange::Started => TERMINAL_STARTED,
        TerminalChange::Completed => TERMINAL_COMPLETED,
        TerminalChange::Stalled => TERMINAL_STALLED,
        TerminalChange::Cleaned => TERMINAL_CLEANED,
    };
    Some(message(method, &TerminalNotification { terminal }))
}
