//! The method groups of channels in the native dialect: `externalChannel/*`, `channel/status`, `channel/send`, and the
//! server's requests to adapters (AppServer protocol 05 §9, 06 part B).

mod handlers;
pub mod wire;

use std::sync::Arc;

use bobbin_native::group::page::Page;
use bobbin_native::group::{Group, rows};
use bobbin_native_wire::handshake::types::{EmptyParams, EmptyResult};
use bobbin_native_wire::serving::types::ToolCallResult;

use crate::adapter;
use crate::configured::Channels;
use wire::{
    ChannelSendParams, ChannelSendResult, ChannelStatusResult, ChannelToolCallParams, ExtChannelSendParams,
    ExtChannelSendResult, ExternalChannelListResult, ExternalChannelLogsParams, ExternalChannelLogsResult,
    ExternalChannelNameParams, ExternalChannelRemoveParams, ExternalChannelRemoveResult,
    ExternalChannelResult, ExternalChannelUpsertParams,
};

/// Asks an adapter to send a message.
pub(crate) const EXT_CHANNEL_SEND: &str = "ext/channel/send";
/// Asks an adapter to run a tool.
pub(crate) const EXT_CHANNEL_TOOL_CALL: &str = "ext/channel/toolCall";
/// The heartbeat of an adapter.
pub(crate) const EXT_CHANNEL_HEARTBEAT: &str = "ext/channel/heartbeat";

/// The feature that the group serves.
pub type Feature = Arc<Channels>;

/// The groups of this crate.
pub static GROUPS: &[&Group] = &[&GROUP];

static GROUP: Group = Group {
    methods: rows! {
        Page::new("channels", "Chat channels"), Some("externalChannelManagement");
        request "externalChannel/list" (EmptyParams => ExternalChannelListResult)
            [] now_with(of Feature) handlers::list, needs Own:
            "Lists the external channels of the configuration.", spec "05 §9",
            test "channels/configuration: a_channel_is_added_read_and_removed_and_counts_at_once",
            note "a channel of the user's own file cannot be removed: -32081";
        request "externalChannel/get" (ExternalChannelNameParams => ExternalChannelResult)
            [ChannelNotFound] now_with(of Feature) handlers::get, needs Own:
            "Reads the configuration of an external channel.", spec "05 §9",
            test "channels/configuration: a_channel_is_added_read_and_removed_and_counts_at_once",
            note "a channel of the user's own file cannot be removed: -32081";
        request "externalChannel/upsert" (ExternalChannelUpsertParams => ExternalChannelResult)
            [ChannelInvalid, ChannelNameConflict] wait_with(of Feature) handlers::upsert, needs Own:
            "Adds an external channel to the workspace's configuration, or replaces it. It counts at once.",
            spec "05 §9", test "channels/configuration: a_channel_is_added_read_and_removed_and_counts_at_once",
            note "a channel of the user's own file cannot be removed: -32081";
        request "externalChannel/remove" (ExternalChannelRemoveParams => ExternalChannelRemoveResult)
            [ChannelNotFound, ChannelInvalid] wait_with(of Feature) handlers::remove, needs Own:
            "Removes an external channel from the workspace's configuration and ends its adapter.", spec "05 §9",
            test "channels/configuration: a_channel_is_added_read_and_removed_and_counts_at_once",
            note "a channel of the user's own file cannot be removed: -32081";
        request "externalChannel/logs" (ExternalChannelLogsParams => ExternalChannelLogsResult)
            [ChannelNotFound] now_with(of Feature) handlers::logs, needs Own:
            "Returns the newest lines that an adapter of the server has written.", spec "07 §8.10",
            test "channels/processes: the_lines_of_an_adapter_are_read_without_its_secrets";
        request "channel/status" (EmptyParams => ChannelStatusResult)
            [] now_with(of Feature) handlers::status, needs Read:
            "Says which external channels have an adapter.", capability Some("channelStatus"), spec "05 §9",
            test "channels/admission: channels_are_listed_with_those_that_are_there",
            note "there are no social channels; extensions `problem` and `diagnostics`";
        request "channel/send" (ChannelSendParams => ChannelSendResult)
            [] now_with(of Feature) handlers::send, needs Own:
            "Extension: sends a message to a chat of an external channel, once. Nothing is queued.",
            capability Some("channelStatus"),
            test "channels/deliveries: a_text_reaches_the_adapter_of_its_channel_and_its_answer_comes_back";
        server_request EXT_CHANNEL_SEND (ExtChannelSendParams => ExtChannelSendResult), needs Prompt:
            "Has an adapter send a message to a chat.", capability None, spec "06 §B4",
            test "channels/deliveries: a_picture_of_the_workspace_goes_in_the_form_that_the_adapter_takes",
            note "no artifacts are stored, so none is found";
        server_request EXT_CHANNEL_TOOL_CALL (ChannelToolCallParams => ToolCallResult), needs Prompt:
            "Has an adapter run one of its tools.", capability None, spec "06 §B5",
            test "channels/tools: a_tool_runs_at_its_adapter_as_one_item";
        server_request EXT_CHANNEL_HEARTBEAT (EmptyParams => EmptyResult), needs Prompt:
            "Asks an adapter for a sign of life.", capability None, spec "06 §B6",
            test "channels/admission: an_adapter_that_does_not_answer_its_heartbeat_is_closed",
            unplayed "it comes after 30 seconds";
    },
    capabilities: |server, capabilities| {
        if server.services().others.get::<Feature>().is_some() {
            capabilities.channel_status = true;
            capabilities.external_channel_management = true;
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.others.insert("channelSend".to_owned(), true.into());
        }
    },
    greeted: |server, capabilities, endpoint, peer| {
        let Some(channels) = server.services().others.get::<Feature>() else {
            return;
        };
        if capabilities.channel_adapter.is_some() {
            match capabilities.channel_name() {
                Some(name) => channels.host().greet(&name, endpoint, peer),
                None => adapter::reject(peer, "", "The capability 'channelAdapter' has no 'channelName'."),
            }
        }
    },
    ready: |client| {
        let Some(channels) = client.services().others.get::<Feature>() else {
            return;
        };
        let capability = client.capabilities().channel_adapter.as_ref();
        let (Some(name), Some(capability)) = (client.adapter_of(), capability) else {
            return;
        };
        let host = channels.host().clone();
        if let Some(adapter) = host.join(&name, capability, client) {
            client.spawn(async move {
                adapter.watch().await;
                host.leave(&adapter);
            });
        }
    },
    ..Group::EMPTY
};
