//! The store on a real file.

#[cfg(test)]
mod copying;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod importing;
#[cfg(test)]
mod overview;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod search;
#[cfg(test)]
mod story;
#[cfg(test)]
mod support;
#[cfg(test)]
mod trouble;
#[cfg(test)]
mod writing;
