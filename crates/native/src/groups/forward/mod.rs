//! `forward/*`: ports of a Thread's commands on the machine's loopback. Served if commands can have their own network.

pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, rows};

use crate::wire::{
    ForwardEndedNotification, ForwardListParams, ForwardListResult, ForwardResult, ForwardStartParams,
    ForwardStopParams, ForwardStopResult,
};

pub(crate) const FORWARD_ENDED: &str = "forward/ended";
/// The extension's name in the capabilities of both sides.
const EXTENSION: &str = "forward";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        request "forward/start" (ForwardStartParams => ForwardResult)
            [ThreadNotFound] now_with(forwards) handlers::start:
            "Extension: forwards a port of a Thread's commands to the machine's loopback, for as long as the connection is there.";
        request "forward/list" (ForwardListParams => ForwardListResult) [] now_with(forwards) handlers::list:
            "Extension: lists forwarded ports.";
        request "forward/stop" (ForwardStopParams => ForwardStopResult) [] now_with(forwards) handlers::stop:
            "Extension: ends a forward, with its connections.";
        notification FORWARD_ENDED (ForwardEndedNotification):
            "Extension: a port is not forwarded any more.";
    },
    capabilities: |server, capabilities| {
        if server.services().forwards.is_some() {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.others.insert(EXTENSION.to_owned(), true.into());
        }
    },
    unwanted: |capabilities| {
        let declared = capabilities.extensions.get(EXTENSION);
        if declared.is_some_and(|declared| *declared == true) {
            Vec::new()
        } else {
            vec![FORWARD_ENDED]
        }
    },
    broadcast: |news, _| handlers::broadcast(news),
    ..Group::EMPTY
};
