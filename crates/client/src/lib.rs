//! A client of a Bobbin server: one connection after another, Threads followed over all of them, and the questions of the
//! server.
//!
//! [`Client`] makes requests, [`Events`] brings news, and [`ThreadState`] makes a Thread of them.
//!
//! * A lost connection is made again. A followed Thread goes on by its cursor: each notification comes once and in order.
//! * Requests that change nothing ([`Client::read`]) and those that count once however often they come
//!   ([`Client::once`]) are sent again.
//! * A [`Question`] outlives its connection. The answer is sent when the server asks again.
//!
//! A whole client, which starts a Turn, declines what it asks for and prints the answer:
//!
//! ```no_run
//! use std::process::Stdio;
//!
//! use bobbin_client::{Answer, Client, Connect, Event, Options, ThreadState};
//! use bobbin_framing::{Limits, Transport};
//! use bobbin_model::Decision;
//! use bobbin_native_wire::item::payload::ItemPayload;
//! use futures_util::future::{BoxFuture, FutureExt as _};
//! use serde_json::{Value, json};
//!
//! /// `bobbin app-server` joins the server of this folder, or starts it.
//! struct OnStdio(Option<tokio::process::Child>);
//!
//! impl Connect for OnStdio {
//!     fn connect(&mut self) -> BoxFuture<'_, Result<Transport, String>> {
//!         let mut command = tokio::process::Command::new("bobbin");
//!         command.arg("app-server").stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
//!         async move {
//!             let child = self.0.insert(command.spawn().map_err(|error| error.to_string())?);
//!             let (stdin, stdout) = child.stdin.take().zip(child.stdout.take()).ok_or("no pipes")?;
//!             Ok(Transport::lines(stdout, stdin, Limits::default()))
//!         }
//!         .boxed()
//!     }
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let (client, mut events) = Client::start(OnStdio(None), Options::new("my-client", "1.0"));
//! let identity = json!({ "identity": { "channelName": "my-client" } });
//! let started: Value = client.once("thread/start", &identity).await?;
//! let thread = started["thread"]["id"].as_str().ok_or("no thread")?;
//! client.follow(thread, 10).await;
//! let input = json!([{ "type": "text", "text": "list the files" }]);
//! let turn: Value = client.once("turn/start", &json!({ "threadId": thread, "input": input })).await?;
//! let turn = turn["turn"]["id"].as_str().ok_or("no turn")?;
//! let mut state = ThreadState::default();
//! while let Some(event) = events.next().await {
//!     match event {
//!         Event::Read(read) => state.replace(*read),
//!         Event::Notification(news) => state.apply(&news),
//!         Event::Asked(question) => client.answer(question.request_id(), Answer::Decision(Decision::Decline)).await,
//!         _ => {}
//!     }
//!     if let Some(turn) = state.turn(turn).filter(|turn| turn.has_ended()) {
//!         for item in &turn.items {
//!             if let ItemPayload::AgentMessage(message) = &item.item.payload {
//!                 println!("{}", message.text);
//!             }
//!         }
//!         client.close().await;
//!         events.ended().await;
//!         break;
//!     }
//! }
//! # Ok(())
//! # }
//! ```

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
