//! Following one Thread over any number of connections. Pure: it decides, the driver sends.
//!
//! Each numbered message is passed on once and in order. Where the server cannot give exactly what was missed, the Thread is
//! read again.

use crate::event::Notification;

/// Messages that wait while a Thread is read. Beyond it the Thread is read once more.
const MAX_WAITING: usize = 10_000;

/// The state of one followed Thread.
#[derive(Debug)]
pub(crate) struct Follow {
    /// Most Turns that are read at first.
    pub(crate) turn_limit: u32,
    /// Number of the last message that was passed on.
    cursor: Option<u64>,
    /// Messages that wait for an answer that says what to do with them; `None` when they are passed on at once.
    waiting: Option<Vec<Notification>>,
    has_overflowed: bool,
    /// Counts subscriptions, so that the answer to an earlier one is ignored.
    life: u64,
}

/// The next step after an answer.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    /// The Thread is read.
    Read,
    /// These messages are passed on, and later ones as they come.
    Live(Vec<Notification>),
}

impl Follow {
    pub(crate) fn new(turn_limit: u32) -> Self {
        Self {
            turn_limit,
            cursor: None,
            waiting: Some(Vec::new()),
            has_overflowed: false,
            life: 0,
        }
    }

    /// Starts on a new connection. Returns the number of this subscription, and the cursor to subscribe with.
    pub(crate) fn subscribe(&mut self) -> (u64, Option<u64>) {
        self.waiting = Some(Vec::new());
        self.has_overflowed = false;
        self.life += 1;
        (self.life, self.cursor)
    }

    /// Whether an answer belongs to the present subscription.
    pub(crate) fn is_current(&self, life: u64) -> bool {
        self.life == life
    }

    /// Takes a message of the Thread, and returns it if it is passed on now.
    pub(crate) fn receive(&mut self, message: Notification) -> Option<Notification> {
        let Some(waiting) = &mut self.waiting else {
            return self.pass(message);
        };
        if waiting.len() < MAX_WAITING {
            waiting.push(message);
        } else {
            waiting.clear();
            self.has_overflowed = true;
        }
        None
    }

    /// Takes the answer to a subscription: whether the server gives exactly what was missed.
    pub(crate) fn subscribed(&mut self, gives_the_rest: bool) -> Next {
        if gives_the_rest && !self.has_overflowed {
            self.live()
        } else {
            self.has_overflowed = false;
            Next::Read
        }
    }

    /// The subscription was refused. What comes until the next one is beyond a gap, so that it reads the Thread.
    pub(crate) fn refused(&mut self) {
        self.cursor = None;
    }

    /// Takes the number up to which the Thread was read.
    pub(crate) fn read(&mut self, seq: Option<u64>) -> Next {
        self.cursor = seq;
        if std::mem::take(&mut self.has_overflowed) {
            return Next::Read;
        }
        self.live()
    }

    fn live(&mut self) -> Next {
        let waiting = self.waiting.take().unwrap_or_default();
        Next::Live(waiting.into_iter().filter_map(|one| self.pass(one)).collect())
    }

    fn pass(&mut self, message: Notification) -> Option<Notification> {
        if let Some(seq) = message.seq {
            let is_mark = message.method.as_ref() == "thread/synced";
            if !is_mark && self.cursor.is_some_and(|cursor| seq <= cursor) {
                return None;
            }
            self.cursor = self.cursor.max(Some(seq));
        }
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(seq: u64) -> Notification {
        Notification::of("item/completed", &json!({ "threadId": "thread_1", "seq": seq }))
    }

    fn numbers(next: Next) -> Vec<u64> {
        match next {
            Next::Live(messages) => messages.iter().filter_map(|one| one.seq).collect(),
            Next::Read => panic!("the Thread is read again"),
        }
    }

    #[test]
    fn a_first_subscription_reads_the_thread_and_passes_on_what_is_newer() {
        let mut follow = Follow::new(20);
        assert_eq!(follow.subscribe(), (1, None));
        for seq in [4, 5, 6] {
            assert_eq!(follow.receive(message(seq)), None);
        }
        assert_eq!(follow.subscribed(false), Next::Read);
        assert_eq!(numbers(follow.read(Some(5))), [6]);
        assert_eq!(follow.receive(message(6)), None, "it came before");
        assert_eq!(follow.receive(message(7)), Some(message(7)));
    }

    #[test]
    fn after_a_cut_the_rest_comes_by_the_cursor() {
        let mut follow = Follow::new(20);
        follow.subscribe();
        follow.subscribed(false);
        follow.read(Some(5));
        follow.receive(message(6));
        assert_eq!(follow.subscribe(), (2, Some(6)));
        assert!(!follow.is_current(1));
        assert_eq!(follow.receive(message(7)), None);
        assert_eq!(numbers(follow.subscribed(true)), [7]);
    }

    #[test]
    fn after_a_refused_subscription_the_thread_is_read() {
        let mut follow = Follow::new(20);
        follow.subscribe();
        follow.subscribed(false);
        follow.read(Some(5));
        assert_eq!(follow.subscribe(), (2, Some(5)));
        follow.refused();
        assert_eq!(follow.receive(message(9)), None);
        assert_eq!(follow.subscribe(), (3, None));
    }

    #[test]
    fn too_many_waiting_messages_have_the_thread_read_once_more() {
        let mut follow = Follow::new(20);
        follow.subscribe();
        assert_eq!(follow.subscribed(false), Next::Read);
        for seq in 0..=MAX_WAITING as u64 {
            follow.receive(message(seq + 1));
        }
        assert_eq!(follow.read(Some(3)), Next::Read);
        assert_eq!(numbers(follow.read(Some(20_000))), [0; 0]);
    }
}
