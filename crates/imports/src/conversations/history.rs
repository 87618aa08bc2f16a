//! A conversation as the events of a Thread with finished Turns, and its way into a store.
//!
//! The same decisions as in a server make the events, so that they are such as a server writes. All of them are one write.

use std::collections::BTreeMap;
use std::sync::Arc;

use bobbin_model::state::{MAX_DISPLAY_NAME, StartTurn};
use bobbin_model::{
    Event, HistoryMode, InputPart, ItemBody, Json, Outcome, Seq, ThreadHeader, ThreadId, ThreadSource,
    ThreadState, ThreadStatus, TurnFeatures, UnixMillis,
};
use bobbin_store::{Store, StoreError, StoredEvent, Summary, Write};

use super::{Conversation, Part, Turn};

/// Label with the agent and the id there.
const FROM: &str = "importedFrom";
/// Label with the fingerprint of what was imported.
const FINGERPRINT: &str = "importedFingerprint";
/// The channel of the command line, which imports.
const CHANNEL: &str = "cli";
/// A number that no event reaches.
const LAST_SEQ: Seq = Seq(1 << 52);
/// Longest name of a tool that every provider accepts.
const MAX_TOOL: usize = 64;
/// Longest id of another agent that becomes a part of ours.
const MAX_ID: usize = 64;

const NO_RESULT: &str = "No result of this call was recorded.";
const CANCELLED: &str = "The user stopped it.";

/// The result for one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It was imported as this Thread.
    New(ThreadId),
    /// It was imported before, and is unchanged.
    Known(ThreadId),
    /// It was imported before as this Thread, and has grown or changed since. It was left as it is here.
    Changed(ThreadId),
}

/// Writes a conversation into a store as a Thread of `workspace`, unless it is there.
///
/// # Errors
/// The store cannot read or write.
pub async fn take(
    store: &dyn Store,
    conversation: &Conversation,
    workspace: &str,
) -> Result<Taken, StoreError> {
    let mut time = 1;
    let id = loop {
        let id = thread_id(conversation, time);
        if let Some(known) = store.load(&id).await? {
            let fingerprint = known.state.header.metadata.get(FINGERPRINT);
            let is_same = fingerprint.is_none_or(|known| *known == conversation.fingerprint());
            return Ok(if is_same {
                Taken::Known(id)
            } else {
                Taken::Changed(id)
            });
        }
        // No Thread gets the id of one that the user has deleted.
        if store.recent_events(&id, LAST_SEQ, 1).await?.is_empty() {
            break id;
        }
        time += 1;
    };
    store
        .submit(write(id.clone(), conversation, workspace))
        .await?
        .await?;
    Ok(Taken::New(id))
}

/// Returns the id of the Thread: the same for each import of one conversation, until its user deletes the Thread.
fn thread_id(conversation: &Conversation, time: u32) -> ThreadId {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let id: String = conversation.id.chars().take(MAX_ID).map(plain).collect();
    let again = if time == 1 {
        String::new()
    } else {
        format!("_{time}")
    };
    ThreadId::new(format!("thread_{}_{id}{again}", conversation.agent))
}

/// The events of a Thread while they are made.
struct History {
    state: ThreadState,
    events: Vec<StoredEvent>,
}

impl History {
    fn add(&mut self, at: UnixMillis, events: impl IntoIterator<Item = Event>) {
        for event in events {
            self.state.apply(&event, at);
            let seq = Seq(self.events.len() as u64 + 1);
            let event = Arc::new(event);
            self.events.push(StoredEvent { seq, at, event });
        }
    }

    fn item(&mut self, at: UnixMillis, body: ItemBody) {
        let events = self.state.decide_add_item(body, at).map(|(_, events)| events);
        self.add(at, events.into_iter().flatten());
    }

    fn turn(&mut self, turn: &Turn, calls: &mut u32) {
        let request = StartTurn {
            input: vec![InputPart::Text {
                text: turn.input.clone(),
            }],
            sender: None,
            client_message_id: None,
            trigger: None,
            channel: Some(CHANNEL.to_owned()),
            features: TurnFeatures::default(),
        };
        // The Thread is active and idle, and the input has a text.
        let Ok(started) = self.state.decide_start_turn(request, turn.at) else {
            return;
        };
        self.add(turn.at, started);
        let mut last = turn.at;
        // Ids of calls here, by their ids there, of those without a result.
        let mut open: BTreeMap<&str, String> = BTreeMap::new();
        for (at, part) in &turn.parts {
            last = *at;
            match part {
                Part::Message(text) => self.item(*at, ItemBody::AgentMessage { text: text.clone() }),
                Part::Reasoning(text) => self.item(*at, ItemBody::Reasoning { text: text.clone() }),
                Part::Call { id, tool, arguments } => {
                    *calls += 1;
                    let call_id = format!("imported_{calls}");
                    if let Some(before) = open.insert(id, call_id.clone()) {
                        self.result(*at, before, NO_RESULT, false);
                    }
                    let is_json = serde_json::from_str::<serde_json::Value>(arguments).is_ok();
                    let json = Json::object(arguments).filter(|_| is_json);
                    let arguments = json.ok_or_else(|| arguments.clone());
                    self.item(*at, ItemBody::tool_call(tool_name(tool), call_id, arguments));
                }
                Part::Result { id, text, success } => {
                    if let Some(call_id) = open.remove(&**id) {
                        self.result(*at, call_id, text, *success);
                    }
                }
            }
        }
        for call_id in open.into_values() {
            self.result(last, call_id, NO_RESULT, false);
        }
        let outcome = if turn.is_cancelled {
            let reason = CANCELLED.to_owned();
            Outcome::Cancelled { reason }
        } else {
            Outcome::Completed
        };
        let ended = self.state.decide_end_turn(outcome, last);
        self.add(last, ended);
    }

    fn result(&mut self, at: UnixMillis, call_id: String, text: &str, success: bool) {
        let body = ItemBody::ToolResult {
            call_id,
            result: text.to_owned(),
            success,
            refused: false,
            seen: Vec::new(),
            pictures: Vec::new(),
            change: None,
            tool_name: None,
        };
        self.item(at, body);
    }
}

/// Returns a name that every provider accepts.
fn tool_name(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().take(MAX_TOOL).map(plain).collect();
    if name.is_empty() { "tool".to_owned() } else { name }
}

fn write(id: ThreadId, conversation: &Conversation, workspace: &str) -> Write {
    let from = format!("{}:{}", conversation.agent, conversation.id);
    let labels = [
        (FROM.to_owned(), from),
        (FINGERPRINT.to_owned(), conversation.fingerprint()),
    ];
    let title = conversation.shown_title();
    let header = ThreadHeader {
        id: id.clone(),
        workspace_path: workspace.to_owned(),
        user_id: None,
        origin_channel: CHANNEL.to_owned(),
        channel_context: None,
        display_name: Some(title[..title.floor_char_boundary(MAX_DISPLAY_NAME)].to_owned()),
        source: ThreadSource::User,
        status: ThreadStatus::Active,
        created_at: conversation.created_at,
        last_active_at: conversation.created_at,
        history_mode: HistoryMode::Server,
        config: None,
        metadata: labels.into_iter().collect(),
    };
    let mut history = History {
        state: ThreadState::new(header.clone()),
        events: Vec::new(),
    };
    let thread = Box::new(header);
    history.add(conversation.created_at, [Event::ThreadStarted { thread }]);
    let mut calls = 0;
    for turn in &conversation.turns {
        history.turn(turn, &mut calls);
    }
    let History { state, events } = history;
    Write {
        thread: id,
        owner: 0,
        state: Summary::of(&state, &events),
        head_seq: Seq(events.len() as u64),
        events,
        text: Vec::new(),
        remember: None,
        request: None,
        audit: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use bobbin_model::{TurnId, TurnStatus};
    use bobbin_store::ListFilter;
    use bobbin_store_sqlite::{Options, SqliteStore};

    use super::*;

    fn conversation() -> Conversation {
        let mut made = Conversation::new("claude", "a/1");
        made.start(UnixMillis(1_000), "Boil");
        made.reasoning(UnixMillis(2_000), "Hm.");
        made.call(UnixMillis(3_000), "c1", "mcp:pot", "{\"level\":2}");
        made.call(UnixMillis(3_000), "c2", "Patch", "*** Begin");
        made.result(UnixMillis(4_000), "c1", "boils", true);
        made.result(UnixMillis(4_000), "none", "of nobody", true);
        made.message(UnixMillis(5_000), "Done.");
        made.start(UnixMillis(9_000), "And tea");
        made.cancel();
        made
    }

    #[tokio::test]
    async fn a_conversation_becomes_a_thread_with_finished_turns_once() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&dir.path().join("bobbin.db"), Options::default())
            .await
            .unwrap();
        let mut made = conversation();
        let id = ThreadId::new("thread_claude_a_1");
        assert_eq!(
            take(&store, &made, "/srv/tea").await.unwrap(),
            Taken::New(id.clone())
        );
        assert_eq!(
            take(&store, &made, "/srv/tea").await.unwrap(),
            Taken::Known(id.clone())
        );
        let turns = store.turns_before(&id, TurnId(u32::MAX), 10).await.unwrap();
        let statuses: Vec<_> = turns
            .iter()
            .map(|turn| (turn.status, turn.started_at.0))
            .collect();
        assert_eq!(
            statuses,
            [(TurnStatus::Completed, 1_000), (TurnStatus::Cancelled, 9_000)]
        );
        let bodies: Vec<_> = turns[0]
            .items
            .iter()
            .map(|item| (item.created_at.0, format!("{:?}", item.body)))
            .collect();
        let has = |at: usize, time: i64, parts: &[&str]| {
            assert_eq!(bodies[at].0, time, "{bodies:?}");
            assert!(
                parts.iter().all(|part| bodies[at].1.contains(part)),
                "{:?}",
                bodies[at]
            );
        };
        has(0, 1_000, &["UserMessage", "Boil"]);
        has(1, 2_000, &["Reasoning", "Hm."]);
        has(2, 3_000, &["\"mcp_pot\"", "\"imported_1\"", "arguments: Some"]);
        has(
            3,
            3_000,
            &["\"Patch\"", "\"imported_2\"", "arguments: None", "*** Begin"],
        );
        has(4, 4_000, &["\"imported_1\"", "boils", "success: true"]);
        has(5, 5_000, &["AgentMessage", "Done."]);
        has(6, 5_000, &["\"imported_2\"", NO_RESULT, "success: false"]);
        assert_eq!(bodies.len(), 7);
        let filter = ListFilter {
            workspace_path: "/srv/tea".to_owned(),
            ..ListFilter::default()
        };
        let listed = store.list(filter).await.unwrap();
        let header = &listed[0].header;
        assert_eq!(
            (listed.len(), header.display_name.as_deref(), listed[0].turn_count),
            (1, Some("Boil"), 2)
        );
        assert_eq!(
            (
                header.created_at.0,
                header.last_active_at.0,
                &*header.workspace_path
            ),
            (1_000, 9_000, "/srv/tea")
        );
        assert_eq!(header.metadata[FROM], "claude:a/1");
        assert_eq!(store.threads_with_open_turns().await.unwrap(), []);
        made.message(UnixMillis(10_000), "More.");
        assert_eq!(take(&store, &made, "/srv/tea").await.unwrap(), Taken::Changed(id));
        store.close().await;
    }
}
