//! Sections with entries by name: MCP servers, channels, profiles of subagents.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// Longest name of an entry.
const MAX_NAME: usize = 64;
/// Longest text of an entry.
const MAX_TEXT: usize = 32 << 10;
/// Most arguments and variables of an entry.
const MAX_PARTS: usize = 256;

/// A section of entries by name, of which a broken one is reported and left out.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("x-lenient" = true))]
pub struct Entries<E>(BTreeMap<String, E>);

impl<E> Default for Entries<E> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<E> Entries<E> {
    /// Returns the entries that `read` accepts. It reports each broken entry, a `what`, in `warnings`.
    pub fn read<T>(
        self,
        what: &str,
        warnings: &mut Vec<String>,
        read: impl Fn(&str, E) -> Result<T, String>,
    ) -> Vec<T> {
        let mut found = BTreeMap::new();
        for (name, entry) in self.0 {
            match read(&name, entry) {
                // Of two names that differ in case only, the later counts, as with other settings.
                Ok(entry) => drop(found.insert(name.to_lowercase(), entry)),
                Err(why) => {
                    let shown: String = name.chars().take(MAX_NAME).collect();
                    warnings.push(format!("the {what} {shown} is not used: {why}"));
                }
            }
        }
        found.into_values().collect()
    }
}

/// Checks a name.
///
/// # Errors
/// The reason, as the end of a sentence for the user.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.trim().is_empty() || name.trim() != name {
        return Err("its name must not be blank or start or end with blanks".to_owned());
    }
    if name.len() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(format!(
            "its name must be at most {MAX_NAME} bytes without control characters"
        ));
    }
    Ok(())
}

/// Checks the sizes of an entry: the number of its arguments and variables, `parts`, and all its texts.
///
/// # Errors
/// The reason, as the end of a sentence for the user.
pub fn check_texts<'a>(parts: usize, texts: impl IntoIterator<Item = &'a String>) -> Result<(), String> {
    let mut are_small = parts <= MAX_PARTS;
    let mut are_whole = true;
    for text in texts {
        are_small &= text.len() <= MAX_TEXT;
        are_whole &= !text.contains('\0');
    }
    match (are_small, are_whole) {
        (false, _) => Err("its entry is too large".to_owned()),
        (_, false) => Err("a text of it has a zero byte".to_owned()),
        (true, true) => Ok(()),
    }
}
