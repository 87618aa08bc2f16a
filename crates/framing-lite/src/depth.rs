//! How deep a JSON text is nested, found without parsing it.
//!
//! Raw capture of JSON enforces no depth limit, and a recursive parser on hostile input overflows its
//! stack. This scan is linear, keeps a counter and knows strings.

/// Deepest nesting accepted: under the 127 levels that typed decoding takes, so that a message which
/// passes here cannot fail on depth later.
pub const MAX_DEPTH: usize = 120;

/// Whether a text is nested deeper than `limit`.
pub fn exceeds(text: &[u8], limit: usize) -> bool {
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    for &byte in text {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_strings_only() {
        for (text, depth) in [
            ("1", 0),
            ("[]", 1),
            (r#"{"a":[1,{"b":2}]}"#, 3),
            (r#"["[[[[", "\"[[["]"#, 1),
            ("]]]][", 1),
        ] {
            assert!(!exceeds(text.as_bytes(), depth), "{text}");
            assert!(depth == 0 || exceeds(text.as_bytes(), depth - 1), "{text}");
        }
        assert!(!exceeds("[".repeat(120).as_bytes(), MAX_DEPTH));
        assert!(exceeds("[".repeat(10_000_000).as_bytes(), MAX_DEPTH));
    }
}
