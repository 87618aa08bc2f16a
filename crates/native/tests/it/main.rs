//! The native dialect over an in-memory pair, a real core and a real store: one transcript a method.

#[cfg(test)]
mod adapters;
#[cfg(test)]
mod client_history;
#[cfg(test)]
mod cursors;
#[cfg(test)]
mod dynamic_tools;
#[cfg(test)]
mod editor_proxy;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod foreign_group;
#[cfg(test)]
mod gate;
#[cfg(test)]
mod halfway;
#[cfg(test)]
mod handshake;
#[cfg(test)]
mod in_use;
#[cfg(test)]
mod inquiries;
#[cfg(test)]
mod joining;
#[cfg(test)]
mod large;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod repeating;
#[cfg(test)]
mod subagents;
#[cfg(test)]
mod subagents_in_time;
#[cfg(test)]
mod support;
#[cfg(test)]
mod today;
#[cfg(test)]
mod transcripts;
