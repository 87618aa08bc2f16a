//! The chats that one connection knows, with their ids in both directions and their views.
//!
//! The Thread's channel context stores a client-made id, so that the chat is found after a restart and through other
//! endpoints (6.1). A numeric id is a tab of this editor and is remembered here only. The number of chats is bounded.
//! The chat used longest ago is forgotten first, busy chats last; its stored id still finds it.

use std::collections::{HashMap, VecDeque};

use bobbin_model::{QueuedInputId, ThreadHeader, ThreadId};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::view::View;
use crate::wire::ChatId;

/// Most chats remembered per connection (a guess: more than a user opens in a day).
const REMEMBERED: usize = 256;
/// Prefix of a stored client-made id.
const ALIAS: &str = "eca:";
/// Longest client-made id, in characters (6.1).
const MAX_ID_CHARS: usize = 256;

/// A chat of this connection.
#[derive(Debug)]
pub(crate) struct Chat {
    pub(crate) id: ChatId,
    /// When the client last chose its own mode and model.
    said_at: SaidAt,
    /// The newest steering message to the running prompt, by its id in the queue.
    pub(crate) steering: Option<QueuedInputId>,
    /// Prompts that are not recorded yet, in order (bounded by the requests in flight).
    pub(crate) pending: VecDeque<Pending>,
    /// Whether the client knows that the chat is deleted.
    pub(crate) gone: bool,
    pub(crate) view: View,
}

/// A prompt that is not recorded yet: its attachments are being read, or it waits for an earlier one.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    /// The number of its request.
    pub(crate) ordinal: i64,
    /// Cancelled when the prompt is stopped.
    pub(crate) stop: CancellationToken,
    /// Cancelled once the prompt has become a Turn, a queued one, or nothing.
    pub(crate) over: CancellationToken,
}

/// Whether a prompt or a selection for one chat sets mode and model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said {
    pub(crate) mode: bool,
    pub(crate) model: bool,
}

/// When a chat last set them, by the count of its connection; 0 for never.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SaidAt {
    pub(crate) mode: u64,
    pub(crate) model: u64,
}

impl Chat {
    /// Records a choice for this chat alone. Returns the previous times.
    pub(crate) fn says(&mut self, said: Said, now: u64) -> SaidAt {
        let before = self.said_at;
        if said.mode {
            self.said_at.mode = now;
        }
        if said.model {
            self.said_at.model = now;
        }
        before
    }

    /// Adds a waiting prompt. Returns the token of the prompt before it, if there is one.
    pub(crate) fn wait(&mut self, pending: Pending) -> Option<CancellationToken> {
        let before = self.pending.back().map(|before| before.over.clone());
        self.pending.push_back(pending);
        before
    }

    /// Removes a waiting prompt that is recorded or has failed. Returns whether it was stopped.
    pub(crate) fn recorded(&mut self, ordinal: i64) -> bool {
        let at = self.pending.iter().position(|pending| pending.ordinal == ordinal);
        let pending = at.and_then(|at| self.pending.remove(at));
        pending.is_some_and(|pending| pending.stop.is_cancelled())
    }
}

#[derive(Debug, Default)]
struct Known {
    chats: HashMap<ThreadId, Chat>,
    ids: HashMap<String, ThreadId>,
    order: VecDeque<ThreadId>,
}

/// The chats of one connection.
#[derive(Debug, Default)]
pub(crate) struct Chats(Mutex<Known>);

impl Chats {
    /// Adds a chat to the known ones. Returns the chat that was forgotten for it.
    pub(crate) fn know(&self, thread: &ThreadId, id: ChatId) -> Option<ThreadId> {
        let mut known = self.0.lock();
        known.ids.insert(id.text(), thread.clone());
        if let Some(chat) = known.chats.get_mut(thread) {
            chat.id = id;
            known.order.retain(|other| other != thread);
            known.order.push_back(thread.clone());
            return None;
        }
        let gone = if known.order.len() == REMEMBERED {
            known.least_wanted()
        } else {
            None
        };
        if let Some(gone) = &gone {
            known.remove(gone);
        }
        known.order.push_back(thread.clone());
        let chat = Chat {
            id,
            said_at: SaidAt::default(),
            steering: None,
            pending: VecDeque::new(),
            gone: false,
            view: View::default(),
        };
        known.chats.insert(thread.clone(), chat);
        gone
    }

    /// Returns the Thread of an id.
    pub(crate) fn thread(&self, id: &ChatId) -> Option<ThreadId> {
        self.0.lock().ids.get(&id.text()).cloned()
    }

    /// Runs `work` on a chat, if it is known. `work` must not wait.
    pub(crate) fn with<T>(&self, thread: &ThreadId, work: impl FnOnce(&mut Chat) -> T) -> Option<T> {
        self.0.lock().chats.get_mut(thread).map(work)
    }

    /// Forgets a chat.
    pub(crate) fn forget(&self, thread: &ThreadId) {
        let mut known = self.0.lock();
        known.remove(thread);
        known.order.retain(|other| other != thread);
    }
}

impl Known {
    /// Removes the idle chat that was used longest ago; the oldest one if all are busy.
    fn least_wanted(&mut self) -> Option<ThreadId> {
        let is_idle = |thread: &ThreadId| {
            let chat = self.chats.get(thread);
            chat.is_none_or(|chat| chat.pending.is_empty() && !chat.view.is_live())
        };
        let at = self.order.iter().position(is_idle).unwrap_or(0);
        self.order.remove(at)
    }

    fn remove(&mut self, thread: &ThreadId) {
        let chat = self.chats.remove(thread);
        for pending in chat.iter().flat_map(|chat| &chat.pending) {
            pending.stop.cancel();
        }
        self.ids.retain(|_, other| other != thread);
    }
}

/// Returns the stored form of a client-made id.
pub(crate) fn alias(id: &str) -> String {
    format!("{ALIAS}{id}")
}

/// Returns the id of a Thread for clients: the stored one, or the Thread's own.
pub(crate) fn stored_id(header: &ThreadHeader) -> ChatId {
    let alias = header
        .channel_context
        .as_deref()
        .and_then(|context| context.strip_prefix(ALIAS));
    ChatId::Text(alias.map_or_else(|| header.id.to_string(), str::to_owned))
}

/// Whether a client may make up this id (6.1).
pub(crate) fn may_be_made_up(id: &str) -> bool {
    !id.is_empty()
        && id.chars().count() <= MAX_ID_CHARS
        && !id.chars().any(|c| c.is_whitespace() || c.is_control())
        && !id.starts_with("subagent-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_ids_follow_the_table() {
        for (id, fine) in [
            ("c-81", true),
            ("é", true),
            ("", false),
            ("a b", false),
            ("a\tb", false),
            ("subagent-1", false),
            (&"x".repeat(256), true),
            (&"x".repeat(257), false),
        ] {
            assert_eq!(may_be_made_up(id), fine, "{id:?}");
        }
    }

    #[test]
    fn the_chat_used_longest_ago_is_forgotten_first_but_not_a_busy_one() {
        let chats = Chats::default();
        for n in 0..REMEMBERED {
            let thread = ThreadId::new(format!("thread_{n}"));
            assert_eq!(chats.know(&thread, ChatId::Text(n.to_string())), None);
        }
        // One is used again, one is busy.
        assert_eq!(
            chats.know(&ThreadId::new("thread_0"), ChatId::Text("0".into())),
            None
        );
        chats.with(&ThreadId::new("thread_1"), |chat| {
            chat.view.begun(bobbin_model::TurnId(1));
        });
        let gone = chats.know(&ThreadId::new("thread_new"), ChatId::Number(7));
        assert_eq!(gone, Some(ThreadId::new("thread_2")));
        assert_eq!(chats.thread(&ChatId::Text("2".into())), None);
        assert_eq!(
            chats.thread(&ChatId::Number(7)),
            Some(ThreadId::new("thread_new"))
        );
    }
}
