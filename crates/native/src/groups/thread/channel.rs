//! `channel/list`: the channels that Threads may come from (AppServer protocol 02 §5.13).

use bobbin_agent_api::channel::{BUILT_IN_CHANNELS, SYSTEM_CHANNELS};
use bobbin_native_wire::thread::params::ChannelCategory::{Builtin, External, System};
use bobbin_native_wire::thread::params::{ChannelInfo, ChannelListResult};
use bobbin_peer::Responder;

use crate::call::NoParams;
use crate::client::Client;

pub(super) fn list(client: &Client, _: NoParams, responder: Responder) {
    let info = |name: String, category| ChannelInfo { name, category };
    let built_in = BUILT_IN_CHANNELS.map(|name| info(name.to_owned(), Builtin));
    let system = SYSTEM_CHANNELS.map(|name| info(name.to_owned(), System));
    let external = client.services().channels.iter();
    let external = external.flat_map(|channels| channels.channels());
    let external = external.map(|name| info(name, External));
    responder.ok(ChannelListResult {
        channels: built_in.into_iter().chain(system).chain(external).collect(),
    });
}
