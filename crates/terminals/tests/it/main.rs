//! Terminals over real processes and a real directory; minutes pass on a clock that is paused once the command runs.

#[cfg(test)]
mod background;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod support;
