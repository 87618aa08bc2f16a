//! The spec of a server for the host, with secrets and variables already looked up.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bobbin_children::ProcessSpec;
use bobbin_model::{Reach, ServerOrigin};
use bobbin_supervise::Confine;

use crate::TokenFile;

/// A server to run.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    /// Its name; compared without case.
    pub name: String,
    /// The configuration that it comes from.
    pub origin: ServerOrigin,
    /// Whether clients may not change its configuration.
    pub read_only: bool,
    /// How it is reached, for display.
    pub reach: Reach,
    /// How it is started.
    pub launch: Launch,
    /// Confines its process; `None` for one that nothing confines.
    pub sandbox: Option<Arc<dyn Confine>>,
    /// Asked before each start.
    pub check: Option<StartCheck>,
    /// How long it may take from its start until its tools are known.
    pub start_timeout: Duration,
    /// How long a call may take.
    pub call_timeout: Duration,
    /// Values to remove from every shown text.
    pub secrets: Vec<Secret>,
}

/// Checks whether a server may still be started; an error is a sentence for the user. May block.
#[derive(Clone)]
pub struct StartCheck(pub Arc<dyn Fn() -> Result<(), String> + Send + Sync>);

impl fmt::Debug for StartCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StartCheck")
    }
}

/// How a server is started.
#[derive(Debug, Clone)]
pub enum Launch {
    /// As a child process that speaks on its standard streams.
    Child(Box<ProcessSpec>),
    /// Not at all: it runs already and listens on an address.
    Http(Box<HttpSpec>),
    /// Not at all: its configuration says so.
    Disabled,
    /// Not at all, for this reason: a sentence for the user that says what to do.
    Withheld(String),
}

/// A server that is reached over streamable HTTP.
#[derive(Clone)]
pub struct HttpSpec {
    /// Its address.
    pub url: String,
    /// The bearer token of every request.
    pub bearer: Option<String>,
    /// Other headers of every request.
    pub headers: Vec<(String, String)>,
    /// The tokens of a login; `bearer` takes precedence.
    pub tokens: TokenFile,
}

impl fmt::Debug for HttpSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values of headers are secrets, and so may parts of the address be.
        f.debug_struct("HttpSpec").finish_non_exhaustive()
    }
}

/// A value that may not be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
