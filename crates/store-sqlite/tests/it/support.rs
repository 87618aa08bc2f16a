//! What the store's tests share: a Thread as its owner would write it.

use std::path::Path;
use std::sync::Arc;

use bobbin_model::state::{NewThread, StartTurn};
use bobbin_model::{
    Event, HistoryMode, Identity, InputPart, Scope, Seq, ThreadId, ThreadState, TurnFeatures, UnixMillis,
};
use bobbin_store::{Store, StoreError, StoredEvent, Summary, TextPart, Write};
use bobbin_store_sqlite::{Options, SqliteStore};

pub(crate) async fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(&path.join("test.db"), Options::default())
        .await
        .unwrap()
}

/// One Thread as its owner would write it.
pub(crate) struct Writer<'a> {
    pub(crate) store: &'a SqliteStore,
    pub(crate) state: ThreadState,
    pub(crate) seq: u64,
    pub(crate) clock: i64,
    pub(crate) owner: u64,
}

impl<'a> Writer<'a> {
    pub(crate) async fn start(store: &'a SqliteStore, id: &str, identity: Identity) -> Writer<'a> {
        let request = NewThread {
            id: ThreadId::new(id),
            identity,
            config: None,
            history_mode: HistoryMode::Server,
            display_name: None,
        };
        let event = request.decide("/srv/tea", UnixMillis(1)).unwrap();
        let Event::ThreadStarted { thread } = &event else {
            panic!()
        };
        let state = ThreadState::new((**thread).clone());
        let mut writer = Writer {
            store,
            state,
            seq: 0,
            clock: 1,
            owner: 1,
        };
        writer.write(vec![event]).await.unwrap();
        writer
    }

    pub(crate) async fn write(&mut self, events: Vec<Event>) -> Result<(), StoreError> {
        self.write_with(events, Vec::new(), None).await
    }

    pub(crate) async fn write_with(
        &mut self,
        events: Vec<Event>,
        text: Vec<TextPart>,
        remember: Option<Scope>,
    ) -> Result<(), StoreError> {
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
        let write = Write {
            thread: self.state.header.id.clone(),
            owner: self.owner,
            state: Summary::of(&self.state, &stored),
            events: stored,
            head_seq: Seq(self.seq + 10),
            text,
            remember,
            request: None,
        };
        self.store.submit(write).await?.await
    }

    pub(crate) async fn loaded(&self) -> ThreadState {
        self.store
            .load(&self.state.header.id)
            .await
            .unwrap()
            .expect("it is there")
            .state
    }
}

pub(crate) fn me() -> Identity {
    Identity {
        channel_name: "cli".into(),
        ..Identity::default()
    }
}

pub(crate) fn prompt(text: &str) -> StartTurn {
    StartTurn {
        input: vec![InputPart::Text { text: text.into() }],
        sender: None,
        channel: Some("cli".into()),
        features: TurnFeatures {
            approvals: true,
            ..TurnFeatures::default()
        },
    }
}
