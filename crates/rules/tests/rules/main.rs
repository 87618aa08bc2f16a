//! Whole lines against whole rule sets.

#[cfg(test)]
mod allowed;
#[cfg(test)]
mod bypasses;
#[cfg(test)]
mod directory_contents;
#[cfg(test)]
mod disguises;
#[cfg(test)]
mod harmless;
mod losses;
#[cfg(test)]
mod paths;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod reported;
#[cfg(test)]
mod support;
