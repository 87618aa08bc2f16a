//! `thread/search`: finds Threads by what was said in them, or (an extension) every place where words occur.

use crate::client::{Client, fail, refuse};
use crate::convert;
use crate::groups::thread::read::{
    MAX_PAGE, NO_CURSOR, as_stored, check_origins, list_cursor, place_in_list, visible_to,
};
use bobbin_core::{ListFilter, SearchFilter, SearchHit, SearchWords, ThreadOrder, ThreadSearch};
use bobbin_model::{ThreadId, TurnId};
use bobbin_native_wire::history::types::{
    FoundThread, ThreadSearchHit, ThreadSearchParams, ThreadSearchResult, ThreadSearchThreadsResult,
    ThreadSortKey,
};
use bobbin_native_wire::thread::history_types::SortDirection;
use bobbin_native_wire::{RpcError, Timestamp};
use bobbin_peer::Responder;

/// Default number of hits in an answer.
const PAGE: u32 = 20;
/// Default number of Threads in an answer.
const THREADS: u32 = 50;
/// Longest query, in bytes: each word is looked up.
const MAX_QUERY: usize = 1000;

/// The size of a snippet.
struct Size {
    /// Characters before the hit.
    before: usize,
    /// Characters from the hit on.
    after: usize,
    /// The marks of a cut at the start and at the end.
    cut: [&'static str; 2],
}

const PLACE: Size = Size {
    before: 40,
    after: 120,
    cut: ["…", "…"],
};
/// As clients of today expect it (07 §6.6).
const THREAD: Size = Size {
    before: 48,
    after: 96,
    cut: ["... ", " ..."],
};

pub(super) fn search(client: &Client, mut params: ThreadSearchParams, responder: Responder) {
    if let Some(text) = params.search_term.take() {
        return match find(client, &text, params) {
            Ok(search) => threads(client, search, responder),
            Err(detail) => refuse(responder, RpcError::invalid_params(detail)),
        };
    }
    let filter = match filter(client, params) {
        Ok(filter) => filter,
        Err(detail) => return refuse(responder, RpcError::invalid_params(detail)),
    };
    let threads = client.threads().clone();
    // The store returns whole Items, of which one line each is sent.
    client.answer_large(responder, async move |responder| {
        let words = filter.words.clone();
        let filter = SearchFilter {
            visible: as_stored(&threads, filter.visible).await,
            ..filter
        };
        match threads.search(filter).await {
            Ok(page) => responder.ok(ThreadSearchResult {
                data: page.hits.into_iter().map(|hit| found(hit, &words)).collect(),
                next_cursor: page.next.map(|next| next.to_string()),
                complete: page.complete,
            }),
            Err(error) => fail(responder, &error),
        }
    });
}

/// Reads the params of a search for Threads.
fn find(client: &Client, text: &str, params: ThreadSearchParams) -> Result<ThreadSearch, String> {
    if params.query.is_some() {
        return Err("'searchTerm' and 'query' exclude each other.".to_owned());
    }
    let text = text.trim().replace('\0', " ");
    if text.is_empty() || text.len() > MAX_QUERY {
        return Err(format!(
            "'searchTerm' must have 1 to {MAX_QUERY} bytes that are not blank."
        ));
    }
    let cursor = params.cursor.as_deref().map(place_in_list);
    let identity = params.identity.unwrap_or_default();
    Ok(ThreadSearch {
        text,
        visible: ListFilter {
            every_user: true,
            origin_channel: client.adapter_of(),
            ..visible_to(client, identity)
        },
        archived: params.archived == Some(true),
        order: match params.sort_key.unwrap_or_default() {
            ThreadSortKey::CreatedAt => ThreadOrder::Created,
            ThreadSortKey::LastActiveAt => ThreadOrder::Active,
        },
        ascending: params.sort_direction == Some(SortDirection::Ascending),
        after: cursor.map(|place| place.ok_or(NO_CURSOR)).transpose()?,
        limit: limit(params.limit, THREADS)?,
    })
}

fn threads(client: &Client, search: ThreadSearch, responder: Responder) {
    let threads = client.threads().clone();
    client.answer_large(responder, async move |responder| {
        let (limit, order, text) = (search.limit as usize, search.order, search.text.clone());
        let search = ThreadSearch {
            visible: as_stored(&threads, search.visible).await,
            // One more shows whether there is another page.
            limit: search.limit + 1,
            ..search
        };
        let mut found = match threads.search_threads(search).await {
            Ok(found) => found,
            Err(error) => return fail(responder, &error),
        };
        let more = found.len() > limit;
        found.truncate(limit);
        let last = found.last().filter(|_| more).map(|last| &last.thread.header);
        let next_cursor = last.map(|last| {
            let at = match order {
                ThreadOrder::Created => last.created_at,
                ThreadOrder::Active => last.last_active_at,
            };
            list_cursor(at, &last.id)
        });
        let shown = |found: bobbin_core::FoundThread| FoundThread {
            snippet: snippet(&found.text, &text, &THREAD),
            thread: convert::summary(found.thread),
        };
        responder.ok(ThreadSearchThreadsResult {
            data: found.into_iter().map(shown).collect(),
            next_cursor,
        });
    });
}

fn limit(asked: Option<u32>, usual: u32) -> Result<u32, String> {
    let limit = asked.unwrap_or(usual);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(format!("'limit' must be 1 to {MAX_PAGE}."));
    }
    Ok(limit)
}

fn filter(client: &Client, params: ThreadSearchParams) -> Result<SearchFilter, String> {
    let (Some(query), Some(identity)) = (params.query, params.identity) else {
        return Err("'searchTerm' is needed, or 'query' and 'identity'.".to_owned());
    };
    if identity.channel_name.trim().is_empty() {
        return Err("'identity.channelName' must not be blank.".to_owned());
    }
    let limit = limit(params.limit, PAGE)?;
    check_origins(params.cross_channel_origins.as_deref())?;
    if query.len() > MAX_QUERY {
        return Err(format!("'query' is longer than {MAX_QUERY} bytes."));
    }
    let words = SearchWords::parse(&query).ok_or("'query' must have a word of at least three characters.")?;
    let after = params.cursor.map(|cursor| cursor.parse::<i64>());
    Ok(SearchFilter {
        words,
        visible: ListFilter {
            include_archived: params.include_archived,
            cross_channel_origins: params.cross_channel_origins.unwrap_or_default(),
            ..visible_to(client, identity)
        },
        thread: params.thread_id.map(ThreadId::new),
        kinds: params.item_types.unwrap_or_default(),
        after: after.transpose().map_err(|_| NO_CURSOR)?,
        limit,
    })
}

fn found(hit: SearchHit, words: &SearchWords) -> ThreadSearchHit {
    let first = words.words().first().map_or("", String::as_str);
    let snippet = snippet(&hit.text, first, &PLACE);
    let (turn, item) = hit.item.unzip();
    ThreadSearchHit {
        thread_id: hit.thread.to_string(),
        display_name: hit.title,
        turn_id: turn.map(|turn| turn.to_string()),
        item_id: item.map(|item| item.to_string()),
        item_type: hit.kind,
        created_at: Timestamp(hit.at.0),
        snippet,
        turn_cursor: turn.map(|turn| TurnId(turn.0.saturating_add(1)).to_string()),
    }
}

/// Returns one line of a text around a word.
fn snippet(text: &str, word: &str, size: &Size) -> String {
    let chars: Vec<char> = text.chars().collect();
    let word: Vec<char> = word.chars().map(folded).collect();
    let place = chars
        .windows(word.len().max(1))
        .position(|window| window.iter().copied().map(folded).eq(word.iter().copied()))
        .unwrap_or(0);
    let (from, to) = (
        place.saturating_sub(size.before),
        chars.len().min(place + size.after),
    );
    let part: String = chars[from..to].iter().collect();
    let line = part.split_whitespace().collect::<Vec<_>>().join(" ");
    let [start, end] = size.cut;
    let start = if from > 0 { start } else { "" };
    let end = if to < chars.len() { end } else { "" };
    format!("{start}{line}{end}")
}

/// Returns a letter in lower case, if that is one letter.
fn folded(letter: char) -> char {
    let mut lower = letter.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => one,
        _ => letter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_is_one_line_around_the_word() {
        let table = [
            ("Boil the KETTLE\n  first.", "kettle", "Boil the KETTLE first."),
            ("nothing of it", "kettle", "nothing of it"),
            ("", "kettle", ""),
            ("ÄRGER im Büro", "ärger", "ÄRGER im Büro"),
        ];
        for (text, word, expected) in table {
            assert_eq!(snippet(text, word, &PLACE), expected);
        }
        let long = format!("{} needle {}", "a ".repeat(100), "b ".repeat(100));
        let cut = snippet(&long, "needle", &PLACE);
        assert!(
            cut.starts_with('…') && cut.contains(" needle b ") && cut.ends_with('…'),
            "{cut}"
        );
        assert!(cut.chars().count() <= PLACE.before + PLACE.after + 2);
        let cut = snippet(&long, "needle", &THREAD);
        assert!(cut.starts_with("... a ") && cut.ends_with(" b ..."), "{cut}");
    }
}
