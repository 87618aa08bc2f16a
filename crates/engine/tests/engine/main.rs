//! The engine with a real core and a real store.

mod instructions;
mod restart;
#[cfg(test)]
mod support;
mod turns;
