//! Settings of features: the rules that every section of a configuration file follows.
//!
//! A feature's settings are a type in the feature's crate. [`check()`] compares a file with the JSON Schema of such types and
//! reports members by their place. A [`Source`] decides which values of a workspace's file count. [`edit`] changes single
//! members of a file. `bobbin-config` joins the sections; this crate knows none of them.
//!
//! Five words of the schemas are ours:
//!
//! - `x-restrains`: an unknown member in this section stops the start, since what it was to forbid would be allowed.
//! - `x-unread`: members that are there for other programs.
//! - `x-also`: further spellings of members or words, which other programs write.
//! - `x-lenient`: each entry stands for itself. A broken one is reported and left out.
//! - `x-secret`: the value is a secret, or can have one in it.

mod check;
mod declared;
pub mod edit;
mod entries;
mod fingerprint;
mod folder;
mod source;

pub use check::{Checked, check, kind, nearest, range, schema, section, without_null, words};
pub use declared::Declared;
pub use entries::{Entries, check_name, check_texts};
pub use fingerprint::{file_digest, of_files, of_files_in, of_setting};
pub use folder::{MAX_BYTES, PluginFolder, folder_digest, folder_files};
pub use source::Source;

/// Path of a configuration file in a home or a workspace.
pub const FILE: &str = ".craft/config.json";
/// Largest configuration file, in bytes.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// Returns a text unchanged if it is printable without blanks, otherwise quoted with escapes.
pub fn plain(text: &str) -> String {
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic()) {
        text.to_owned()
    } else {
        format!("{text:?}")
    }
}

/// Returns a command line for users: its words in quotes, then the variables that it gets.
pub fn shown_command<'a>(
    words: impl IntoIterator<Item = &'a String>,
    variables: impl IntoIterator<Item = String>,
) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("{word:?}")).collect();
    let variables: Vec<String> = variables.into_iter().collect();
    let with = if variables.is_empty() { "" } else { " with " };
    format!("{}{with}{}", words.join(" "), variables.join(", "))
}

/// Returns an amount of money in millionths, rounded up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "schemas bound amounts to positive ones under a billion"
)]
pub fn micros(amount: f64) -> u64 {
    (amount * 1_000_000.0).ceil() as u64
}
