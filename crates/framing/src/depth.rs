//! The nesting check, made before any parser reads the text.
//!
//! Raw JSON capture has no depth limit, and typed decoding refuses 128 levels, so this check uses a lower limit on
//! plain bytes. It does not validate: for malformed text its result does not matter, because the parser refuses the
//! text anyway.

use memchr::memchr2;

/// Default nesting limit; less than the 127 levels that typed decoding accepts (peer spec 4).
pub const DEFAULT_MAX_DEPTH: usize = 120;

/// Returns whether arrays and objects in `json` nest at most `limit` deep.
///
/// One pass, no recursion, brackets inside strings do not count; stops at the first bracket over
/// the limit.
pub fn within_depth(json: &[u8], limit: usize) -> bool {
    // Each level takes at least one byte.
    if json.len() <= limit {
        return true;
    }
    let mut depth = 0_usize;
    let mut rest = json;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        match byte {
            b'"' => rest = after_string(rest),
            b'[' | b'{' => {
                depth += 1;
                if depth > limit {
                    return false;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    true
}

/// Returns the input after the string whose opening quote was just read.
fn after_string(mut rest: &[u8]) -> &[u8] {
    while let Some(at) = memchr2(b'"', b'\\', rest) {
        if rest[at] == b'"' {
            return &rest[at + 1..];
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::within_depth;

    #[test]
    fn depth_is_counted_outside_strings_only() {
        assert!(within_depth(br#"{"a":"[[[[","b":[1]}"#, 2));
        assert!(within_depth(br#"["\"[[[[\\"]"#, 1));
        assert!(!within_depth(b"[[[]]]", 2));
        assert!(within_depth(b"[[],[],[]]", 2));
    }

    #[test]
    fn unterminated_strings_and_stray_closers_are_harmless() {
        assert!(within_depth(br#"["\"#, 1));
        assert!(within_depth(b"]]]][", 1));
        assert!(within_depth(b"", 0));
    }

    #[test]
    fn ten_million_levels_are_refused_at_once() {
        let deep = vec![b'['; 10_000_000];
        assert!(!within_depth(&deep, 120));
    }
}
