//! The feature, and the runs that a client has named.

use std::collections::HashMap;
use std::sync::Arc;

use crate::Host;
use bobbin_native::client::Client;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Most runs of a connection at the same time.
const MAX_RUNS: usize = 64;

/// FineCode for clients.
#[derive(Clone)]
pub struct FineCode {
    /// Runs what clients ask for.
    pub(crate) host: Arc<Host>,
    /// Runs what the agent asks for. Clients see and end its runners.
    pub(crate) agents: Arc<Host>,
}

impl FineCode {
    /// Returns the feature for the host of clients and that of the agent.
    pub fn new(host: Arc<Host>, agents: Arc<Host>) -> Self {
        Self { host, agents }
    }

    /// Returns both hosts.
    pub(crate) fn hosts(&self) -> [&Arc<Host>; 2] {
        [&self.host, &self.agents]
    }
}

/// The runs of one connection, by name.
#[derive(Default)]
pub(crate) struct Runs(Mutex<HashMap<String, CancellationToken>>);

impl Runs {
    /// Returns the runs of a client's connection, which [`Runs::ready`] has added.
    pub(crate) fn of(client: &Client) -> Arc<Self> {
        client.peer().extensions().get().unwrap_or_default()
    }

    pub(crate) fn ready(client: &Client) {
        client.peer().extensions().insert(Self::default());
    }

    /// Notes a run.
    ///
    /// # Errors
    /// A sentence for the user.
    pub(crate) fn enter(self: &Arc<Self>, name: &str) -> Result<Entered, &'static str> {
        let mut runs = self.0.lock();
        if runs.contains_key(name) {
            return Err("'runId' is the name of another run.");
        }
        if runs.len() >= MAX_RUNS {
            return Err("Too many runs at the same time.");
        }
        let token = CancellationToken::new();
        runs.insert(name.to_owned(), token.clone());
        Ok(Entered {
            runs: self.clone(),
            name: name.to_owned(),
            token,
        })
    }

    /// Cancels a run. Returns whether there was one.
    pub(crate) fn cancel(&self, name: &str) -> bool {
        let runs = self.0.lock();
        runs.get(name).inspect(|token| token.cancel()).is_some()
    }
}

/// A run that is going on, until it is dropped.
pub(crate) struct Entered {
    runs: Arc<Runs>,
    name: String,
    pub(crate) token: CancellationToken,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.runs.0.lock().remove(&self.name);
    }
}
