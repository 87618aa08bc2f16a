//! A program beside a server, through which the server reaches models. Clients bring it along.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bobbin_children::{Children, Environment, ProcessSpec};
use bobbin_supervise::Child;
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::error::HubError;
use crate::launch::{Stderr, code};
use crate::wire::ApiProxy;

/// How long it may take to answer.
const READY: Duration = Duration::from_secs(15);
/// Time between two looks whether it answers.
const POLL: Duration = Duration::from_millis(200);
/// How long one answer may take.
const ANSWER: Duration = Duration::from_secs(3);
/// How long it has to end.
const GRACE: Duration = Duration::from_secs(2);

/// The proxy that a request wants, with all members.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ProxyPlan {
    binary: PathBuf,
    config: PathBuf,
    pub(crate) endpoint: String,
    pub(crate) key: String,
}

impl ProxyPlan {
    /// Returns the plan of a request; `None` where it wants no proxy.
    ///
    /// # Errors
    /// [`HubError::Proxy`].
    pub(crate) fn of(request: Option<ApiProxy>) -> Result<Option<Self>, HubError> {
        let Some(request) = request.filter(|request| request.enabled) else {
            return Ok(None);
        };
        let wrong = |what: &str| HubError::Proxy(what.to_owned());
        let text = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let file = |path: Option<PathBuf>| path.filter(|path| path.is_absolute() && path.is_file());
        let endpoint = text(request.endpoint).and_then(|text| url::Url::parse(&text).ok());
        let endpoint = endpoint.filter(|url| matches!(url.scheme(), "http" | "https"));
        let endpoint = endpoint.ok_or_else(|| wrong("endpoint is no http address"))?;
        Ok(Some(Self {
            binary: file(request.binary_path)
                .ok_or_else(|| wrong("binaryPath is no absolute path of a file"))?,
            config: file(request.config_path)
                .ok_or_else(|| wrong("configPath is no absolute path of a file"))?,
            endpoint: endpoint.as_str().trim_end_matches('/').to_owned(),
            key: text(request.api_key).ok_or_else(|| wrong("apiKey is missing"))?,
        }))
    }
}

/// A proxy that answers.
pub(crate) struct Proxy {
    child: Child,
    pub(crate) plan: ProxyPlan,
    /// Whether its end has been seen.
    pub(crate) is_gone: bool,
    _reading: AbortOnDropHandle<std::io::Result<u64>>,
}

impl Proxy {
    /// Starts a proxy and waits until it answers.
    ///
    /// # Errors
    /// It does not; nothing runs then.
    pub(crate) async fn start(
        children: &Children,
        environment: &Environment,
        root: &Path,
        plan: ProxyPlan,
    ) -> Result<Self, HubError> {
        let stderr = Stderr::default();
        let failed = |reason: String| HubError::StartFailed {
            reason: format!("the proxy did not start: {reason}"),
            stderr: stderr.text(),
        };
        let spec = ProcessSpec::new(&plan.binary, root, environment.clone())
            .arg("--config")
            .arg(&plan.config);
        let (mut child, streams) = stderr.start(children, spec).await.map_err(failed)?;
        let mut output = streams.output;
        // Nobody reads what it prints; unread, it would block. The task ends with the proxy's output.
        let reading = tokio::spawn(async move { tokio::io::copy(&mut output, &mut tokio::io::sink()).await });
        let reading = AbortOnDropHandle::new(reading);
        let reason = tokio::select! {
            biased;
            () = child.lost() => "it ended".to_owned(),
            answered = timeout(READY, answers(&plan)) => match answered {
                Ok(Ok(())) => return Ok(Self { child, plan, is_gone: false, _reading: reading }),
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("it does not answer after {READY:?}"),
            },
        };
        drop(child.end(GRACE).await);
        Err(failed(reason))
    }

    /// Returns the id of its process, or of its parent process.
    pub(crate) fn id(&self) -> i32 {
        self.child.id()
    }

    /// Returns once its process has ended, if that was not seen before.
    pub(crate) async fn lost(&mut self) {
        if self.is_gone {
            std::future::pending::<()>().await;
        }
        self.child.lost().await;
        self.is_gone = true;
    }

    /// Ends it and returns its exit code.
    pub(crate) async fn end(self) -> Option<i32> {
        self.child.end(GRACE).await.exit.map(code)
    }
}

/// Returns once the proxy lists its models.
async fn answers(plan: &ProxyPlan) -> reqwest::Result<()> {
    let client = reqwest::Client::builder().no_proxy().timeout(ANSWER).build()?;
    let address = format!("{}/models", plan.endpoint);
    loop {
        let asked = client.get(&address).bearer_auth(&plan.key).send().await;
        if asked.is_ok_and(|answer| answer.status().is_success()) {
            return Ok(());
        }
        sleep(POLL).await;
    }
}
