//! State shared by all extensions of a host: documents, clients, and the document that a request is about.

use std::collections::BTreeMap;
use std::sync::Arc;

use bobbin_agent_api::Clock;
use bobbin_children::Children;
use bobbin_model::ThreadId;
use bobbin_peer::PeerHandle;
use parking_lot::Mutex;
use serde_json::json;

use crate::documents::Documents;
use crate::news::{Announce, News};
use crate::screens::{ClientId, ClosedWindow, Screens};
use crate::spec::ExtensionId;
use crate::ui;
use crate::unsaved::Unsaved;

pub(crate) struct Shared {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) children: Children,
    pub(crate) documents: Documents,
    pub(crate) screens: Screens,
    announce: Announce,
    focus: Mutex<Focus>,
}

/// The focused Thread and the last commands.
#[derive(Default)]
struct Focus {
    /// The Thread that a client focused last.
    thread: Option<ThreadId>,
    /// The last command of each extension.
    commands: BTreeMap<ExtensionId, Issued>,
}

/// Origin of a command.
#[derive(Debug, Clone, Default)]
pub(crate) struct Issued {
    /// The Thread that the command is about; `None` after a client focuses another Thread.
    pub(crate) thread: Option<ThreadId>,
    /// The client that sent the command.
    pub(crate) client: Option<ClientId>,
}

impl Shared {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        children: Children,
        announce: Announce,
        unsaved: Unsaved,
    ) -> Self {
        Self {
            clock,
            children,
            documents: Documents::new(announce.clone(), unsaved),
            screens: Screens::default(),
            announce,
            focus: Mutex::default(),
        }
    }

    pub(crate) fn announce(&self, news: News) {
        (self.announce)(news);
    }

    /// Records the Thread that a client focused.
    pub(crate) fn focus(&self, thread: &ThreadId) {
        let mut focus = self.focus.lock();
        focus.thread = Some(thread.clone());
        for issued in focus.commands.values_mut() {
            issued.thread = None;
        }
    }

    /// Records the origin of the command that an extension is about to get.
    pub(crate) fn issued(&self, extension: &ExtensionId, issued: Issued) {
        self.focus.lock().commands.insert(extension.clone(), issued);
    }

    /// Returns the Thread and the client that an extension's requests are about.
    pub(crate) fn target(&self, extension: &ExtensionId) -> Issued {
        let focus = self.focus.lock();
        let issued = focus.commands.get(extension).cloned().unwrap_or_default();
        Issued {
            thread: issued.thread.or_else(|| focus.thread.clone()),
            client: issued.client,
        }
    }

    /// Removes the command of an extension that has ended.
    pub(crate) fn forget(&self, extension: &ExtensionId) {
        self.focus.lock().commands.remove(extension);
    }

    /// Asks the client of a closed window to remove it from the screen.
    pub(crate) fn close_on_screen(&self, window: &ClosedWindow) {
        let params = json!({ "windowId": window.id, "extensionId": window.extension });
        self.screens.notify(window.client, ui::CLOSE_WINDOW, params);
    }
}

/// Notifies an extension that its window is closed.
pub(crate) fn window_closed(peer: &PeerHandle, window: &str, reason: &str) {
    let params = json!({ "windowId": window, "reason": reason });
    // Its queue is full only if it has not read for long, so waiting would not help.
    if let Err(error) = peer.try_notify("window/closed", params) {
        tracing::debug!(%error, "an extension was not notified of a closed window");
    }
}
