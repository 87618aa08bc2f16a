//! The ECA dialect over an in-memory pair, a real core and a real store: one transcript an exchange.

#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod chats;
#[cfg(test)]
mod choices;
#[cfg(test)]
mod diagnostics;
#[cfg(test)]
mod edits;
#[cfg(test)]
mod history;
#[cfg(test)]
mod jobs;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod prompts;
#[cfg(test)]
mod providers;
#[cfg(test)]
mod queries;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod seed;
#[cfg(test)]
mod servers;
#[cfg(test)]
mod stops;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod usage;
#[cfg(test)]
mod writing;
