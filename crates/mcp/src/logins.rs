//! Logins at MCP servers that wait for their user while this server runs. The tokens are in the state directory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::{HttpSpec, Launch, Login, ServerSpec, TokenFile};

/// Returns the directory with the tokens of logins.
pub fn logins(state: &Path) -> PathBuf {
    state.join("logins")
}

/// Returns the HTTP specification of a server at which a user can log in.
///
/// # Errors
/// The reason why a user cannot log in: a sentence for the user.
pub fn over_http(spec: ServerSpec) -> Result<HttpSpec, String> {
    let name = &spec.name;
    match spec.launch {
        Launch::Http(http) => Ok(*http),
        Launch::Child(_) => Err(format!("{name} is started here: there is no login for it")),
        Launch::Disabled => Err(format!("{name} is disabled in the configuration")),
        Launch::Withheld(why) => Err(format!("{name} may not be reached: {why}")),
    }
}

/// The logins that wait for their users. At most one for each server.
#[derive(Default)]
pub(crate) struct Logins {
    /// The login page of each server.
    pages: Arc<Mutex<HashMap<TokenFile, String>>>,
    tasks: TaskTracker,
    closing: CancellationToken,
}

impl Logins {
    /// Starts a login, unless one waits for this server. Returns the page for the user to open. The user may take
    /// `limit`, within the limit of every login. `ended` gets the result of a login that was started.
    ///
    /// # Errors
    /// The reason, as the end of a sentence that starts with the server's name.
    pub(crate) async fn start(
        &self,
        server: &HttpSpec,
        limit: Option<Duration>,
        ended: impl FnOnce(Result<(), String>) + Send + 'static,
    ) -> Result<String, String> {
        if let Some(page) = self.pages.lock().get(&server.tokens) {
            return Ok(page.clone());
        }
        let login = Login::start(server, None).await?;
        let (page, tokens) = (login.link().to_owned(), server.tokens.clone());
        self.pages.lock().insert(tokens.clone(), page.clone());
        let (pages, closing) = (self.pages.clone(), self.closing.clone());
        self.tasks.spawn(async move {
            let finished = async {
                match limit {
                    None => login.finish().await,
                    Some(limit) => timeout(limit, login.finish()).await.unwrap_or_else(|_| {
                        let seconds = limit.as_secs();
                        Err(format!("has no login: nobody answered within {seconds} seconds"))
                    }),
                }
            };
            let finished = closing.run_until_cancelled(finished).await;
            pages.lock().remove(&tokens);
            if let Some(outcome) = finished {
                ended(outcome);
            }
        });
        Ok(page)
    }

    /// Ends the waiting logins and closes their ports.
    pub(crate) async fn end(&self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
