//! Scripted sessions with a server in memory. The numbers in names of tests are those of no page: the names say what is
//! shown.

mod cancel;
mod choices;
mod files;
mod forms;
mod greeting;
mod history;
mod lists;
mod many;
mod permissions;
mod prompts;
mod router;
mod support;
