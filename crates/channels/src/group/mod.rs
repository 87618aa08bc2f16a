//! The method groups of channels in the native dialect: `externalChannel/*`, `channel/status`, `channel/send`, and the
//! server's requests to adapters (AppServer protocol 05 §9, 06 part B).

mod handlers;
pub mod wire;

use std::sync::Arc;

use bobbin_native::group::{Group, rows};
use bobbin_native::wire::{EmptyParams, EmptyResult, ToolCallResult};

use crate::adapter;
use crate::configured::Channels;
use wire::{
    ChannelSendParams, ChannelSendResult, ChannelStatusResult, ChannelToolCallParams, ExtChannelSendParams,
    ExtChannelSendResult, ExternalChannelListResult, ExternalChannelNameParams, ExternalChannelRemoveParams,
    ExternalChannelRemoveResult, ExternalChannelResult, ExternalChannelUpsertParams,
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
        request "externalChannel/list" (EmptyParams => ExternalChannelListResult)
            [] now_with(of Feature) handlers::list: "Lists the external channels of the configuration.";
        request "externalChannel/get" (ExternalChannelNameParams => ExternalChannelResult)
            [ChannelNotFound] now_with(of Feature) handlers::get: "Reads the configuration of an external channel.";
        request "externalChannel/upsert" (ExternalChannelUpsertParams => ExternalChannelResult)
            [ChannelInvalid, ChannelNameConflict] wait_with(of Feature) handlers::upsert:
            "Adds an external channel to the workspace's configuration, or replaces it. It counts at once.";
        request "externalChannel/remove" (ExternalChannelRemoveParams => ExternalChannelRemoveResult)
            [ChannelNotFound, ChannelInvalid] wait_with(of Feature) handlers::remove:
            "Removes an external channel from the workspace's configuration and ends its adapter.";
        request "channel/status" (EmptyParams => ChannelStatusResult)
            [] now_with(of Feature) handlers::status: "Says which external channels have an adapter.";
        request "channel/send" (ChannelSendParams => ChannelSendResult)
            [] now_with(of Feature) handlers::send:
            "Extension: sends a message to a chat of an external channel, once. Nothing is queued.";
        server_request EXT_CHANNEL_SEND (ExtChannelSendParams => ExtChannelSendResult):
            "Has an adapter send a message to a chat.";
        server_request EXT_CHANNEL_TOOL_CALL (ChannelToolCallParams => ToolCallResult):
            "Has an adapter run one of its tools.";
        server_request EXT_CHANNEL_HEARTBEAT (EmptyParams => EmptyResult):
            "Asks an adapter for a sign of life.";
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
