//! The groups of features over an in-memory pair, a real core and a real store.

#[cfg(test)]
mod commands_and_skills;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod searching;
#[cfg(test)]
mod suggesting;
#[cfg(test)]
mod support;
#[cfg(test)]
mod terminals;
