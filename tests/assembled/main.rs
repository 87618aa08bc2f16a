//! The rooms put together as the binary puts them together, but within the test's own process, so that time is the
//! test's: what takes how long is said in driven time, whatever the machine has to do besides.

#[cfg(test)]
mod bench;
#[cfg(test)]
mod interrupts;
#[cfg(test)]
mod still;
