//! Files that usually have secrets in them, by their names. Pure.

use std::path::Path;

/// Names of files with secrets.
const NAMES: [&str; 7] = [
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".pgpass",
    ".pypirc",
    "credentials",
    "credentials.json",
];
/// Endings of files with keys.
const ENDINGS: [&str; 3] = [".pem", ".p12", ".pfx"];
/// The beginnings of names of private SSH keys.
const KEYS: [&str; 4] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];
/// Endings of `.env` files that are written for others to read.
const EXAMPLES: [&str; 5] = ["example", "sample", "template", "dist", "defaults"];

/// Returns whether a file of this name usually has secrets in it.
pub(crate) fn is_secret(path: &Path) -> bool {
    let name = lower_case_name(path);
    let is_example = || {
        name.rsplit('.')
            .next()
            .is_some_and(|last| EXAMPLES.contains(&last))
    };
    let is_environment = (name == ".env" || name == ".envrc" || name.starts_with(".env.")) && !is_example();
    is_environment || is_key(path) || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Returns whether a file of this name has keys or passwords that programs look for under this name.
pub(crate) fn is_key(path: &Path) -> bool {
    let name = lower_case_name(path);
    let is_public = || name.rsplit('.').next() == Some("pub");
    NAMES.contains(&name.as_str()) || (KEYS.iter().any(|key| name.starts_with(key)) && !is_public())
}

fn lower_case_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in [
            ".env",
            ".ENV",
            ".env.local",
            ".env.production",
            ".envrc",
            "server.pem",
            "id_rsa",
            "id_ed25519_work",
            ".netrc",
            "credentials",
            "credentials.json",
            "cert.p12",
        ] {
            assert!(is_secret(&Path::new("/w/a").join(name)), "{name}");
        }
        for name in [
            ".env.example",
            ".env.sample",
            "env.rs",
            ".environment",
            "id_rsa.pub",
            "id_map.rs",
            "credentials.rs",
            "pem",
            "netrc.md",
        ] {
            assert!(!is_secret(&Path::new("/w/.env").join(name)), "{name}");
        }
    }
}
