//! External channels: chat platforms whose adapters are clients of the native dialect (AppServer protocol 06 part B).
//!
//! An adapter declares in `initialize` which channel it serves. [`Host`] accepts it if that channel is configured, enabled
//! and trusted, and then knows its abilities and tools. Other features send messages to its chats with
//! [`ChannelDelivery`](bobbin_agent_api::channel::ChannelDelivery); the agent gets its tools from
//! [`ToolSource`](bobbin_agent_api::tool::ToolSource). [`Channels`] is the configuration, which clients manage.
//!
//! An adapter starts Threads and Turns like any other client. The chat of a failed Turn gets a sentence. Nothing is queued
//! for an adapter that is not connected. Bounded by [`MAX_CHANNELS`], with one adapter each.

mod adapter;
mod configured;
mod deliver;
mod descriptor;
mod failures;
mod group;
mod host;
mod logs;
mod media;
mod process;
pub mod settings;
mod tools;

pub use configured::Channels;
pub use group::{Feature, GROUPS, wire};
pub use host::{Host, Modules, Surroundings};

/// Most channels of a server (a guess: there are not that many platforms).
pub const MAX_CHANNELS: usize = 64;
