//! Attacks on the release of the whole: hostile folders, commands, models, pages and other users. None may succeed.
//!
//! Each test says what an attacker does and looks for what it would have gained. Started as root, the server runs as an
//! ordinary user; with `CI` in the environment a machine without bubblewrap or `setpriv` is a failure, elsewhere a note.

#[cfg(test)]
mod access;
#[cfg(test)]
mod browser;
#[cfg(test)]
mod confined;
#[cfg(test)]
mod copies;
#[cfg(test)]
mod disguises;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod files;
#[cfg(test)]
mod folders;
#[cfg(test)]
mod lab;
#[cfg(test)]
mod links;
#[cfg(test)]
mod load;
#[cfg(test)]
mod ordinary;
#[cfg(test)]
mod page;
#[cfg(test)]
mod repositories;
#[cfg(test)]
mod scopes;
#[cfg(test)]
mod started;
#[cfg(test)]
mod state;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod trust;
