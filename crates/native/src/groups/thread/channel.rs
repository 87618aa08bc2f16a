//! `channel/list`: the channels that Threads may come from (AppServer protocol 02 §5.13).

use bobbin_peer::Responder;
use serde::de::IgnoredAny;

use crate::client::Client;
use crate::wire;
use crate::wire::ChannelCategory::{Builtin, System};

/// Channels that the server and its clients bring along: by category, then by name.
const CHANNELS: [(&str, wire::ChannelCategory); 8] = [
    ("acp", Builtin),
    ("cli", Builtin),
    ("desktop", Builtin),
    ("eca", Builtin),
    ("exec", Builtin),
    ("automations", System),
    ("cron", System),
    ("heartbeat", System),
];

pub(super) fn list(_: &Client, _: IgnoredAny, responder: Responder) {
    let channels = CHANNELS.map(|(name, category)| wire::ChannelInfo {
        name: name.to_owned(),
        category,
    });
    responder.ok(wire::ChannelListResult {
        channels: channels.into(),
    });
}
