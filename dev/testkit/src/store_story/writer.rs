//! A Thread as its owner would write it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a story that cannot go on fails its test"
)]

use std::sync::Arc;

use bobbin_model::state::{NewThread, StartTurn};
use bobbin_model::{
    Event, HistoryMode, Identity, InputPart, Scope, Seq, ThreadId, ThreadSource, ThreadState, TurnFeatures,
    UnixMillis,
};
use bobbin_store::{Store, StoreError, StoredEvent, Summary, TextPart, Write};

/// One Thread as its owner would write it.
pub struct Writer<'a> {
    /// Where it is written.
    pub store: &'a dyn Store,
    /// What it is like.
    pub state: ThreadState,
    /// The Seq of its last event.
    pub seq: u64,
    /// The time of its last write.
    pub clock: i64,
    /// Which owner writes.
    pub owner: u64,
}

impl<'a> Writer<'a> {
    /// Starts a Thread in `/srv/tea`.
    pub async fn start(store: &'a dyn Store, id: &str, identity: Identity) -> Writer<'a> {
        Self::start_from(store, id, identity, ThreadSource::User).await
    }

    /// Starts a Thread of any source in `/srv/tea`.
    pub async fn start_from(
        store: &'a dyn Store,
        id: &str,
        identity: Identity,
        source: ThreadSource,
    ) -> Writer<'a> {
        let mut writer = Self::unstored(store, id, identity, source);
        writer.write(writer.started()).await.unwrap();
        writer
    }

    /// Returns the writer of a Thread in `/srv/tea` that is not stored yet.
    pub fn unstored(store: &'a dyn Store, id: &str, identity: Identity, source: ThreadSource) -> Writer<'a> {
        let request = NewThread {
            id: ThreadId::new(id),
            identity,
            config: None,
            history_mode: HistoryMode::Server,
            display_name: None,
        };
        let event = request.decide_from(source, "/srv/tea", UnixMillis(1)).unwrap();
        let Event::ThreadStarted { thread } = event else {
            panic!()
        };
        Writer {
            store,
            state: ThreadState::new(*thread),
            seq: 0,
            clock: 1,
            owner: 1,
        }
    }

    /// Returns the first events of the Thread.
    pub fn started(&self) -> Vec<Event> {
        let thread = Box::new(self.state.header.clone());
        vec![Event::ThreadStarted { thread }]
    }

    /// Writes events.
    ///
    /// # Errors
    /// As [`Store::submit`].
    pub async fn write(&mut self, events: Vec<Event>) -> Result<(), StoreError> {
        self.write_with(events, Vec::new(), None).await
    }

    /// Writes events, text and a remembered answer.
    ///
    /// # Errors
    /// As [`Store::submit`].
    pub async fn write_with(
        &mut self,
        events: Vec<Event>,
        text: Vec<TextPart>,
        remember: Option<Scope>,
    ) -> Result<(), StoreError> {
        let write = Write {
            text,
            remember,
            ..self.next(events)
        };
        self.store.submit(write).await?.await
    }

    /// Returns the next write, and applies its events.
    pub fn next(&mut self, events: Vec<Event>) -> Write {
        self.clock += 1;
        let at = UnixMillis(self.clock);
        let mut stored = Vec::new();
        for event in events {
            self.state.apply(&event, at);
            self.seq += 1;
            stored.push(StoredEvent {
                seq: Seq(self.seq),
                at,
                event: Arc::new(event),
            });
        }
        Write {
            thread: self.state.header.id.clone(),
            owner: self.owner,
            state: Summary::of(&self.state, &stored),
            events: stored,
            head_seq: Seq(self.seq + 10),
            text: Vec::new(),
            remember: None,
            request: None,
            audit: Vec::new(),
        }
    }

    /// Returns the Thread as the store has it.
    pub async fn loaded(&self) -> ThreadState {
        self.store
            .load(&self.state.header.id)
            .await
            .unwrap()
            .expect("it is there")
            .state
    }
}

/// Returns the one who starts Threads here.
pub fn me() -> Identity {
    Identity {
        channel_name: "cli".into(),
        ..Identity::default()
    }
}

/// Returns an input.
pub fn prompt(text: &str) -> StartTurn {
    StartTurn {
        client_message_id: None,
        trigger: None,
        input: vec![InputPart::Text { text: text.into() }],
        sender: None,
        channel: Some("cli".into()),
        features: TurnFeatures {
            approvals: true,
            ..TurnFeatures::default()
        },
    }
}
