//! One list of sessions made of the pages of several servers.

use std::cmp::Reverse;

use bobbin_acp_wire::{ListSessionsResult, SessionInfo};
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::Value;

use super::message::{error, result};

/// A list that waits for pages of servers.
#[derive(Debug)]
pub(super) struct Merge {
    missing: usize,
    pages: Vec<ListSessionsResult>,
    /// The first error of a server.
    error: Option<Value>,
}

impl Merge {
    /// Waits for this number of pages.
    pub(super) fn of(missing: usize) -> Self {
        Self {
            missing,
            pages: Vec::new(),
            error: None,
        }
    }

    /// Adds the answer of a server. Returns whether it was the last one.
    pub(super) fn add(&mut self, page: Result<ListSessionsResult, Value>) -> bool {
        match page {
            Ok(page) => self.pages.push(page),
            Err(why) => {
                tracing::info!(%why, "a server lists no sessions");
                self.error.get_or_insert(why);
            }
        }
        self.missing -= 1;
        self.missing == 0
    }

    /// Returns the answer of the list; `id` is JSON. It is an error if no server has listed its sessions.
    pub(super) fn answer(self, id: &str) -> Bytes {
        match self.error.filter(|_| self.pages.is_empty()) {
            Some(why) => error(Some(id), &why),
            None => result(id, &merged(self.pages)),
        }
    }
}

/// Returns the place of a session in a list, as servers order them.
fn place(session: &SessionInfo) -> (Option<Timestamp>, String) {
    let at = session.updated_at.as_ref().and_then(|at| at.parse().ok());
    (at, session.session_id.clone())
}

/// Merges pages with the same cursor. A cursor is a place in the order, so that each server understands that of another
/// one. The page ends with the first one that has a next page: older sessions of other servers come with that.
fn merged(pages: Vec<ListSessionsResult>) -> ListSessionsResult {
    let ends = pages.iter().filter_map(|page| {
        let next = page.next_cursor.clone()?;
        Some((place(page.sessions.last()?), next))
    });
    let end = ends.max();
    let mut sessions: Vec<SessionInfo> = pages.into_iter().flat_map(|page| page.sessions).collect();
    if let Some((last, _)) = &end {
        sessions.retain(|session| place(session) >= *last);
    }
    sessions.sort_by_cached_key(|session| Reverse(place(session)));
    ListSessionsResult {
        sessions,
        next_cursor: end.map(|(_, next)| next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(sessions: &[(&str, &str)], next: Option<&str>) -> ListSessionsResult {
        let sessions = sessions.iter().map(|(id, at)| SessionInfo {
            session_id: (*id).to_owned(),
            cwd: "/srv".to_owned(),
            title: None,
            updated_at: Some(format!("2026-11-27T10:00:{at}Z")),
            additional_directories: None,
            meta: None,
        });
        ListSessionsResult {
            sessions: sessions.collect(),
            next_cursor: next.map(str::to_owned),
        }
    }

    #[test]
    fn pages_are_merged_up_to_the_first_end_of_one_that_goes_on() {
        let one = page(&[("a", "09"), ("b", "07.5"), ("c", "07")], Some("after c"));
        let other = page(&[("d", "08"), ("e", "07"), ("f", "06")], Some("after f"));
        let last = page(&[("g", "05")], None);
        let merged = merged(vec![last, one, other]);
        let ids: Vec<&str> = merged
            .sessions
            .iter()
            .map(|session| session.session_id.as_str())
            .collect();
        assert_eq!(ids, ["a", "d", "b", "e", "c"]);
        assert_eq!(merged.next_cursor.as_deref(), Some("after c"));
    }

    #[test]
    fn a_server_that_fails_hides_no_sessions_of_others() {
        let failed = || Err(serde_json::json!({ "code": -32603, "message": "no tea" }));
        let mut merge = Merge::of(2);
        assert!(!merge.add(failed()));
        assert!(merge.add(Ok(page(&[("a", "09")], None))));
        let answer = merge.answer("7");
        assert!(answer.starts_with(br#"{"jsonrpc":"2.0","id":7,"result":{"sessions":[{"sessionId":"a""#));
        let mut merge = Merge::of(1);
        assert!(merge.add(failed()));
        assert!(merge.answer("7").ends_with(br#""message":"no tea"}}"#));
    }
}
