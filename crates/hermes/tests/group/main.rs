//! The method group over the wire, with an extension that is a shell script.
#![cfg(unix)]

#[cfg(test)]
mod documents;
#[cfg(test)]
mod extensions;
#[cfg(test)]
mod support;
