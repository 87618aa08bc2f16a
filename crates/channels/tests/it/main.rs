//! Channels as adapters and clients meet them, over the wire. The adapters here share no code with the server.

#[cfg(test)]
mod admission;
#[cfg(test)]
mod configuration;
#[cfg(test)]
mod deliveries;
#[cfg(test)]
mod load;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tools;
