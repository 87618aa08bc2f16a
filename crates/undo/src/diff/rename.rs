//! Detects renames among removed and new files. Pure.
//!
//! Files with the same content are paired first, then files with at least half of their lines in common, the most
//! similar first. Bounded by [`MAX_PAIRS`] comparisons; beyond them only the same content counts.

use std::collections::HashMap;

/// Most pairs compared line by line.
const MAX_PAIRS: usize = 2_500;
/// Percentage of lines that must be the same.
const ALIKE: u32 = 50;

/// A pair, by the files' places in their lists.
pub(super) struct Pair {
    pub(super) gone: usize,
    pub(super) came: usize,
    /// Percentage of lines that are the same.
    pub(super) alike: u32,
}

/// Pairs removed files with new ones.
pub(super) fn pairs(gone: &[&[u8]], came: &[&[u8]]) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    let is_free =
        |pairs: &[Pair], at: usize, new: usize| pairs.iter().all(|pair| pair.gone != at && pair.came != new);
    let mut same: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (new, content) in came.iter().enumerate().rev() {
        same.entry(content).or_default().push(new);
    }
    for (at, content) in gone.iter().enumerate().filter(|(_, content)| !content.is_empty()) {
        if let Some(new) = same.get_mut(content).and_then(Vec::pop) {
            pairs.push(Pair {
                gone: at,
                came: new,
                alike: 100,
            });
        }
    }
    if gone.len().saturating_mul(came.len()) > MAX_PAIRS {
        return pairs;
    }
    let mut likely = Vec::new();
    for (at, before) in gone.iter().enumerate() {
        for (new, after) in came.iter().enumerate() {
            if is_free(&pairs, at, new) {
                let alike = alike(before, after);
                likely.extend((alike >= ALIKE).then_some(Pair {
                    gone: at,
                    came: new,
                    alike,
                }));
            }
        }
    }
    likely.sort_by_key(|pair| std::cmp::Reverse(pair.alike));
    for pair in likely {
        if is_free(&pairs, pair.gone, pair.came) {
            pairs.push(pair);
        }
    }
    pairs
}

/// Returns the percentage of bytes of the larger file that are in common lines.
fn alike(before: &[u8], after: &[u8]) -> u32 {
    let larger = before.len().max(after.len());
    if larger == 0 || before.len().min(after.len()) * 2 < larger {
        return 0;
    }
    let mut lines: HashMap<&[u8], usize> = HashMap::new();
    for line in before.split_inclusive(|&byte| byte == b'\n') {
        *lines.entry(line).or_default() += 1;
    }
    let mut shared = 0;
    for line in after.split_inclusive(|&byte| byte == b'\n') {
        if let Some(left) = lines.get_mut(line).filter(|left| **left > 0) {
            *left -= 1;
            shared += line.len();
        }
    }
    // 100 is reserved for equal contents.
    u32::try_from(shared * 100 / larger).unwrap_or(100).min(99)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_content_first_then_the_most_alike_and_nothing_twice() {
        let gone: [&[u8]; 4] = [b"a\nb\nc\nd\n", b"same\n", b"", b"else\n"];
        let came: [&[u8]; 4] = [b"a\nb\nc\nx\n", b"a\nb\ny\nz\n", b"same\n", b""];
        let pairs: Vec<_> = pairs(&gone, &came)
            .into_iter()
            .map(|pair| (pair.gone, pair.came, pair.alike))
            .collect();
        assert_eq!(pairs, [(1, 2, 100), (0, 0, 75)]);
    }
}
