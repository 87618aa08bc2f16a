//! `terminal/*`: commands in the background (AppServer protocol 03 §13).

pub(crate) mod convert;
pub(crate) mod handlers;

use bobbin_native_wire::terminal::types::{
    TerminalCleanParams, TerminalListParams, TerminalNotification, TerminalOutputDeltaNotification,
    TerminalReadParams, TerminalResult, TerminalStopParams, TerminalWriteParams, TerminalsResult,
};

use crate::group::page::Page;
use crate::group::{Group, rows};

pub(crate) const TERMINAL_STARTED: &str = "terminal/started";
pub(crate) const TERMINAL_OUTPUT_DELTA: &str = "terminal/outputDelta";
pub(crate) const TERMINAL_COMPLETED: &str = "terminal/completed";
pub(crate) const TERMINAL_STALLED: &str = "terminal/stalled";
pub(crate) const TERMINAL_CLEANED: &str = "terminal/cleaned";

/// The effect of `terminal/clean`, and the time for which requests are known.
const TERMINALS: &str = "`terminal/clean` removes those that have ended; a `clientRequestId` is known for as long as the \
    server runs";

/// The part of output that is left out.
const OUTPUT: &str = "of output that comes too fast a part is left out, with a word about how much";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::TERMINALS, Some("backgroundTerminals");
        request "terminal/list" (TerminalListParams => TerminalsResult)
            [] now_with(terminals) handlers::list, needs Read:
            "Lists background terminals.", spec "03 §13",
            test "native/terminals: a_terminal_from_its_beginning_to_its_removal",
            note TERMINALS;
        request "terminal/read" (TerminalReadParams => TerminalResult)
            [ThreadNotFound] now_with(terminals) handlers::read, needs Read:
            "Reads a background terminal.", spec "03 §13",
            test "native/terminals: a_terminal_from_its_beginning_to_its_removal",
            note TERMINALS;
        request "terminal/write" (TerminalWriteParams => TerminalResult)
            [ThreadNotFound] now_with(terminals) handlers::write, needs Own:
            "Types into a background terminal.", spec "03 §13",
            test "native/terminals: a_terminal_from_its_beginning_to_its_removal",
            note TERMINALS;
        request "terminal/stop" (TerminalStopParams => TerminalResult)
            [ThreadNotFound] now_with(terminals) handlers::stop, needs Approve:
            "Ends a background terminal.", spec "03 §13",
            test "native/terminals: a_terminal_from_its_beginning_to_its_removal",
            note TERMINALS;
        request "terminal/clean" (TerminalCleanParams => TerminalsResult)
            [] now_with(terminals) handlers::clean, needs Approve:
            "Removes a Thread's background terminals.", spec "03 §13",
            test "native/terminals: a_terminal_from_its_beginning_to_its_removal",
            note TERMINALS;
        notification TERMINAL_STARTED (TerminalNotification):
            "A command went into the background.", spec "03 §13",
            test "native/terminals: a_terminal_from_its_beginning_to_its_removal",
            note OUTPUT;
        notification TERMINAL_OUTPUT_DELTA (TerminalOutputDeltaNotification):
            "Output of a background terminal.", spec "03 §13",
            test "native/terminals: a_terminal_from_its_beginning_to_its_removal",
            note OUTPUT;
        notification TERMINAL_COMPLETED (TerminalNotification):
            "A background terminal ended.", spec "03 §13",
            test "native/terminals: a_terminal_from_its_beginning_to_its_removal",
            note OUTPUT;
        notification TERMINAL_STALLED (TerminalNotification):
            "A background terminal has been silent for long.", spec "03 §13",
            test "native/terminals: a_terminal_from_its_beginning_to_its_removal",
            unplayed "it comes after 45 seconds",
            note OUTPUT;
        notification TERMINAL_CLEANED (TerminalNotification):
            "A background terminal was removed.", spec "03 §13",
            test "native/terminals: a_terminal_from_its_beginning_to_its_removal",
            note OUTPUT;
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
