//! Background terminals between the core and the wire (AppServer protocol 03 §13). Pure.

use bobbin_model::Terminal;
use bobbin_wire as wire;

/// Returns a terminal as clients are shown it.
pub(crate) fn terminal(terminal: &Terminal) -> wire::BackgroundTerminal {
    let facts = &terminal.facts;
    wire::BackgroundTerminal {
        session_id: facts.id.clone(),
        thread_id: facts.thread.to_string(),
        turn_id: Some(facts.turn.to_string()),
        call_id: Some(facts.call.clone()),
        command: facts.command.clone(),
        working_directory: facts.working_directory.clone(),
        source: if facts.sandboxed {
            wire::CommandSource::Sandbox
        } else {
            wire::CommandSource::Host
        },
        status: terminal.status,
        output: terminal.output.clone(),
        output_path: facts.output_path.clone(),
        exit_code: terminal.exit_code.map(Into::into),
        started_at: super::time(facts.started_at),
        completed_at: terminal.completed_at.map(super::time),
        wall_time_ms: terminal.wall_time_ms,
        original_output_chars: terminal.output_chars,
        truncated: terminal.truncated,
        background_reason: Some(facts.reason.name().to_owned()),
    }
}
