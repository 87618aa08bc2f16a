//! Extension: `thread/search`, finding text in the history of all Threads.

use crate::client::{Client, fail, refuse};
use crate::groups::thread::read::{MAX_PAGE, NO_CURSOR, as_stored, check_origins, visible_to};
use bobbin_core::{ListFilter, SearchFilter, SearchHit, SearchWords};
use bobbin_model::{ThreadId, TurnId};
use bobbin_peer::Responder;

use crate::groups::history::types::{ThreadSearchHit, ThreadSearchParams, ThreadSearchResult};
use crate::wire::{RpcError, Timestamp};

/// Default number of hits in an answer.
const PAGE: u32 = 20;
/// Longest query, in bytes: each word is looked up.
const MAX_QUERY: usize = 1000;
/// Characters of a snippet before the hit, and from the hit on.
const BEFORE: usize = 40;
const AFTER: usize = 120;

pub(super) fn search(client: &Client, params: ThreadSearchParams, responder: Responder) {
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

fn filter(client: &Client, params: ThreadSearchParams) -> Result<SearchFilter, String> {
    if params.identity.channel_name.trim().is_empty() {
        return Err("'identity.channelName' must not be blank.".to_owned());
    }
    let limit = params.limit.unwrap_or(PAGE);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(format!("'limit' must be 1 to {MAX_PAGE}."));
    }
    check_origins(params.cross_channel_origins.as_deref())?;
    if params.query.len() > MAX_QUERY {
        return Err(format!("'query' is longer than {MAX_QUERY} bytes."));
    }
    let words =
        SearchWords::parse(&params.query).ok_or("'query' must have a word of at least three characters.")?;
    let after = params.cursor.map(|cursor| cursor.parse::<i64>());
    Ok(SearchFilter {
        words,
        visible: ListFilter {
            include_archived: params.include_archived,
            cross_channel_origins: params.cross_channel_origins.unwrap_or_default(),
            ..visible_to(client, params.identity)
        },
        thread: params.thread_id.map(ThreadId::new),
        kinds: params.item_types.unwrap_or_default(),
        after: after.transpose().map_err(|_| NO_CURSOR)?,
        limit,
    })
}

fn found(hit: SearchHit, words: &SearchWords) -> ThreadSearchHit {
    let snippet = snippet(&hit.text, words.words().first().map_or("", String::as_str));
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
fn snippet(text: &str, word: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let word: Vec<char> = word.chars().map(folded).collect();
    let place = chars
        .windows(word.len().max(1))
        .position(|window| window.iter().copied().map(folded).eq(word.iter().copied()))
        .unwrap_or(0);
    let (from, to) = (place.saturating_sub(BEFORE), chars.len().min(place + AFTER));
    let part: String = chars[from..to].iter().collect();
    let line = part.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = |cut| if cut { "…" } else { "" };
    format!("{}{line}{}", cut(from > 0), cut(to < chars.len()))
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
            assert_eq!(snippet(text, word), expected);
        }
        let long = format!("{} needle {}", "a ".repeat(100), "b ".repeat(100));
        let cut = snippet(&long, "needle");
        assert!(
            cut.starts_with('…') && cut.contains(" needle b ") && cut.ends_with('…'),
            "{cut}"
        );
        assert!(cut.chars().count() <= BEFORE + AFTER + 2);
    }
}
