//! Searching: what is asked for, and where it was found.
//!
//! Candidates come from the index newest first and are then narrowed to what the client may see, so at most
//! [`CANDIDATES`] are looked at for one answer; the rest is for the next page.

use bobbin_model::{ItemId, ThreadId, TurnId, UnixMillis};
use sqlx::SqlitePool;

use crate::read::push_visible;
use crate::{ListFilter, StoreError};

/// Entries of the index that one answer looks at.
const CANDIDATES: u32 = 1000;
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
        // The index's language ends at a zero.
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

    /// Returns them in the index's own language: strings, all of which must be there.
    fn expression(&self) -> String {
        let quoted = self.0.iter().map(|word| format!("\"{word}\""));
        quoted.collect::<Vec<_>>().join(" AND ")
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

#[derive(sqlx::FromRow)]
struct HitRow {
    entry: i64,
    thread_id: String,
    display_name: Option<String>,
    turn_no: Option<u32>,
    item_no: Option<u32>,
    kind: String,
    at: i64,
    text: String,
}

pub(crate) async fn search(pool: &SqlitePool, filter: SearchFilter) -> Result<SearchPage, StoreError> {
    let mut connection = pool.begin().await?;
    let expression = filter.words.expression();
    let before = filter.after.unwrap_or(i64::MAX);
    // Where the candidates of this page end, if there are more.
    let end: Option<(i64,)> = sqlx::query_as(
        "SELECT rowid FROM search_text WHERE search_text MATCH ? AND rowid < ? \
         ORDER BY rowid DESC LIMIT 1 OFFSET ?",
    )
    .bind(expression.clone())
    .bind(before)
    .bind(CANDIDATES - 1)
    .fetch_optional(&mut *connection)
    .await?;
    let mut query = sqlx::QueryBuilder::<sqlx::Sqlite>::new(
        "SELECT entry, thread_id, display_name, turn_no, item_no, kind, at, text FROM \
         (SELECT rowid AS entry FROM search_text WHERE search_text MATCH ",
    );
    query
        .push_bind(expression)
        .push(" AND rowid < ")
        .push_bind(before)
        .push(" ORDER BY rowid DESC LIMIT ")
        .push_bind(CANDIDATES)
        .push(
            ") CROSS JOIN search_item item USING (entry) CROSS JOIN thread USING (thread_id) \
             WHERE NOT EXISTS (SELECT 1 FROM turn WHERE turn.thread_id = item.thread_id \
             AND turn.turn_no = item.turn_no AND rolled_back_at IS NOT NULL) \
             AND deleted_at IS NULL AND workspace_path = ",
        );
    let mut visible = filter.visible;
    // Who names a Thread means it, whosever it is.
    visible.include_sub_agents |= filter.thread.is_some();
    push_visible(&mut query, visible);
    if let Some(thread) = filter.thread {
        query
            .push(" AND thread_id = ")
            .push_bind(thread.as_str().to_owned());
    }
    if !filter.kinds.is_empty() {
        query.push(" AND kind IN (");
        let mut kinds = query.separated(", ");
        for kind in filter.kinds {
            kinds.push_bind(kind);
        }
        query.push(")");
    }
    query.push(" ORDER BY entry DESC LIMIT ").push_bind(filter.limit);
    let rows: Vec<HitRow> = query.build_query_as().fetch_all(&mut *connection).await?;
    let full = rows.len() >= filter.limit as usize;
    let next = if full {
        rows.last().map(|row| row.entry)
    } else {
        end.map(|end| end.0)
    };
    let pending: Option<(i64,)> = sqlx::query_as("SELECT 1 FROM search_pending LIMIT 1")
        .fetch_optional(&mut *connection)
        .await?;
    Ok(SearchPage {
        hits: rows.into_iter().map(hit).collect(),
        next,
        complete: pending.is_none(),
    })
}

fn hit(row: HitRow) -> SearchHit {
    SearchHit {
        thread: ThreadId::new(row.thread_id),
        title: row.display_name,
        item: row
            .turn_no
            .zip(row.item_no)
            .map(|(turn, item)| (TurnId(turn), ItemId(item))),
        kind: row.kind,
        at: UnixMillis(row.at),
        text: row.text,
    }
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
