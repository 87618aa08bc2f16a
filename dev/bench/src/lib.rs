//! Measures a native server from outside, each figure beside the bare limit of the same machine in the same run.
//!
//! A scenario starts the server as a child, speaks to it as any client does, counts that everything it asked for
//! came, and reports figures. Beside it stands the least that could do the same job: an echo, a shared broadcast, one
//! SQLite commit. What counts is the ratio; a machine's own speed is no news.
//!
//! Takes no part in the server and shares no code with it: what is measured is the program that users run. Every load
//! is counted out before it starts and ends by itself; everything listens on loopback and lives in temporary
//! directories. A count that is wrong is an error, not a figure.

mod bare;
mod client;
mod compare;
mod extension;
mod frames;
mod link;
mod plan;
mod process;
mod provider;
mod report;
mod runner;
mod samples;
mod scenario;
mod stamp;
mod watch;

pub use bare::{Bare, serve as serve_bare};
pub use compare::{Comparison, Pair, compare};
pub use extension::serve_extension;
pub use plan::{Extent, Plan, Progress, names, run};
pub use report::{Failure, Report, Row, Target};
pub use runner::serve_runner;
