//! The store on a real PostgreSQL, which each process of the tests starts for itself.

#[cfg(test)]
mod database;
#[cfg(test)]
mod lease;
#[cfg(test)]
mod proxy;
#[cfg(test)]
mod story;
#[cfg(test)]
mod support;
#[cfg(test)]
mod trouble;
