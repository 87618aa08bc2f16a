//! A client of a running Hub: for the command line, and for servers that have something to notify of.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::lock::LockContent;
use crate::wire::AppServer;

/// How long a Hub may take to answer.
const ANSWER: Duration = Duration::from_secs(3);

/// Why a Hub did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// It does not answer.
    #[error("the Hub does not answer")]
    Http(#[from] reqwest::Error),
}

/// A running Hub.
pub struct Remote {
    base_url: String,
    token: String,
}

/// Something that a client may show to its user.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notification {
    /// The workspace.
    pub workspace_path: String,
    /// The subject, for programs.
    pub kind: &'static str,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// `info`, `success`, `warning` or `error`.
    pub severity: &'static str,
    /// The program that notifies.
    pub source: &'static str,
}

impl Remote {
    /// Returns the Hub that a lock file names.
    pub fn new(content: &LockContent) -> Self {
        Self::at(content.api_base_url.clone(), content.token.clone())
    }

    /// Returns the Hub at an address.
    pub fn at(base_url: String, token: String) -> Self {
        Self { base_url, token }
    }

    /// Returns what the Hub says of itself.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn status(&self) -> Result<Value, ClientError> {
        let asked = http()?.get(format!("{}/v1/status", self.base_url)).send().await?;
        Ok(asked.error_for_status()?.json().await?)
    }

    /// Returns the workspaces that the Hub knows.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn servers(&self) -> Result<Vec<AppServer>, ClientError> {
        let asked = http()?.get(format!("{}/v1/appservers", self.base_url));
        let answer = asked.bearer_auth(&self.token).send().await?;
        Ok(answer.error_for_status()?.json().await?)
    }

    /// Ends the Hub and the servers that it has started.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn shut_down(&self) -> Result<(), ClientError> {
        let asked = http()?.post(format!("{}/v1/shutdown", self.base_url));
        asked.bearer_auth(&self.token).send().await?.error_for_status()?;
        Ok(())
    }

    /// Has the Hub notify its subscribers.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn notify(&self, notification: &Notification) -> Result<(), ClientError> {
        let asked = http()?.post(format!("{}/v1/notifications/request", self.base_url));
        let text = serde_json::to_vec(notification).unwrap_or_default();
        let asked = asked.bearer_auth(&self.token).body(text);
        asked.send().await?.error_for_status()?;
        Ok(())
    }
}

/// Returns a client that asks no proxy: the Hub is on this machine.
fn http() -> reqwest::Result<reqwest::Client> {
    reqwest::Client::builder().no_proxy().timeout(ANSWER).build()
}
