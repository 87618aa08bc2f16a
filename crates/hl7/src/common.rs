//! The common beginning and end of two texts, in whole characters.

/// Returns the length of the longest common beginning.
pub(crate) fn prefix(one: &str, other: &str) -> usize {
    let pairs = one.bytes().zip(other.bytes());
    let mut len = pairs.take_while(|(a, b)| a == b).count();
    while !one.is_char_boundary(len) || !other.is_char_boundary(len) {
        len -= 1;
    }
    len
}

/// Returns the length of the longest common end.
pub(crate) fn suffix(one: &str, other: &str) -> usize {
    let pairs = one.bytes().rev().zip(other.bytes().rev());
    let mut len = pairs.take_while(|(a, b)| a == b).count();
    while !one.is_char_boundary(one.len() - len) || !other.is_char_boundary(other.len() - len) {
        len -= 1;
    }
    len
}
