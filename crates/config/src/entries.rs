//! Shared code of sections with entries by name: MCP servers, channels, profiles of subagents.

use std::collections::BTreeMap;

/// Longest name of an entry.
pub(crate) const MAX_NAME: usize = 64;
/// Longest text of an entry.
const MAX_TEXT: usize = 32 << 10;
/// Most arguments and variables of an entry.
const MAX_PARTS: usize = 256;

/// Returns the entries of a section that `read` accepts. It reports each broken entry in `warnings`.
pub(crate) fn read<E, T>(
    section: BTreeMap<String, E>,
    what: &str,
    warnings: &mut Vec<String>,
    read: impl Fn(&str, E) -> Result<T, String>,
) -> Vec<T> {
    let mut found = BTreeMap::new();
    for (name, entry) in section {
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

/// Checks a name.
///
/// # Errors
/// The reason, as the end of a sentence for the user.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    if name.trim().is_empty() || name.trim() != name {
        return Err("its name must not be blank or begin or end with blanks".to_owned());
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
pub(crate) fn check_texts<'a>(
    parts: usize,
    mut texts: impl Iterator<Item = &'a String> + Clone,
) -> Result<(), String> {
    if parts > MAX_PARTS || texts.clone().any(|text| text.len() > MAX_TEXT) {
        return Err("its entry is too large".to_owned());
    }
    if texts.any(|text| text.contains('\0')) {
        return Err("a text of it has a zero byte".to_owned());
    }
    Ok(())
}
