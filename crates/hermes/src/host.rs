//! The extensions of a workspace: starts them in the order of the configuration, reloads, lists and ends them.
//!
//! Owns the task of each extension and one task that sends `message/changed`. [`Host::end`] joins them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::Clock;
use bobbin_children::Children;
use bobbin_hl7::Schema;
use bobbin_model::ThreadId;
use bobbin_supervise::{Full, Group, Start, Supervised};
use futures_util::future::join_all;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::documents::Documents;
use crate::error::{CommandError, UnknownExtension};
use crate::events;
use crate::extension::{Extension, ExtensionStatus, Reason, Running};
use crate::logs::LogRecord;
use crate::manifest::Button;
use crate::news::Announce;
use crate::screens::{ClientId, Screen, Shows};
use crate::shared::{Issued, Shared, window_closed};
use crate::spec::{ExtensionId, ExtensionSpec};
use crate::unsaved::Unsaved;

/// Longest wait of [`Host::settled`] for a start; the handshake has its own limit.
const START: Duration = Duration::from_secs(30);
/// The most extensions of a workspace.
pub const MAX_EXTENSIONS: usize = 64;

/// A button and the extension that has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolbarButton {
    /// The extension.
    pub extension_id: ExtensionId,
    /// The button.
    pub button: Button,
}

/// The host of a workspace's extensions.
pub struct Host {
    pub(crate) shared: Arc<Shared>,
    roster: Arc<Roster>,
    _events: AbortOnDropHandle<()>,
}

/// The extensions, in the order of the configuration.
pub(crate) struct Roster {
    group: Group<Extension>,
    order: Mutex<Vec<ExtensionId>>,
}

impl Roster {
    fn all(&self) -> Vec<Arc<Supervised<Extension>>> {
        let order = self.order.lock().clone();
        order
            .iter()
            .filter_map(|id| self.group.get(id.as_str()))
            .collect()
    }

    /// Returns the extensions that run, in order.
    pub(crate) fn running(&self) -> Vec<(Arc<Supervised<Extension>>, Running)> {
        let all = self.all().into_iter();
        all.filter_map(|one| one.handle().map(|handle| (one, handle)))
            .collect()
    }
}

impl Host {
    /// Returns a host without extensions. Call it within a runtime. Unsaved changes are stored in the directory `unsaved`, and
    /// documents stored there are opened. If it is `None`, the end of the host loses unsaved changes.
    pub fn new(
        children: Children,
        clock: Arc<dyn Clock>,
        announce: Announce,
        unsaved: Option<PathBuf>,
    ) -> Self {
        let shared = Arc::new(Shared::new(clock, children, announce, Unsaved(unsaved)));
        let roster = Arc::new(Roster {
            group: Group::new(MAX_EXTENSIONS),
            order: Mutex::default(),
        });
        let events = tokio::spawn(events::send_changes(shared.clone(), roster.clone()));
        Self {
            shared,
            roster,
            _events: AbortOnDropHandle::new(events),
        }
    }

    /// Ends all extensions and starts those of `specs`, in their order.
    ///
    /// # Errors
    /// There are more than [`MAX_EXTENSIONS`]; the first ones run.
    pub fn load(&self, specs: Vec<ExtensionSpec>) -> Result<(), Full> {
        let group = &self.roster.group;
        for one in group.all() {
            one.service().set_reason(Reason::Reload);
        }
        let ids: Vec<_> = specs.iter().map(|spec| spec.id.clone()).collect();
        let before = std::mem::replace(&mut *self.roster.order.lock(), ids.clone());
        for gone in before.iter().filter(|id| !ids.contains(id)) {
            group.remove(gone.as_str());
        }
        for spec in specs {
            let start = if spec.entry.enabled {
                Start::Now
            } else {
                Start::OnRequest
            };
            let id = spec.id.clone();
            group.set(id.as_str(), Extension::new(spec, self.shared.clone()), start)?;
        }
        Ok(())
    }

    /// Restarts the enabled extensions.
    pub fn reload(&self) {
        for one in self.roster.all() {
            one.service().set_reason(Reason::Reload);
            if one.service().status().enabled {
                one.restart();
            }
        }
    }

    /// Returns the status of the extensions, in their order.
    pub fn extensions(&self) -> Vec<ExtensionStatus> {
        self.roster
            .all()
            .iter()
            .map(|one| one.service().status())
            .collect()
    }

    /// Waits until each requested start has an outcome or has exceeded its time.
    pub async fn settled(&self) {
        let all = self.roster.all();
        join_all(all.iter().map(|one| one.settled(START))).await;
    }

    /// Starts or ends an extension.
    ///
    /// # Errors
    /// [`UnknownExtension`].
    pub fn set_enabled(&self, id: &str, enabled: bool) -> Result<(), UnknownExtension> {
        let one = self.find(id)?;
        one.service().set_enabled(enabled);
        if enabled {
            one.start();
        } else {
            one.service().set_reason(Reason::Disabled);
            one.stop();
        }
        Ok(())
    }

    /// Returns up to `limit` entries of an extension's log: the first entries after the number `after`, or the last entries.
    ///
    /// # Errors
    /// [`UnknownExtension`].
    pub fn logs(
        &self,
        id: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<LogRecord>, UnknownExtension> {
        Ok(self.find(id)?.service().records(after, limit))
    }

    fn find(&self, id: &str) -> Result<Arc<Supervised<Extension>>, UnknownExtension> {
        let one = self.roster.group.get(id);
        one.ok_or_else(|| UnknownExtension(id.chars().take(40).collect()))
    }

    /// Returns the buttons of running extensions, in the order of the extensions.
    pub fn toolbar(&self) -> Vec<ToolbarButton> {
        let running = self.roster.running().into_iter();
        let buttons = running.flat_map(|(one, running)| {
            let id = one.service().spec.id.clone();
            let buttons = running.manifest.buttons.clone().into_iter();
            buttons.map(move |button| ToolbarButton {
                extension_id: id.clone(),
                button,
            })
        });
        buttons.collect()
    }

    /// Returns the commands of running extensions, in the order of the extensions.
    pub fn commands(&self) -> Vec<String> {
        let mut commands = Vec::new();
        for (_, running) in self.roster.running() {
            for command in running.manifest.commands() {
                if !commands.contains(command) {
                    commands.push(command.clone());
                }
            }
        }
        commands
    }

    /// Sends a command to the first extension that has it. Returns once it is queued; extensions do not answer.
    ///
    /// # Errors
    /// [`CommandError`].
    pub async fn execute(
        &self,
        command: &str,
        thread: Option<&ThreadId>,
        client: Option<ClientId>,
    ) -> Result<(), CommandError> {
        let mut running = self.roster.running().into_iter();
        let found = running.find(|(_, running)| running.manifest.has(command));
        let not_found = || CommandError::NotFound(command.chars().take(200).collect());
        let (one, Running { peer, .. }) = found.ok_or_else(not_found)?;
        let issued = Issued {
            thread: thread.cloned(),
            client,
        };
        self.shared.issued(&one.service().spec.id, issued);
        let sent = peer
            .notify("command/execute", json!({ "command": command }))
            .await;
        sent.map_err(|_| CommandError::Ended)
    }

    /// Returns the base schema with the overrides of running extensions, in their order.
    pub fn schema(&self) -> Schema {
        let mut schema = Schema::base();
        for (_, running) in self.roster.running() {
            schema = schema.with(&running.manifest.overrides);
        }
        schema
    }

    /// Records that a client looks at a Thread.
    pub fn focus(&self, thread: &ThreadId, client: Option<ClientId>) {
        self.shared.focus(thread);
        if let Some(client) = client {
            self.shared.screens.active(client, thread);
        }
    }

    /// Adds a client that shows windows and dialogs. [`Host::detach`] removes it.
    pub fn attach(&self, screen: Arc<dyn Screen>, shows: Shows) -> ClientId {
        self.shared.screens.attach(screen, shows)
    }

    /// Removes a client and closes its windows.
    pub fn detach(&self, client: ClientId) {
        for window in self.shared.screens.detach(client) {
            self.closed(&window.extension, &window.id, "shutdown");
        }
    }

    /// Records that a user has closed a window that `client` shows.
    pub fn window_closed(&self, client: ClientId, window: &str) {
        if let Some(window) = self.shared.screens.close_window(window, Some(client)) {
            self.closed(&window.extension, &window.id, "user");
        }
    }

    fn closed(&self, extension: &ExtensionId, window: &str, reason: &str) {
        if let Some(one) = self.roster.group.get(extension.as_str())
            && let Some(running) = one.handle()
        {
            window_closed(&running.peer, window, reason);
        }
    }

    pub(crate) fn documents(&self) -> &Documents {
        &self.shared.documents
    }

    /// Sends an event to the extensions that subscribe to it.
    pub(crate) fn event(&self, event: events::Event, params: &Value) {
        events::send(&self.roster, event, params);
    }

    /// Ends all extensions and returns once they are gone.
    pub async fn end(&self) {
        for one in self.roster.group.all() {
            one.service().set_reason(Reason::Closing);
        }
        self.roster.group.end().await;
    }
}
