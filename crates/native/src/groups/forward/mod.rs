//! `forward/*`: ports of a Thread's commands on the machine's loopback. Served if commands can have their own network.

pub(crate) mod handlers;

use bobbin_native_wire::forward::types::{
    ForwardEndedNotification, ForwardListParams, ForwardListResult, ForwardResult, ForwardStartParams,
    ForwardStopParams, ForwardStopResult,
};

use crate::group::page::Page;
use crate::group::{Group, rows};

pub(crate) const FORWARD_ENDED: &str = "forward/ended";
/// The extension's name in the capabilities of both sides.
const EXTENSION: &str = "forward";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::TERMINALS, Some("extensions.forward");
        request "forward/start" (ForwardStartParams => ForwardResult)
            [ThreadNotFound] now_with(forwards) handlers::start, needs Approve:
            "Extension: forwards a port of a Thread's commands to the machine's loopback, for as long as the connection is there.",
            test "native/terminals: a_forward_is_for_clients_that_may_approve";
        request "forward/list" (ForwardListParams => ForwardListResult)
            [] now_with(forwards) handlers::list, needs Approve:
            "Extension: lists forwarded ports.",
            test "native/terminals: a_forward_is_for_clients_that_may_approve";
        request "forward/stop" (ForwardStopParams => ForwardStopResult)
            [] now_with(forwards) handlers::stop, needs Approve:
            "Extension: ends a forward, with its connections.",
            test "native/terminals: a_forward_is_for_clients_that_may_approve";
        notification FORWARD_ENDED (ForwardEndedNotification):
            "Extension: a port is not forwarded any more.",
            test "native/terminals: a_forward_is_for_clients_that_may_approve",
            note "to clients that declared `extensions.forward`";
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
