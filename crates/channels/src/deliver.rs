//! Sends a message to a chat through the adapter of its channel, once and within a time limit (AppServer protocol 06 §B4).

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::channel::{
    ChannelDelivery, ChatAddress, ChatMessage, Delivered, DeliveryError, DeliveryErrorCode as Code,
};
use bobbin_model::Json;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::adapter::{Adapter, Failure};
use crate::group::EXT_CHANNEL_SEND;
use crate::group::wire::{ChannelMessage, ChannelMessageKind, ExtChannelSendParams, ExtChannelSendResult};
use crate::host::Host;
use crate::media::{self, Prepared, error};

/// Time limit for the delivery of a message (04).
const LIMIT: Duration = Duration::from_secs(10);

impl ChannelDelivery for Host {
    fn channels(&self) -> Vec<String> {
        self.names()
    }

    fn deliver(
        &self,
        to: ChatAddress,
        message: ChatMessage,
        metadata: Option<Json>,
    ) -> BoxFuture<'_, Result<Delivered, DeliveryError>> {
        async move {
            let adapter = self.reachable(&to.channel)?;
            let prepared = self.prepared(&adapter, message).await?;
            let params = ExtChannelSendParams {
                target: to.target,
                message: prepared.message.clone(),
                metadata,
            };
            let sent = adapter.ask(EXT_CHANNEL_SEND, params, LIMIT).await;
            // A temporary file of the message must exist until now.
            drop(prepared);
            sent.map_err(failed).and_then(said)
        }
        .boxed()
    }
}

impl Host {
    /// Returns the connected adapter of a channel.
    fn reachable(&self, channel: &str) -> Result<Arc<Adapter>, DeliveryError> {
        if let Some(adapter) = self.adapter(channel) {
            return Ok(adapter);
        }
        Err(if self.counts(channel) {
            let why = format!("the adapter of the channel {channel} is not connected");
            error(Code::AdapterDisconnected, why)
        } else {
            let why = format!("no channel {channel} is configured and enabled");
            error(Code::ChannelNotFound, why)
        })
    }

    async fn prepared(
        &self,
        adapter: &Arc<Adapter>,
        message: ChatMessage,
    ) -> Result<Prepared, DeliveryError> {
        if !adapter.can.delivers {
            let why = "the adapter has not declared structuredDelivery";
            return Err(error(Code::UnsupportedDeliveryKind, why));
        }
        match message {
            ChatMessage::Text(text) => Ok(Prepared {
                message: ChannelMessage {
                    kind: ChannelMessageKind::Text,
                    text: Some(text),
                    caption: None,
                    file_name: None,
                    media_type: None,
                    source: None,
                },
                _file: None,
            }),
            ChatMessage::Media(media) => {
                let (adapter, place) = (adapter.clone(), self.surroundings().clone());
                let prepared =
                    tokio::task::spawn_blocking(move || media::prepare(media, &adapter.can, &place));
                let failed =
                    |why: tokio::task::JoinError| error(Code::MediaResolutionFailed, why.to_string());
                prepared.await.map_err(failed)?
            }
        }
    }
}

fn failed(failure: Failure) -> DeliveryError {
    match failure {
        Failure::Gone => error(Code::AdapterDisconnected, "the adapter left before it answered"),
        Failure::Refused(why) => error(Code::AdapterDeliveryFailed, why),
        Failure::Unusable(why) => error(Code::AdapterProtocolViolation, why),
        Failure::Late(limit) => {
            let why = format!("the adapter has not answered within {limit:?}; the chat may have the message");
            error(Code::AdapterDeliveryFailed, why)
        }
    }
}

fn said(result: ExtChannelSendResult) -> Result<Delivered, DeliveryError> {
    if result.delivered {
        return Ok(Delivered {
            remote_message_id: result.remote_message_id,
            remote_media_id: result.remote_media_id,
        });
    }
    let code = result.error_code.filter(|code| !code.trim().is_empty());
    let message = result.error_message.or(result.error);
    Err(error(
        code.map_or(Code::AdapterDeliveryFailed, Code::Adapter),
        message.unwrap_or_else(|| "the adapter did not deliver it and gave no reason".to_owned()),
    ))
}
