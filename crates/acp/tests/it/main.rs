//! Scripted sessions with a server in memory.

#[cfg(test)]
mod cancel;
#[cfg(test)]
mod choices;
#[cfg(test)]
mod files;
#[cfg(test)]
mod forms;
#[cfg(test)]
mod greeting;
#[cfg(test)]
mod history;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod many;
#[cfg(test)]
mod permissions;
#[cfg(test)]
mod prompts;
#[cfg(test)]
mod router;
#[cfg(test)]
mod support;
