//! The framings from outside: byte streams in any split, broken input, limits, WebSocket behaviour.

#[cfg(test)]
mod content_length;
#[cfg(test)]
mod lines;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod splits;
#[cfg(test)]
mod stream;
#[cfg(test)]
mod support;
#[cfg(test)]
mod websocket;
