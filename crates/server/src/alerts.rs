//! The alerts of a workspace, with links to the page that has the Thread.

use std::path::PathBuf;
use std::sync::Arc;

use bobbin_alerts::{AlertSettings, Alerts, Sender};
use bobbin_children::{Children, Environment};
use bobbin_model::ThreadId;
use bobbin_workspace::{NodeRecord, Workspace};
use parking_lot::Mutex;

/// The address of the page of a workspace: that of its own listener, else that at the node.
#[derive(Clone)]
pub(crate) struct PageAddress {
    workspace: Workspace,
    own: Arc<Mutex<Option<String>>>,
}

impl PageAddress {
    pub(crate) fn of(workspace: &Workspace) -> Self {
        Self {
            workspace: workspace.clone(),
            own: Arc::default(),
        }
    }

    /// Sets the address of the page at the server's own listener.
    pub(crate) fn set(&self, page: Option<String>) {
        *self.own.lock() = page;
    }

    /// Returns the address of a Thread, or of the page. Reads the record of the node.
    fn link(&self, thread: Option<&ThreadId>) -> Option<String> {
        let page = self.own.lock().clone().or_else(|| {
            let node = NodeRecord::of(self.workspace.state_directory())?;
            let name = self.workspace.name()?;
            node.page_elsewhere_of(&name).or_else(|| node.page_of(&name))
        })?;
        Some(match thread {
            Some(thread) => format!("{page}#/t/{}", thread.as_str()),
            None => page,
        })
    }
}

/// Returns the alerts that the user wants.
pub(crate) fn of(
    settings: Option<&AlertSettings>,
    page: &PageAddress,
    children: &Children,
    environment: Environment,
) -> Option<Alerts> {
    let settings = settings?.clone();
    // Not the workspace, where the agent could write the program.
    let directory = PathBuf::from("/");
    let sender = Sender::new(settings.target.clone(), children.clone(), environment, directory);
    let sender = match sender {
        Ok(sender) => sender,
        Err(error) => {
            tracing::warn!(%error, "there are no alerts");
            return None;
        }
    };
    let root = &page.workspace.root;
    let name = page.workspace.name();
    let folder = || {
        root.file_name()
            .unwrap_or(root.as_os_str())
            .to_string_lossy()
            .into_owned()
    };
    let name = name.unwrap_or_else(folder);
    let page = page.clone();
    Some(Alerts::new(
        settings,
        sender,
        name,
        Box::new(move |thread| page.link(thread)),
    ))
}
