//! The handshake (AppServer protocol 01 §4): `connection` serves it itself.

pub mod capabilities;
pub mod types;

use crate::group::{Group, Method};
use crate::wire::{self, ErrorCode};

pub(crate) const INITIALIZE: &str = "initialize";
pub(crate) const INITIALIZED: &str = "initialized";

/// The group.
pub(crate) static GROUP: Group = Group {
    methods: &[
        Method::first_request::<wire::InitializeParams, wire::InitializeResult>(
            INITIALIZE,
            "Opens the connection. Must be the first request.",
            &[ErrorCode::AlreadyInitialized],
        ),
        Method::client_notification::<wire::EmptyParams>(INITIALIZED, "Ends the handshake."),
        Method::client_notification::<wire::CancelRequestParams>(
            "$/cancelRequest",
            "Gives up a request that is still running.",
        ),
    ],
    ..Group::EMPTY
};
