//! The channel of each Turn that a connection starts (AppServer protocol 03 §1.1).
//!
//! A Turn in a Thread that the same connection started has that Thread's channel. Any other Turn has the connection's
//! own. A bounded number of Threads is remembered; the oldest is forgotten first.

use std::collections::VecDeque;

use bobbin_model::ThreadId;
use parking_lot::Mutex;

/// Limit of Threads remembered per connection (a guess: more than a user opens in a day).
const REMEMBERED: usize = 256;

/// The channels of one connection.
pub(crate) struct Channels {
    own: String,
    started: Mutex<VecDeque<(ThreadId, String)>>,
}

impl Channels {
    /// Creates the record with the connection's own channel.
    pub(crate) fn new(own: String) -> Self {
        Self {
            own,
            started: Mutex::default(),
        }
    }

    /// Notes that this connection started a Thread.
    pub(crate) fn started(&self, thread: ThreadId, channel: String) {
        let mut started = self.started.lock();
        if started.len() == REMEMBERED {
            started.pop_front();
        }
        started.push_back((thread, channel));
    }

    /// Whether this connection started a Thread.
    pub(crate) fn has_started(&self, thread: &ThreadId) -> bool {
        self.started.lock().iter().any(|(known, _)| known == thread)
    }

    /// Returns the channel of a Turn that this connection starts.
    pub(crate) fn of(&self, thread: &ThreadId) -> String {
        let started = self.started.lock();
        let known = started.iter().rev().find(|(known, _)| known == thread);
        known.map_or_else(|| self.own.clone(), |(_, channel)| channel.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_this_connection_has_its_channel_and_others_have_the_connections() {
        let channels = Channels::new("acp".to_owned());
        channels.started(ThreadId::new("mine"), "kettle".to_owned());
        assert_eq!(channels.of(&ThreadId::new("mine")), "kettle");
        assert_eq!(channels.of(&ThreadId::new("other")), "acp");
    }

    #[test]
    fn the_oldest_thread_is_forgotten_first() {
        let channels = Channels::new("cli".to_owned());
        for n in 0..=REMEMBERED {
            channels.started(ThreadId::new(n.to_string()), "kettle".to_owned());
        }
        assert_eq!(channels.of(&ThreadId::new("0")), "cli");
        assert_eq!(channels.of(&ThreadId::new("1")), "kettle");
        assert_eq!(channels.of(&ThreadId::new(REMEMBERED.to_string())), "kettle");
    }
}
