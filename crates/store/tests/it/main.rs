//! The store on a real file.

#[cfg(test)]
mod story;
