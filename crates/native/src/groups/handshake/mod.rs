//! The handshake (AppServer protocol 01 §4), which `connection` serves.

use bobbin_native_wire::handshake::types::{
    CancelRequestParams, EmptyParams, InitializeParams, InitializeResult,
};

use crate::group::need::{Member, Need};
use crate::group::page::Page;
use crate::group::{Group, rows};

pub(crate) const INITIALIZE: &str = "initialize";
pub(crate) const INITIALIZED: &str = "initialized";

/// Capabilities by which a client is asked, or its word is taken for the user's. They have no effect where the role of the
/// client's user does not cover them.
pub(crate) const DECLARED: &[Member] = &[
    ("capabilities.person", Need::Prompt),
    ("capabilities.acpExtensions", Need::Prompt),
    ("capabilities.nodeRepl", Need::Prompt),
    ("capabilities.browserUse", Need::Prompt),
    ("capabilities.approvalSupport", Need::Approve),
    ("capabilities.userInputSupport", Need::Approve),
    ("capabilities.requestUserInputSupport", Need::Approve),
    ("capabilities.mcpElicitation", Need::Approve),
    ("capabilities.channelAdapter", Need::Own),
];

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::CONNECTION, None;
        first_request INITIALIZE (InitializeParams => InitializeResult) [AlreadyInitialized], needs Read:
            "Opens the connection. Must be the first request.", members DECLARED, spec "01 §4.1",
            test "native/transcripts: initialize_and_initialized", note "`serverInfo.name` is `bobbin`";
        first_notification INITIALIZED (EmptyParams), needs Read:
            "Ends the handshake.", spec "01 §4.2", test "native/transcripts: initialize_and_initialized";
        first_notification "$/cancelRequest" (CancelRequestParams), needs Read:
            "Gives up a request that is still running.",
            test "peer/notifications: a_cancelled_request_is_answered_so_once";
    },
    ..Group::EMPTY
};
