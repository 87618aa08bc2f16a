//! Finds keys: in a variable of the environment, or in a file that only its owner can read. A project's file has
//! none. A missing key is an error only when a provider needs it; the error says why it is missing.

use std::fs::Metadata;
use std::io::Read;
use std::path::Path;

use bobbin_models::settings::{Key, KeyPlace, expanded};

/// Longest key file; keys of today have less than 300 bytes.
const MAX_KEY_BYTES: u64 = 16 << 10;

/// Permission bits of the group and of others.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

/// The result of the search for a key.
pub(super) struct Found {
    pub(super) key: Option<Key>,
    /// The source of the key, or advice to get one.
    pub(super) source: String,
}

/// Returns the key, or advice to get one.
pub(super) fn find(place: &KeyPlace, home: Option<&Path>) -> Found {
    let missing = |source: String| Found { key: None, source };
    match place {
        KeyPlace::Nowhere => {
            missing("set ApiKeyEnv or ApiKeyFile of this provider in ~/.craft/config.json".to_owned())
        }
        KeyPlace::Withheld => missing(
            "keys are not sent where a project's file says; set this provider up in ~/.craft/config.json"
                .to_owned(),
        ),
        KeyPlace::Variable(name) => match variable(name).map(|text| Key::new(&text)) {
            Some(key) if !key.is_empty() => Found {
                key: Some(key),
                source: format!("the variable {name}"),
            },
            _ => missing(format!(
                "set the variable {name}, or ApiKeyFile of this provider in ~/.craft/config.json"
            )),
        },
        KeyPlace::VariableOr(name, key) => match variable(name).map(|text| Key::new(&text)) {
            Some(key) => Found {
                key: Some(key),
                source: format!("the variable {name}"),
            },
            None => Found {
                key: Some(key.clone()),
                source: format!("the editor's options, as the variable {name} is not set"),
            },
        },
        KeyPlace::Unsupported(form) => missing(format!(
            "the editor's options have it as {form}, which is not supported; use ${{env:NAME}}, ${{env:NAME:KEY}} or \
             ${{file:PATH}}"
        )),
        KeyPlace::File(path) => match read_secret(&expanded(path, home)) {
            Ok(text) => Found {
                key: Some(Key::new(&text)),
                source: format!("the file {}", path.display()),
            },
            Err(why) => missing(format!("the file {} {why}", path.display())),
        },
        KeyPlace::Given(key) => Found {
            key: Some(key.clone()),
            source: "the editor's options".to_owned(),
        },
        KeyPlace::Inline(key, path) => match std::fs::metadata(path).ok().filter(is_private) {
            Some(_) => Found {
                key: Some(key.clone()),
                source: format!("ApiKey in {}", path.display()),
            },
            None => missing(format!(
                "{0} has one but can be read by others; run: chmod 600 {0}",
                path.display()
            )),
        },
    }
}

/// Reads a secret from a file that only its owner can read, without white space around it.
///
/// # Errors
/// Why it cannot be used: the end of a sentence about the file.
pub(crate) fn read_secret(path: &Path) -> Result<String, String> {
    let cannot = |error: std::io::Error| format!("cannot be read ({error})");
    let file = bobbin_files::open_regular(path).map_err(cannot)?;
    if !is_private(&file.metadata().map_err(cannot)?) {
        return Err(format!(
            "can be read by others; run: chmod 600 {}",
            path.display()
        ));
    }
    let mut text = String::new();
    file.take(MAX_KEY_BYTES)
        .read_to_string(&mut text)
        .map_err(cannot)?;
    match text.trim() {
        "" => Err("is empty".to_owned()),
        secret => Ok(secret.to_owned()),
    }
}

#[cfg(unix)]
fn is_private(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & OTHERS == 0
}

/// Other systems have no such bits; their home directories are private.
#[cfg(not(unix))]
fn is_private(_: &Metadata) -> bool {
    true
}

/// Returns a variable of the environment; `None` if it is blank.
#[expect(
    clippy::disallowed_methods,
    reason = "the binary is where the environment is read"
)]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    fn file(directory: &Path, text: &str, mode: u32) -> PathBuf {
        let path = directory.join("key");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn a_file_gives_its_key_only_if_nobody_else_can_read_it() {
        let directory = tempfile::tempdir().unwrap();
        for (mode, text, given) in [
            (0o600, "k\n", true),
            (0o400, "k", true),
            (0o640, "k", false),
            (0o604, "k", false),
            (0o600, " \n", false),
        ] {
            file(directory.path(), text, mode);
            let found = find(&KeyPlace::File("~/key".into()), Some(directory.path()));
            assert_eq!(found.key.is_some(), given, "{mode:o} {}", found.source);
            std::fs::remove_file(directory.path().join("key")).unwrap();
        }
        let found = find(&KeyPlace::File("~/key".into()), Some(directory.path()));
        assert!(
            found.key.is_none() && found.source.contains("cannot be read"),
            "{}",
            found.source
        );
    }

    #[test]
    fn a_key_in_a_configuration_others_can_read_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(directory.path(), "{}", 0o644);
        let found = find(&KeyPlace::Inline(Key::new("k"), path.clone()), None);
        assert!(
            found.key.is_none() && found.source.contains("chmod 600"),
            "{}",
            found.source
        );
        file(directory.path(), "{}", 0o600);
        assert!(find(&KeyPlace::Inline(Key::new("k"), path), None).key.is_some());
    }

    #[test]
    fn a_key_beside_a_variable_is_used_where_the_variable_is_not_set() {
        for (name, given) in [
            ("BOBBIN_NO_SUCH_VARIABLE", "the editor's options"),
            ("PATH", "the variable PATH"),
        ] {
            let found = find(&KeyPlace::VariableOr(name.into(), Key::new("k")), None);
            assert!(
                found.key.is_some() && found.source.starts_with(given),
                "{}",
                found.source
            );
        }
    }

    #[test]
    fn what_to_do_without_a_key_depends_on_where_it_was_looked_for() {
        for (place, words) in [
            (KeyPlace::Nowhere, "set ApiKeyEnv or ApiKeyFile"),
            (KeyPlace::Withheld, "a project's file"),
            (
                KeyPlace::Variable("BOBBIN_NO_SUCH_VARIABLE".into()),
                "set the variable BOBBIN_NO_SUCH_VARIABLE",
            ),
            (
                KeyPlace::Unsupported("${cmd:…}".into()),
                "as ${cmd:…}, which is not supported",
            ),
        ] {
            let found = find(&place, None);
            assert!(
                found.key.is_none() && found.source.contains(words),
                "{}",
                found.source
            );
        }
    }
}
