//! One alert on its way.

use std::path::PathBuf;
use std::time::Duration;

use bobbin_children::{Children, Environment, Exit, Input, Limits, ProcessSpec};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::redirect;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::settings::AlertTarget;

/// How long an alert may take.
const TIME: Duration = Duration::from_secs(20);

/// The subject of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AlertKind {
    /// A question waits for an answer.
    Question,
    /// A long Turn has ended.
    TurnEnded,
    /// The user tries the settings.
    Test,
}

/// An alert, as a program gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Alert {
    /// Its subject.
    pub kind: AlertKind,
    /// The name of the workspace.
    pub workspace: String,
    /// The title of the Thread, if it has one and titles may leave the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The Thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The address of the Thread on the page, if there is a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// Why an alert was not delivered. Has no part of the address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AlertError {
    /// The address does not answer.
    #[error("the address of Alerts.Url does not answer")]
    Unreachable,
    /// The address refuses it.
    #[error("the address of Alerts.Url answers {0}")]
    Refused(u16),
    /// The program cannot be started.
    #[error("the program of Alerts.Command cannot be started: {0}")]
    NotStarted(String),
    /// The program fails, or takes too long.
    #[error("the program of Alerts.Command {0}")]
    Failed(String),
}

/// Sends alerts.
#[derive(Clone)]
pub struct Sender {
    target: AlertTarget,
    client: reqwest::Client,
    children: Children,
    environment: Environment,
    /// The directory that a program starts in.
    directory: PathBuf,
}

impl Alert {
    /// Returns the sentence of the alert.
    fn text(&self) -> String {
        let what = match self.kind {
            AlertKind::Question => "Needs your answer",
            AlertKind::TurnEnded => "Done",
            AlertKind::Test => "Alerts work",
        };
        match &self.title {
            Some(title) => format!("{what}: {title}"),
            None => what.to_owned(),
        }
    }
}

impl Sender {
    /// Returns a sender to a target. A program starts in `directory` with `environment`, outside of the sandbox.
    ///
    /// # Errors
    /// There are no certificates to check TLS with.
    pub fn new(
        target: AlertTarget,
        children: Children,
        environment: Environment,
        directory: PathBuf,
    ) -> Result<Self, reqwest::Error> {
        // An answer that leads elsewhere is a refusal: the alert, and the address in `Referer`, are for one server alone.
        let client = reqwest::Client::builder()
            .timeout(TIME)
            .redirect(redirect::Policy::none())
            .build()?;
        Ok(Self {
            target,
            client,
            children,
            environment,
            directory,
        })
    }

    /// Sends an alert, at most for 20 seconds.
    ///
    /// # Errors
    /// [`AlertError`].
    pub async fn send(&self, alert: &Alert) -> Result<(), AlertError> {
        match &self.target {
            AlertTarget::Url(url) => {
                let mut request = self
                    .client
                    .post(url.clone())
                    .header(CONTENT_TYPE, "text/plain; charset=utf-8");
                // Names of folders may have characters that a header cannot carry.
                if let Ok(title) = HeaderValue::from_str(&alert.workspace.escape_default().to_string()) {
                    request = request.header("Title", title);
                }
                if let Some(Ok(link)) = alert.link.as_deref().map(HeaderValue::from_str) {
                    request = request.header("Click", link);
                }
                let answer = request.body(alert.text()).send().await;
                let status = answer.map_err(|_| AlertError::Unreachable)?.status();
                if status.is_success() {
                    Ok(())
                } else {
                    Err(AlertError::Refused(status.as_u16()))
                }
            }
            AlertTarget::Command(program, arguments) => {
                let mut input = serde_json::to_vec(alert).unwrap_or_default();
                input.push(b'\n');
                let spec = ProcessSpec::new(program, &self.directory, self.environment.clone())
                    .args(arguments)
                    .input(Input::Bytes(input));
                let limits = Limits {
                    wall_clock: TIME,
                    ..Limits::default()
                };
                let ran = self
                    .children
                    .run(spec, &limits, None, &CancellationToken::new())
                    .await;
                match ran
                    .map_err(|error| AlertError::NotStarted(error.to_string()))?
                    .exit
                {
                    Exit::Exited(0) => Ok(()),
                    Exit::Exited(code) => Err(AlertError::Failed(format!("exited with {code}"))),
                    Exit::TimedOut => Err(AlertError::Failed("took longer than 20 seconds".to_owned())),
                    Exit::Signaled(_) | Exit::OverMemory(_) | Exit::Cancelled => {
                        Err(AlertError::Failed("was ended".to_owned()))
                    }
                }
            }
        }
    }
}
