//! The groups over a real core and a real database, with an engine that follows its prompt and a clock that tests advance.

#[cfg(test)]
mod automation;
#[cfg(test)]
mod automations_today;
#[cfg(test)]
mod coverage;
#[cfg(test)]
mod cron;
#[cfg(test)]
mod rights;
#[cfg(test)]
mod support;
#[cfg(test)]
mod time;
