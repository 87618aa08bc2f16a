//! The peer over real streams.

#[cfg(test)]
mod bytes;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod connection;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod fairness;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod modes;
#[cfg(test)]
mod notifications;
#[cfg(test)]
#[cfg(test)]
mod requests;
#[cfg(test)]
mod robustness;
#[cfg(test)]
mod senders;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod shutdown;
#[cfg(test)]
mod support;
#[cfg(test)]
mod unstarted;
