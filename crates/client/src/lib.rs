//! A client of a Bobbin server: one connection after another, Threads followed over all of them, and the questions of the
//! server.
//!
//! [`Client`] makes requests, [`Events`] brings news, and [`ThreadState`] makes a Thread of them. `examples/ask.rs` is a whole
//! client in 40 lines.
//!
//! * A lost connection is made again. A followed Thread goes on by its cursor: each notification comes once and in order.
//! * Requests that change nothing ([`Client::read`]) and those that are carried out once however often they come
//!   ([`Client::once`]) are sent again.
//! * A [`Question`] outlives its connection. The answer is sent when the server asks again.

mod client;
mod driver;
mod error;
mod event;
mod follow;
mod question;
mod thread;

pub use client::{Client, Connect, Events, Options};
pub use error::RequestError;
pub use event::{Event, Notification};
pub use question::{Answer, Question};
pub use thread::{ItemState, ThreadState, TurnState};
