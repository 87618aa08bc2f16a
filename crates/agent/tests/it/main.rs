//! The engine with a real core and a real store.

#[cfg(test)]
mod checks;
#[cfg(test)]
mod compaction;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod denials;
#[cfg(test)]
mod dynamic;
#[cfg(test)]
mod hooks;
#[cfg(test)]
mod instructions;
#[cfg(test)]
mod late_looks;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod long_threads;
#[cfg(test)]
mod restart;
#[cfg(test)]
mod revert;
#[cfg(test)]
mod seen;
#[cfg(test)]
mod sub_agents;
#[cfg(test)]
mod sub_agents_above;
#[cfg(test)]
mod sub_agents_again;
#[cfg(test)]
mod sub_agents_given;
#[cfg(test)]
mod sub_agents_limits;
#[cfg(test)]
mod support;
#[cfg(test)]
mod titles;
#[cfg(test)]
mod together;
#[cfg(test)]
mod tool_search;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod windows;
