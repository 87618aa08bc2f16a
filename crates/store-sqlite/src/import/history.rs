//! Converts the events of another database to finished history that grants no permissions.
//!
//! Pure. Answers, policies, clients' tools and queued input are dropped. Numbers that this server could not have
//! written are refused, so that no later count overflows its type.

use bobbin_model::state::{MAX_DISPLAY_NAME, MAX_LABEL, MAX_LABELS};
use bobbin_model::{
    EdgeStatus, Event, ItemId, Outcome, Seq, ThreadHeader, ThreadId, ThreadState, UnixMillis,
};

/// Why an imported open Turn has failed.
const OPEN_WHEN_IMPORTED: &str = "The turn was open when its conversation was imported; it does not go on by itself. Send \
                                  another message to go on.";
/// Longest id of a Thread, in bytes: many times the length of our own.
const MAX_ID: usize = 128;
/// Largest accepted number of Turns and Items; ours count from one.
const MAX_TURN: u32 = 1 << 30;
const MAX_SEQ: u64 = 1 << 52;
/// The last millisecond of the year 9999.
const LAST_TIME: i64 = 253_402_300_799_999;

/// Why a Thread is not imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Left {
    /// The user has deleted it.
    Deleted,
    /// No server can have written it.
    Damaged(String),
}

fn damaged(why: &str) -> Left {
    Left::Damaged(why.to_owned())
}

/// Whether a server may have made an id; the id becomes part of file names.
pub(super) fn is_id(id: &str) -> bool {
    (1..=MAX_ID).contains(&id.len())
        && id
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Returns a time limited to the years that can be shown.
pub(super) fn time(at: UnixMillis) -> UnixMillis {
    UnixMillis(at.0.clamp(0, LAST_TIME))
}

/// Returns the header of the imported Thread for the workspace at `root`.
pub(super) fn header(id: &ThreadId, mut header: ThreadHeader, root: &str) -> Result<ThreadHeader, Left> {
    if header.id != *id {
        return Err(damaged("its first event is about another thread"));
    }
    root.clone_into(&mut header.workspace_path);
    header.config = None;
    header.created_at = time(header.created_at);
    header.last_active_at = time(header.last_active_at);
    header.display_name = header.display_name.filter(|name| name.len() <= MAX_DISPLAY_NAME);
    let labels = std::mem::take(&mut header.metadata).into_iter();
    let labels = labels.filter(|(name, value)| name.len() + value.len() <= MAX_LABEL);
    header.metadata = labels.take(MAX_LABELS).collect();
    Ok(header)
}

/// Checks an event's number.
///
/// # Errors
/// No server can have assigned it.
pub(super) fn check_number(seq: Seq) -> Result<(), Left> {
    if (1..=MAX_SEQ).contains(&seq.0) {
        Ok(())
    } else {
        Err(damaged("an event has an impossible number"))
    }
}

/// Returns the imported form of an event after the first; `None` for an event that is dropped.
///
/// # Errors
/// The Thread must not be imported.
pub(super) fn admit(state: &ThreadState, event: Event) -> Result<Option<Event>, Left> {
    let live = state.live_turn();
    match &event {
        Event::ThreadDeleted => return Err(Left::Deleted),
        Event::ThreadStarted { .. } => return Err(damaged("it starts twice")),
        // Permissions, offers and requests of the other server.
        Event::ThreadConfigured { .. }
        | Event::ToolsDeclared { .. }
        | Event::QueueChanged { .. }
        | Event::HistoryGiven { .. }
        | Event::EdgeChanged { .. } => return Ok(None),
        Event::ThreadRenamed { display_name } if display_name.len() > MAX_DISPLAY_NAME => return Ok(None),
        Event::ThreadLabelled { name, value } => {
            let bytes = name.len() + value.as_ref().map_or(0, String::len);
            if bytes > MAX_LABEL || state.header.metadata.len() >= MAX_LABELS {
                return Ok(None);
            }
        }
        Event::TurnStarted { turn, .. }
            if live.is_none() && *turn > state.last_turn && turn.0 <= MAX_TURN => {}
        Event::TurnStarted { .. } => return Err(damaged("its turns are out of order")),
        // It belongs to a Turn that has ended.
        Event::TurnReverted { .. } => {}
        _ if event.turn().is_some_and(|turn| Some(turn) != live) => {
            return Err(damaged("an event belongs to no open turn"));
        }
        _ => {}
    }
    if let Some(item) = item_of(&event) {
        let next = state
            .live
            .as_ref()
            .map_or(ItemId(0), bobbin_model::LiveTurn::next_item);
        if item.0 == 0 || item > next {
            return Err(damaged("its items are out of order"));
        }
    }
    Ok(Some(finished(event)))
}

/// Returns the Item that an event adds to its Turn.
fn item_of(event: &Event) -> Option<ItemId> {
    match event {
        Event::ItemStarted { item, .. }
        | Event::ItemCompleted { item, .. }
        | Event::ItemAdded { item, .. }
        | Event::ApprovalOpened { item, .. }
        | Event::ApprovalResolved { item, .. } => Some(item.id),
        _ => None,
    }
}

/// Removes from an event the mark that a plan waits for the user's answer.
fn finished(mut event: Event) -> Event {
    if let Event::TurnEnded {
        plan_pending,
        completed_at,
        ..
    } = &mut event
    {
        *plan_pending = false;
        *completed_at = time(*completed_at);
    }
    event
}

/// Applies an event, without its answers for the session.
pub(super) fn apply(state: &mut ThreadState, event: &Event, at: UnixMillis) {
    state.apply(event, at);
    state.grants.clear();
}

/// Returns the events that close an open Turn with its Items and Approvals, and a subagent's edge.
pub(super) fn close(state: &ThreadState, at: UnixMillis) -> Vec<Event> {
    let error = OPEN_WHEN_IMPORTED.to_owned();
    let mut events = state.decide_end_turn(Outcome::Failed { error }, at);
    if state.edge.is_some() {
        let status = EdgeStatus::Closed;
        events.push(Event::EdgeChanged { status });
    }
    events
}

/// Returns whether a subagent's root and depth fit those of its parent.
pub(super) fn hangs_below(header: &ThreadHeader, root: &ThreadId, depth: u32) -> bool {
    let source = header.source.sub_agent();
    source.is_some_and(|source| source.root == *root && Some(source.depth) == depth.checked_add(1))
}

#[cfg(test)]
mod tests {
    use bobbin_model::{HistoryMode, ThreadConfig, ThreadSource, ThreadStatus, TurnId};

    use super::*;

    fn state() -> ThreadState {
        ThreadState::new(ThreadHeader {
            id: ThreadId::new("t"),
            workspace_path: "/elsewhere".into(),
            user_id: None,
            origin_channel: "cli".into(),
            channel_context: None,
            display_name: None,
            source: ThreadSource::User,
            status: ThreadStatus::Active,
            created_at: UnixMillis(i64::MAX),
            last_active_at: UnixMillis(-1),
            history_mode: HistoryMode::Server,
            config: Some(ThreadConfig::default()),
            metadata: [("a".to_owned(), "x".repeat(MAX_LABEL))].into(),
        })
    }

    #[test]
    fn a_header_brings_no_configuration_and_no_path_along() {
        let taken = header(&ThreadId::new("t"), state().header, "/here").unwrap();
        assert_eq!((taken.workspace_path.as_str(), taken.config), ("/here", None));
        assert_eq!(
            (taken.created_at, taken.last_active_at),
            (UnixMillis(LAST_TIME), UnixMillis(0))
        );
        assert!(taken.metadata.is_empty());
        assert!(header(&ThreadId::new("other"), state().header, "/here").is_err());
    }

    #[test]
    fn what_gives_something_stays_behind_and_impossible_numbers_are_refused() {
        let configured = || Event::ThreadConfigured {
            config: ThreadConfig::default(),
        };
        assert_eq!(admit(&state(), configured()), Ok(None));
        let queue = Event::QueueChanged { queue: Vec::new() };
        assert_eq!(admit(&state(), queue), Ok(None));
        assert_eq!(admit(&state(), Event::ThreadDeleted), Err(Left::Deleted));
        assert!(check_number(Seq(u64::MAX)).is_err() && check_number(Seq(0)).is_err());
        let ended = Event::TurnCancelling {
            turn: TurnId(1),
            reason: String::new(),
        };
        assert!(admit(&state(), ended).is_err());
    }

    #[test]
    fn ids_cannot_lead_out_of_a_directory() {
        for (id, good) in [
            ("thread_20261122_ab", true),
            ("", false),
            ("../x", false),
            ("a/b", false),
            ("a\u{202e}", false),
        ] {
            assert_eq!(is_id(id), good, "{id}");
        }
        assert!(!is_id(&"x".repeat(MAX_ID + 1)));
    }
}
