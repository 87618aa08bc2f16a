//! The events of documents, sent to the extensions that subscribe to them.

use std::collections::HashMap;
use std::sync::Arc;

use bobbin_hl7::{Format, Shape};
use bobbin_model::ThreadId;
use bobbin_peer::PeerHandle;
use serde_json::{Value, json};

use crate::host::Roster;
use crate::news::Origin;
use crate::shared::Shared;

/// An event that is sent without a delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Opened,
    Saved,
}

/// Sends an event.
pub(crate) fn send(roster: &Roster, event: Event, params: &Value) {
    for (_, running) in roster.running() {
        let (wanted, method) = match event {
            Event::Opened => (running.manifest.opened, "message/opened"),
            Event::Saved => (running.manifest.saved, "message/saved"),
        };
        if wanted {
            notify(&running.peer, method, params);
        }
    }
}

/// Sends `message/changed` for each document after a pause in its changes. Runs until it is dropped.
pub(crate) async fn send_changes(shared: Arc<Shared>, roster: Arc<Roster>) {
    loop {
        let thread = shared.documents.next_due().await;
        send_changed(&shared, &roster, &thread).await;
    }
}

async fn send_changed(shared: &Shared, roster: &Roster, thread: &ThreadId) {
    let mut subscribers = Vec::new();
    for (one, running) in roster.running() {
        if let Some(changed) = running.manifest.changed {
            let wanted = changed
                .content
                .map(|format| (format, one.service().spec.entry.shape));
            subscribers.push((running.peer, wanted));
        }
    }
    let wanted: Vec<_> = subscribers.iter().map(|(_, wanted)| *wanted).collect();
    let made = shared.documents.with(thread, Origin::Client, move |state| {
        let file = state.path().map(|path| path.to_string_lossy().into_owned());
        let mut made: HashMap<Option<(Format, Shape)>, Value> = HashMap::new();
        for wanted in wanted {
            made.entry(wanted).or_insert_with(|| {
                let mut params = json!({ "hasFile": file.is_some() });
                if let Some(file) = &file {
                    params["filePath"] = json!(file);
                }
                if let Some((format, shape)) = wanted {
                    let (format, text) = state.document.get_or_raw(format, shape);
                    params["message"] = json!(text);
                    params["format"] = json!(format);
                }
                params
            });
        }
        Ok(made)
    });
    // The document may have been closed meanwhile.
    let Ok(made) = made.await else { return };
    for (peer, wanted) in subscribers {
        if let Some(params) = made.get(&wanted) {
            notify(&peer, "message/changed", params);
        }
    }
}

fn notify(peer: &PeerHandle, method: &str, params: &Value) {
    // An extension that does not read loses events, and delays no other.
    if let Err(error) = peer.try_notify(method, params) {
        tracing::debug!(%error, method, "an extension was not notified");
    }
}
