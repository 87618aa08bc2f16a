//! The method group over the wire, and the exchange of secrets over a real listener.

#[cfg(test)]
mod device;
