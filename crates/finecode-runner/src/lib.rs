//! Makes a Rust program a FineCode runner: it hosts handlers of actions for a workspace manager.
//!
//! A [`Program`] lists [`Action`]s with their handlers. [`run`] reads the command line that managers use, serves over
//! standard input and output or over a port that it announces, and returns once the manager is gone. [`serve`] does the
//! same on one connection.
//!
//! Requests run side by side. Notifications are applied in order, before later requests start. Standard output carries
//! the protocol only. One connection, one configuration, the open documents: nothing else is kept.
//!
//! What both ends share is here too: the [`Dialect`] and the text of [`Document`]s.
//!
//! ```
//! use bobbin_finecode_runner::{Action, ActionResult, Call, Done, Program};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Words {
//!     /// Words to look at.
//!     words: Vec<String>,
//! }
//!
//! #[derive(Serialize, Deserialize)]
//! struct Misses {
//!     misses: Vec<String>,
//! }
//!
//! impl ActionResult for Misses {
//!     fn merge(&mut self, other: Self) {
//!         self.misses.extend(other.misses);
//!     }
//!     fn text(&self) -> String {
//!         format!("{} misses", self.misses.len())
//!     }
//!     fn return_code(&self) -> i64 {
//!         i64::from(!self.misses.is_empty())
//!     }
//! }
//!
//! let spell = Action::<Words, Misses>::new("shop_tools.actions.SpellAction")
//!     .alias("shop_tools.SpellAction")
//!     .handler("shop_tools.Dictionary", |call: Call<Words, Misses>| async move {
//!         let words = call.payload()?.words;
//!         let misses = words.into_iter().filter(|word| word == "teh").collect();
//!         Ok(Done::Result(Misses { misses }))
//!     });
//! let program = Program::new().action(spell);
//! # drop(program);
//! ```

mod action;
mod answer;
mod call;
mod command_line;
mod dialect;
mod document;
mod execute;
mod manager;
mod methods;
mod program;
mod schema;
mod serve;
mod wal;

pub use action::{Action, ActionResult, Done, Failure};
pub use call::Call;
pub use command_line::{CommandLine, run};
pub use dialect::Dialect;
pub use document::{Document, EditError, Position, Range};
pub use manager::{Manager, MessageLevel, Nested};
pub use program::Program;
pub use serve::{Setup, framed, serve};

/// JSON that is carried and not read.
pub type Json = Box<serde_json::value::RawValue>;
