//! The query and the results of a search.

use bobbin_model::{ItemId, ThreadId, TurnId, UnixMillis};

use crate::{ListFilter, ThreadSummary};

/// Most words of a query that count: each is looked up in the whole index.
const MOST: usize = 8;
/// Shortest word in the index, in characters.
const SHORTEST: usize = 3;

/// Words that must all occur.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchWords(Vec<String>);

impl SearchWords {
    /// Splits a text at white space; text in double quotes stays together. Leaves out words of fewer than three
    /// characters, which the index does not have, and all words after the eighth. `None` when no word is left.
    pub fn parse(text: &str) -> Option<Self> {
        // No word in the index contains a zero byte.
        let text = text.replace('\0', " ");
        let pieces = text.split('"').enumerate().flat_map(|(index, piece)| {
            let quoted = index % 2 == 1;
            let whole = quoted.then_some(piece);
            let apart = (!quoted).then(|| piece.split_whitespace());
            whole.into_iter().chain(apart.into_iter().flatten())
        });
        let words = pieces.filter(|word| word.trim().chars().count() >= SHORTEST);
        let mut words: Vec<String> = words.map(str::to_owned).collect();
        words.dedup();
        words.truncate(MOST);
        (!words.is_empty()).then_some(Self(words))
    }

    /// Returns the words.
    pub fn words(&self) -> &[String] {
        &self.0
    }
}

/// A search with its conditions.
#[derive(Debug, Clone)]
pub struct SearchFilter {
    /// The words.
    pub words: SearchWords,
    /// The Threads that the client may see; its order and limit are ignored.
    pub visible: ListFilter,
    /// Only in this Thread, if given.
    pub thread: Option<ThreadId>,
    /// Only in Items of these types, or in titles (`title`); empty for all types.
    pub kinds: Vec<String>,
    /// Only hits after an earlier page.
    pub after: Option<i64>,
    /// Most hits to return.
    pub limit: u32,
}

/// A page of hits, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchPage {
    /// The hits.
    pub hits: Vec<SearchHit>,
    /// Where the next page begins, if there may be one.
    pub next: Option<i64>,
    /// Whether the index is up to date. Very new events are indexed a moment later.
    pub complete: bool,
}

/// A place where all words occur.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// The Thread.
    pub thread: ThreadId,
    /// Its title.
    pub title: Option<String>,
    /// The Item; `None` for the title.
    pub item: Option<(TurnId, ItemId)>,
    /// Type of the Item, or `title`.
    pub kind: String,
    /// When it was recorded.
    pub at: UnixMillis,
    /// Its indexed text.
    pub text: String,
}

/// A search for Threads in which users or their agents said a text.
#[derive(Debug, Clone)]
pub struct ThreadSearch {
    /// The text; case is ignored, of other letters than ASCII only in texts of at least three characters.
    pub text: String,
    /// The Threads that the client may see; its order, page and `include_archived` are ignored.
    pub visible: ListFilter,
    /// Whether to search archived Threads, or all others.
    pub archived: bool,
    /// The order.
    pub order: ThreadOrder,
    /// Whether the oldest are first.
    pub ascending: bool,
    /// Only Threads after this one in the order.
    pub after: Option<(UnixMillis, ThreadId)>,
    /// Most Threads to return.
    pub limit: u32,
}

/// An order of Threads; ties are ordered by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadOrder {
    /// By their start.
    Created,
    /// By their latest activity.
    Active,
}

/// A Thread that a search has found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundThread {
    /// The Thread.
    pub thread: ThreadSummary,
    /// The indexed text of the first message that contains the searched text.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_stands_between_blanks_or_quotes() {
        let table: [(&str, Option<&[&str]>); 9] = [
            ("kettle", Some(&["kettle"])),
            ("boil  the kettle", Some(&["boil", "the", "kettle"])),
            (r#""boil the" kettle"#, Some(&["boil the", "kettle"])),
            (r#"an "open quote"#, Some(&["open quote"])),
            ("to kettle", Some(&["kettle"])),
            ("お茶を飲む", Some(&["お茶を飲む"])),
            ("to be", None),
            (r#" "" "#, None),
            ("ket\0tle\0", Some(&["ket", "tle"])),
        ];
        for (text, words) in table {
            let words = words.map(|words| words.iter().map(ToString::to_string).collect());
            assert_eq!(SearchWords::parse(text).map(|words| words.0), words, "{text}");
        }
    }
}
