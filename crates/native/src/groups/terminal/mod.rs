//! `terminal/*`: commands in the background (AppServer protocol 03 §13).

pub(crate) mod convert;
pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, Method};
use crate::wire::{self, ErrorCode};

pub(crate) const TERMINAL_STARTED: &str = "terminal/started";
pub(crate) const TERMINAL_OUTPUT_DELTA: &str = "terminal/outputDelta";
pub(crate) const TERMINAL_COMPLETED: &str = "terminal/completed";
pub(crate) const TERMINAL_STALLED: &str = "terminal/stalled";
pub(crate) const TERMINAL_CLEANED: &str = "terminal/cleaned";

/// The group.
pub(crate) static GROUP: Group = Group {
    methods: &[
        Method::request::<wire::TerminalListParams, wire::TerminalsResult>(
            "terminal/list",
            "Lists background terminals.",
            &[],
            |call| call.now_with(|of| of.terminals.as_ref(), handlers::list),
        ),
        Method::request::<wire::TerminalReadParams, wire::TerminalResult>(
            "terminal/read",
            "Reads a background terminal.",
            &[ErrorCode::ThreadNotFound],
            |call| call.now_with(|of| of.terminals.as_ref(), handlers::read),
        ),
        Method::request::<wire::TerminalWriteParams, wire::TerminalResult>(
            "terminal/write",
            "Types into a background terminal.",
            &[ErrorCode::ThreadNotFound],
            |call| call.now_with(|of| of.terminals.as_ref(), handlers::write),
        ),
        Method::request::<wire::TerminalStopParams, wire::TerminalResult>(
            "terminal/stop",
            "Ends a background terminal.",
            &[ErrorCode::ThreadNotFound],
            |call| call.now_with(|of| of.terminals.as_ref(), handlers::stop),
        ),
        Method::request::<wire::TerminalCleanParams, wire::TerminalsResult>(
            "terminal/clean",
            "Removes a Thread's background terminals.",
            &[],
            |call| call.now_with(|of| of.terminals.as_ref(), handlers::clean),
        ),
        Method::notification::<wire::TerminalNotification>(
            TERMINAL_STARTED,
            "A command went into the background.",
        ),
        Method::notification::<wire::TerminalOutputDeltaNotification>(
            TERMINAL_OUTPUT_DELTA,
            "Output of a background terminal.",
        ),
        Method::notification::<wire::TerminalNotification>(
            TERMINAL_COMPLETED,
            "A background terminal ended.",
        ),
        Method::notification::<wire::TerminalNotification>(
            TERMINAL_STALLED,
            "A background terminal has been silent for long.",
        ),
        Method::notification::<wire::TerminalNotification>(
            TERMINAL_CLEANED,
            "A background terminal was removed.",
        ),
    ],
    capabilities: |server, capabilities| {
        capabilities.background_terminals = server.services.terminals.is_some();
    },
    broadcast: |news, _| convert::broadcast(news),
};
