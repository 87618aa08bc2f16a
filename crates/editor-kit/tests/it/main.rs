//! A third dialect, made of nothing but its own methods.

#[cfg(test)]
mod toy;
