//! The engine with a real core and a real store.

#[cfg(test)]
mod compaction;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod denials;
mod instructions;
#[cfg(test)]
mod limits;
mod restart;
#[cfg(test)]
mod revert;
#[cfg(test)]
mod sub_agents;
mod support;
#[cfg(test)]
mod together;
mod turns;
