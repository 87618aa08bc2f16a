//! Whole Turns with models over loopback: a real core, a real store, real HTTP, a provider that follows a script.

#[cfg(test)]
mod caches;
#[cfg(test)]
mod cancel;
#[cfg(test)]
mod conversation;
#[cfg(test)]
mod efforts;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod fallbacks;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod pictures;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod searches;
#[cfg(test)]
mod support;
#[cfg(test)]
mod taken;
#[cfg(test)]
mod thoughts;
