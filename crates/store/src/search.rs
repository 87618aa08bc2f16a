//! What a search asks for, and where it was found.

use bobbin_model::{ItemId, ThreadId, TurnId, UnixMillis};

use crate::ListFilter;

/// Most words of a search that count: each is looked up in the whole index.
const MOST: usize = 8;
/// Shortest word that the index knows, in characters.
const SHORTEST: usize = 3;

/// Words that must all be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchWords(Vec<String>);

impl SearchWords {
    /// Takes a text apart at its blanks; what stands between double quotes stays together. Words of fewer than
    /// three characters are left out, as the index does not know them, and so are those after the eighth. `None` when nothing is left.
    pub fn parse(text: &str) -> Option<Self> {
        // No index has words with a zero.
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

/// What is looked for, and where.
#[derive(Debug, Clone)]
pub struct SearchFilter {
    /// The words.
    pub words: SearchWords,
    /// The Threads that the client may see; its order and limit do not count.
    pub visible: ListFilter,
    /// Only in this Thread.
    pub thread: Option<ThreadId>,
    /// Only in Items of these types, or in titles (`title`); empty for all.
    pub kinds: Vec<String>,
    /// Only what follows an earlier page.
    pub after: Option<i64>,
    /// At most so many.
    pub limit: u32,
}

/// A page of what was found, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchPage {
    /// What was found.
    pub hits: Vec<SearchHit>,
    /// Where the next page begins, when there may be one.
    pub next: Option<i64>,
    /// Whether everything that is recorded was looked at: what is very new is indexed a moment later.
    pub complete: bool,
}

/// One place where all words were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// The Thread.
    pub thread: ThreadId,
    /// Its title.
    pub title: Option<String>,
    /// The Item; none when it is the title.
    pub item: Option<(TurnId, ItemId)>,
    /// Type of the Item, or `title`.
    pub kind: String,
    /// When it was said.
    pub at: UnixMillis,
    /// Its text, as far as it is indexed.
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
