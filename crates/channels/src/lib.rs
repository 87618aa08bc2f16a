//! External channels: chat platforms whose adapters are clients of the native dialect (AppServer protocol 06 part B).
//!
//! An adapter says at `initialize` which channel it serves. [`Host`] lets it in if that channel is configured, enabled and
//! trusted, and knows from then on what it can deliver and which tools it has. Other features send messages to its
//! chats through [`ChannelDelivery`](bobbin_agent_api::channel::ChannelDelivery); the agent gets its tools through
//! [`ToolSource`](bobbin_agent_api::tool::ToolSource). [`Channels`] is the configuration as clients manage it.
//!
//! An adapter starts Threads and Turns like any other client. A chat whose Turn fails gets a sentence. Nothing is
//! queued for an adapter that is not there. Bounded by [`MAX_CHANNELS`] and one adapter for each.

mod adapter;
mod configured;
mod deliver;
mod descriptor;
mod failures;
mod group;
mod host;
mod media;
mod process;
mod tools;

pub use configured::Channels;
pub use group::{Feature, GROUPS, wire};
pub use host::{Host, Surroundings};

/// Most channels of a server (a guess: there are not that many platforms).
pub const MAX_CHANNELS: usize = 64;
