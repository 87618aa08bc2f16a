//! Answers of a server that wants a login, or a login that allows more.

use std::error::Error;

use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};

use crate::HttpSpec;
use crate::text::shown;

/// Longest scope in a text for the user.
const MAX_SCOPE: usize = 200;

/// Why a server denies a request of its caller.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Denial {
    /// It does not know its caller. The challenge says where to log in; it may be empty.
    Unknown(String),
    /// The token lacks this scope.
    Scope(String),
}

impl Denial {
    /// Returns the denial that is the cause of an error.
    pub(crate) fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut chain = std::iter::successors(Some(error), |error| (**error).source());
        chain.find_map(|error: &(dyn Error + 'static)| {
            if let Some(denied) = error.downcast_ref::<AuthRequiredError>() {
                return Some(Self::Unknown(denied.www_authenticate_header.clone()));
            }
            if let Some(denied) = error.downcast_ref::<InsufficientScopeError>() {
                return denied.required_scope.clone().map(Self::Scope);
            }
            // A token has expired and cannot be refreshed: nothing was sent.
            let expired = matches!(error.downcast_ref()?, AuthError::AuthorizationRequired);
            expired.then(|| Self::Unknown(String::new()))
        })
    }

    /// Returns the reason and the next step, as words that follow the server's name. Stores a lacking scope for the next
    /// login.
    pub(crate) async fn explain(&self, name: &str, at: &HttpSpec) -> String {
        let login = format!("run `bobbin mcp login {name}`");
        match (self, at.bearer.is_some()) {
            (Self::Unknown(_), true) => "does not accept its token (BearerTokenEnvVar)".to_owned(),
            (Self::Unknown(_), false) if at.tokens.login().await.is_ok_and(|login| login.is_some()) => {
                format!("wants a new login: the last is over; {login}")
            }
            (Self::Unknown(_), false) => {
                format!("wants a login; {login}, or give it a token (BearerTokenEnvVar)")
            }
            (Self::Scope(scope), true) => format!(
                "wants a token (BearerTokenEnvVar) with the scope {}",
                shown(scope, &[], MAX_SCOPE)
            ),
            (Self::Scope(scope), false) => {
                if let Err(error) = at.tokens.want_scope(scope.clone()).await {
                    tracing::warn!(server = name, %error, "the next login does not ask for what is lacking");
                }
                let scope = shown(scope, &[], MAX_SCOPE);
                format!("wants a login that allows more (scope {scope}); {login}")
            }
        }
    }
}
