//! A host with its announcements.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::SystemClock;
use bobbin_children::{Children, Environment};
use bobbin_hermes::{
    Announce, Entry, ExtensionId, ExtensionSpec, ExtensionState, ExtensionStatus, Host, News, Source,
    Surroundings,
};
use bobbin_model::ThreadId;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::timeout;

use crate::fake::{Fake, Socket};

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const ADT: &str = "MSH|^~\\&|LAB|||20260101||ADT^A01|1|P|2.5\rPID|1||4711||M\u{dc}LLER^ANN\r";

pub(crate) struct World {
    pub(crate) host: Arc<Host>,
    pub(crate) directory: TempDir,
    news: Receiver<News>,
}

fn host(announce: Announce, directory: &Path) -> Arc<Host> {
    let unsaved = Some(directory.join("unsaved"));
    Arc::new(Host::new(
        Children::new(None),
        Arc::new(SystemClock),
        announce,
        unsaved,
    ))
}

impl World {
    pub(crate) fn new() -> Self {
        let (sender, news) = channel(100_000);
        let announce = Arc::new(move |one: News| sender.try_send(one).unwrap());
        let directory = tempfile::tempdir().unwrap();
        Self {
            host: host(announce, directory.path()),
            directory,
            news,
        }
    }

    /// Returns the world after the server was killed, with only the stored data.
    pub(crate) fn restarted(mut self) -> Self {
        let (sender, news) = channel(100_000);
        let announce = Arc::new(move |one: News| sender.try_send(one).unwrap());
        self.host = host(announce, self.directory.path());
        self.news = news;
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns an entry for a fake extension, and the socket that its process connects to.
    pub(crate) fn fake(&self, name: &str) -> (Entry, Socket) {
        let path = self.path(&format!("{name}.socket"));
        let socket = Socket::new(&path);
        let mut entry = Entry {
            path: std::env::current_exe().unwrap().to_str().unwrap().to_owned(),
            args: ["extension", "--exact", "--ignored", "--nocapture"]
                .map(str::to_owned)
                .to_vec(),
            enabled: true,
            ..Entry::default()
        };
        entry
            .env
            .insert("FAKE_SOCKET".to_owned(), path.to_str().unwrap().to_owned());
        (entry, socket)
    }

    /// Loads these entries and returns their ids.
    pub(crate) fn load(&self, entries: &[Entry]) -> Vec<ExtensionId> {
        let mut environment = Environment::empty();
        environment.set("PATH", "/usr/bin:/bin");
        let place = Surroundings {
            cwd: self.directory.path().to_owned(),
            environment,
            data: self.path("data"),
            version: "1.2.3",
        };
        let entries = entries.iter().cloned().enumerate();
        let specs: Vec<_> = entries
            .map(|(at, entry)| ExtensionSpec::new(entry, at, &place))
            .collect();
        let ids = specs.iter().map(|spec| spec.id.clone()).collect();
        self.host.load(specs).unwrap();
        ids
    }

    /// Runs a fake extension with this manifest.
    pub(crate) async fn run(&mut self, about: Value) -> (ExtensionId, Fake) {
        let (entry, socket) = self.fake("one");
        let id = self.load(&[entry]).remove(0);
        let mut fake = socket.started().await;
        fake.greet(about).await;
        self.reaches(&id, ExtensionState::Running).await;
        (id, fake)
    }

    /// Returns the next matching event.
    pub(crate) async fn news<R>(&mut self, mut fits: impl FnMut(News) -> Option<R>) -> R {
        let found = async {
            loop {
                if let Some(found) = fits(self.news.recv().await.unwrap()) {
                    return found;
                }
            }
        };
        timeout(PATIENCE, found).await.expect("the news did not come")
    }

    /// Waits until an extension is in a state.
    pub(crate) async fn reaches(&mut self, id: &ExtensionId, state: ExtensionState) -> ExtensionStatus {
        self.news(|news| match news {
            News::Extension(status) if status.id == *id && status.state == state => Some(status),
            _ => None,
        })
        .await
    }

    /// Waits until an extension has this in its log.
    pub(crate) async fn logs(&mut self, text: &str) -> bobbin_hermes::LogRecord {
        self.news(|news| match news {
            News::Log(_, record) if record.message.contains(text) => Some(record),
            _ => None,
        })
        .await
    }

    /// Opens a document with this text.
    pub(crate) async fn open(&self, name: &str, text: &str) -> ThreadId {
        let thread = ThreadId::new(name);
        let opened = self
            .host
            .open(&thread, Source::Text(text.to_owned()), false)
            .await;
        opened.unwrap();
        thread
    }
}

/// The smallest manifest of an extension.
pub(crate) fn plain() -> Value {
    json!({ "name": "tea", "version": "1.0.0" })
}

/// A manifest with these commands.
pub(crate) fn with_commands(commands: &[&str]) -> Value {
    json!({ "name": "tea", "version": "1.0.0", "capabilities": { "commands": commands } })
}
