//! Long-lived services that speak a protocol: started, greeted, watched, started again, ended.
//!
//! A caller implements [`Service`]: how one is started and greeted, how it is watched, how it is asked to end. A
//! [`Group`] runs services by name, one task each, and joins the tasks. [`Supervised`] is one of them as its callers
//! see it: its handle, and waiting for it. [`Child`] is the process of a service: its pipes are read at a bounded rate.
//! The end of its standard error is stored for reports of failures, or a sink gets each line and loses lines of a
//! flood.
//!
//! The protocol is the caller's, and so is the transport: the standard streams of a child, a port that it announces,
//! a server elsewhere. A service that hangs, floods or dies costs itself and nothing else. Nothing here reads
//! configuration or the environment.

mod child;
mod confine;
mod group;
mod pace;
mod run;
mod service;
mod supervised;
mod tail;

pub use child::{Child, Ended, Streams, causes, is_lasting};
pub use confine::{Confine, Confining};
pub use group::{Full, Group};
pub use pace::Paced;
pub use service::{Failure, Restart, Service, Status};
pub use supervised::{Start, Supervised};
pub use tail::{Line, LineSink};
