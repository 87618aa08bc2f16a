//! `terminal/*`: commands in the background (AppServer protocol 03 §13).

pub(crate) mod convert;
pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, rows};

use crate::wire::{
    TerminalCleanParams, TerminalListParams, TerminalNotification, TerminalOutputDeltaNotification,
    TerminalReadParams, TerminalResult, TerminalStopParams, TerminalWriteParams, TerminalsResult,
};

pub(crate) const TERMINAL_STARTED: &str = "terminal/started";
pub(crate) const TERMINAL_OUTPUT_DELTA: &str = "terminal/outputDelta";
pub(crate) const TERMINAL_COMPLETED: &str = "terminal/completed";
pub(crate) const TERMINAL_STALLED: &str = "terminal/stalled";
pub(crate) const TERMINAL_CLEANED: &str = "terminal/cleaned";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        request "terminal/list" (TerminalListParams => TerminalsResult) [] now_with(terminals) handlers::list:
            "Lists background terminals.";
        request "terminal/read" (TerminalReadParams => TerminalResult)
            [ThreadNotFound] now_with(terminals) handlers::read:
            "Reads a background terminal.";
        request "terminal/write" (TerminalWriteParams => TerminalResult)
            [ThreadNotFound] now_with(terminals) handlers::write:
            "Types into a background terminal.";
        request "terminal/stop" (TerminalStopParams => TerminalResult)
            [ThreadNotFound] now_with(terminals) handlers::stop:
            "Ends a background terminal.";
        request "terminal/clean" (TerminalCleanParams => TerminalsResult)
            [] now_with(terminals) handlers::clean:
            "Removes a Thread's background terminals.";
        notification TERMINAL_STARTED (TerminalNotification): "A command went into the background.";
        notification TERMINAL_OUTPUT_DELTA (TerminalOutputDeltaNotification):
            "Output of a background terminal.";
        notification TERMINAL_COMPLETED (TerminalNotification): "A background terminal ended.";
        notification TERMINAL_STALLED (TerminalNotification):
            "A background terminal has been silent for long.";
        notification TERMINAL_CLEANED (TerminalNotification): "A background terminal was removed.";
    },
    capabilities: |server, capabilities| {
        capabilities.background_terminals = server.services().terminals.is_some();
    },
    unwanted: |capabilities| {
        if capabilities.background_terminals {
            Vec::new()
        } else {
            vec![
                TERMINAL_STARTED,
                TERMINAL_OUTPUT_DELTA,
                TERMINAL_COMPLETED,
                TERMINAL_STALLED,
                TERMINAL_CLEANED,
            ]
        }
    },
    broadcast: |news, _| convert::broadcast(news),
    ..Group::EMPTY
};
