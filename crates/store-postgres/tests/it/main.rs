//! The store on a real PostgreSQL, which each process of the tests starts for itself.

#[cfg(test)]
mod story;
#[cfg(test)]
mod support;
