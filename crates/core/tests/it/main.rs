//! The core over a real store.

#[cfg(test)]
mod approvals;
#[cfg(test)]
mod clock;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod invariants;
#[cfg(test)]
mod stopping;
#[cfg(test)]
mod support;
#[cfg(test)]
mod trouble;
#[cfg(test)]
mod windows;
