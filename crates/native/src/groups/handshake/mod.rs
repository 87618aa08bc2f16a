//! The handshake (AppServer protocol 01 §4), which `connection` serves.

pub mod capabilities;
pub mod types;

use crate::group::{Group, rows};
use crate::wire::{CancelRequestParams, EmptyParams, InitializeParams, InitializeResult};

pub(crate) const INITIALIZE: &str = "initialize";
pub(crate) const INITIALIZED: &str = "initialized";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        first_request INITIALIZE (InitializeParams => InitializeResult) [AlreadyInitialized]:
            "Opens the connection. Must be the first request.";
        first_notification INITIALIZED (EmptyParams): "Ends the handshake.";
        first_notification "$/cancelRequest" (CancelRequestParams):
            "Gives up a request that is still running.";
    },
    ..Group::EMPTY
};
