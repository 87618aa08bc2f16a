//! Errors of providers, in words for the user: what happened, and what to do next.
//!
//! No error contains a key: callers remove it from the provider's words.

use std::time::Duration;

use bobbin_agent_api::model::ModelError;

/// Why there is no whole reply. `name` is the user's name for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The settings cannot be used.
    #[error("The model {name:?} is configured wrongly: {why}.")]
    Settings {
        /// The model.
        name: String,
        /// The reason.
        why: String,
    },
    /// The provider wants a key and none is configured.
    #[error("The provider of the model {name:?} wants a key and there is none: {how}.")]
    NoKey {
        /// The model.
        name: String,
        /// The way to configure one.
        how: String,
    },
    /// The provider rejects the key.
    #[error(
        "The provider of the model {name:?} does not accept the key (status {status}): check {source_of_key}."
    )]
    WrongKey {
        /// The model.
        name: String,
        /// HTTP status.
        status: u16,
        /// The source of the key.
        source_of_key: String,
    },
    /// The key lacks a permission.
    #[error(
        "The provider of the model {name:?} refuses access (status 403){said}. Check what the key may use."
    )]
    Forbidden {
        /// The model.
        name: String,
        /// The provider's words, as a clause.
        said: String,
    },
    /// The provider knows no such model, or no such address.
    #[error(
        "The provider of the model {name:?} does not know {model:?} at this address{said}. Check Model and BaseUrl."
    )]
    UnknownModel {
        /// The model.
        name: String,
        /// The provider's name for it.
        model: String,
        /// The provider's words, as a clause.
        said: String,
    },
    /// The conversation does not fit the model's window.
    #[error(
        "The conversation is longer than the window of the model {name:?}{said}. Start a new thread, or choose a model with a larger window."
    )]
    ContextExceeded {
        /// The model.
        name: String,
        /// The provider's words, as a clause.
        said: String,
    },
    /// The user's quota is used up.
    #[error(
        "The provider of the model {name:?} says that its quota is used up{said}. Check the plan and the billing there."
    )]
    Quota {
        /// The model.
        name: String,
        /// The provider's words, as a clause.
        said: String,
    },
    /// Too many requests at once.
    #[error("The provider of the model {name:?} limits the rate of requests{}{said}. Try again later.", after(*.retry_after))]
    RateLimited {
        /// The model.
        name: String,
        /// When to try again, if the provider gave a time.
        retry_after: Option<Duration>,
        /// The provider's words, as a clause.
        said: String,
    },
    /// One request exceeds the provider's tokens per minute, so waiting is no help.
    #[error(
        "The request is larger than what the provider of the model {name:?} takes in a minute{said}. Start a new thread, or have the limit raised there."
    )]
    OverRate {
        /// The model.
        name: String,
        /// The provider's words, as a clause.
        said: String,
    },
    /// The provider has an internal error or is overloaded.
    #[error("The provider of the model {name:?} failed (status {status}){said}. Try again {}.", when(*.retry_after))]
    Server {
        /// The model.
        name: String,
        /// HTTP status.
        status: u16,
        /// The provider's words, as a clause.
        said: String,
        /// When to try again, if the provider gave a time.
        retry_after: Option<Duration>,
    },
    /// The provider refuses the request as invalid.
    #[error("The provider of the model {name:?} refuses the request (status {status}){said}.")]
    Refused {
        /// The model.
        name: String,
        /// HTTP status.
        status: u16,
        /// The provider's words, as a clause.
        said: String,
    },
    /// The provider broke off a reply with an error.
    #[error("The provider of the model {name:?} broke off its reply{said}. Try again.")]
    BrokenOff {
        /// The model.
        name: String,
        /// The provider's words, as a clause.
        said: String,
    },
    /// The provider's content filter refused the request or the reply.
    #[error("The model {name:?} declined to answer: its provider filtered the reply.")]
    Filtered {
        /// The model.
        name: String,
    },
    /// The connection failed.
    #[error("The provider of the model {name:?} cannot be reached ({why}). Check the network and BaseUrl.")]
    Unreachable {
        /// The model.
        name: String,
        /// The network's error.
        why: String,
    },
    /// The connection ended in the middle of a reply.
    #[error(
        "The connection to the provider of the model {name:?} ended in the middle of the reply. Try again."
    )]
    Truncated {
        /// The model.
        name: String,
    },
    /// The reply does not follow the wire's format.
    #[error(
        "The provider of the model {name:?} sent a reply that cannot be read ({why}). Check that Wire is the right one."
    )]
    Malformed {
        /// The model.
        name: String,
        /// The reason.
        why: String,
    },
    /// The reply exceeds a limit.
    #[error(
        "The provider of the model {name:?} sent more than {bytes} bytes {of}, which is all that is read. Ask for less at once."
    )]
    TooLarge {
        /// The model.
        name: String,
        /// The limit.
        bytes: usize,
        /// The thing that the limit is for.
        of: &'static str,
    },
    /// The reply did not end in time.
    #[error("The provider of the model {name:?} did not come to an end in {} seconds. Ask for less at once; ReplySeconds is how long to wait.", .whole.as_secs())]
    Endless {
        /// The model.
        name: String,
        /// The limit.
        whole: Duration,
    },
    /// No bytes came for too long.
    #[error("The provider of the model {name:?} was silent for {} seconds. Try again; IdleSeconds is how long to wait.", .idle.as_secs_f32())]
    Stalled {
        /// The model.
        name: String,
        /// The limit.
        idle: Duration,
    },
}

impl ProviderError {
    /// Whether another attempt may succeed. Callers ask only before a reply has started.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. }
                | Self::Server { .. }
                | Self::BrokenOff { .. }
                | Self::Unreachable { .. }
                | Self::Truncated { .. }
        )
    }

    /// Whether another provider may succeed: neither the request nor the settings are at fault.
    pub(crate) fn is_the_providers(&self) -> bool {
        let stuck = matches!(
            self,
            Self::Quota { .. } | Self::OverRate { .. } | Self::Stalled { .. } | Self::Endless { .. }
        );
        stuck || self.is_passing()
    }

    /// Whether the settings of this model are at fault, so that asking it again changes nothing.
    pub(crate) fn is_of_settings(&self) -> bool {
        matches!(
            self,
            Self::Settings { .. }
                | Self::NoKey { .. }
                | Self::WrongKey { .. }
                | Self::Forbidden { .. }
                | Self::UnknownModel { .. }
        )
    }

    /// Returns a passing failure in a few words, for a status line.
    pub(crate) fn in_short(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } => "Provider rate limited",
            Self::Unreachable { .. } => "Provider not reached",
            Self::BrokenOff { .. } | Self::Truncated { .. } => "Reply broken off",
            _ => "Provider overloaded",
        }
    }

    /// Returns how long the provider wants the client to wait.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Server { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

impl From<ProviderError> for ModelError {
    fn from(error: ProviderError) -> Self {
        let text = error.to_string();
        match error {
            ProviderError::ContextExceeded { .. } => Self::ContextExceeded(text),
            // Gateways know no model that takes such a request.
            ProviderError::Refused {
                status: 400..=499, ..
            }
            | ProviderError::UnknownModel { .. } => Self::Refused(text),
            _ => Self::Failed(text),
        }
    }
}

fn after(wait: Option<Duration>) -> String {
    wait.map_or_else(String::new, |wait| {
        format!(" for {} more seconds", wait.as_secs().max(1))
    })
}

fn when(wait: Option<Duration>) -> String {
    wait.map_or_else(
        || "later".to_owned(),
        |wait| format!("in {} seconds", wait.as_secs().max(1)),
    )
}
