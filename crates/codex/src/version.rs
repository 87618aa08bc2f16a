//! Versions of the client.

/// The newest version of the client that was tried with this server.
const TRIED: (u32, u32, u32) = (0, 171, 0);

/// Returns what a user should know of an installed client: `said` is what `codex --version` printed. `None` if it is not
/// newer than those that were tried.
pub fn untried(said: &str) -> Option<String> {
    let version = said.split_whitespace().last()?;
    // A preview of a version counts as that version.
    let mut parts = version.split(['.', '-']).map(str::parse);
    let mut part = || parts.next()?.ok();
    let found: (u32, u32, u32) = (part()?, part()?, part()?);
    let (major, minor, patch) = TRIED;
    (found > TRIED).then(|| {
        format!("codex {version} is newer than {major}.{minor}.{patch}, the newest that was tried with `bobbin codex`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_newer_versions_are_named() {
        for said in [
            "codex-cli 0.171.0\n",
            "codex-cli 0.169.4",
            "",
            "what",
            "codex-cli x.y.z",
        ] {
            assert_eq!(untried(said), None, "{said}");
        }
        for (said, version) in [
            ("codex-cli 0.171.1", "0.171.1"),
            ("codex-cli 0.200.0-alpha.3\n", "0.200.0-alpha.3"),
            ("codex-cli 1.0.0", "1.0.0"),
        ] {
            let text = untried(said).unwrap();
            assert!(text.starts_with(&format!("codex {version} is newer")), "{text}");
        }
    }
}
