//! Which of two versions is older.

/// The version of this program.
pub(crate) const OURS: &str = env!("CARGO_PKG_VERSION");

/// Whether a server's version is older than this program's. A version that cannot be read is not.
pub(crate) fn is_older(theirs: &str) -> bool {
    matches!((numbers(theirs), numbers(OURS)), (Some(theirs), Some(ours)) if theirs < ours)
}

/// Returns the three numbers of `1.2.3`, without what follows a `-` or `+`.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let plain = version.split(['-', '+']).next()?;
    let mut parts = plain.split('.').map(str::parse);
    let numbers = [parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?];
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_smaller_number_is_older() {
        assert!(is_older("0.0.9"));
        for version in [OURS, "99.0.0", "tea", "", "0.0", "0.0.1.2"] {
            assert!(!is_older(version), "{version}");
        }
        assert_eq!(numbers("1.20.3-rc.1+tea"), Some([1, 20, 3]));
    }
}
