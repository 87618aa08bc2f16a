//! The engine from outside. Tests with a number in their name show that line of the behaviour checklist of Hermes
//! extensions.

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod document;
#[cfg(test)]
mod encodings;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod patches;
#[cfg(test)]
mod paths;
#[cfg(test)]
mod places;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod support;
