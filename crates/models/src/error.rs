//! Why a provider did not answer, in words for the user: what happened, and what to do next.
//!
//! A key is in none of them: what a provider says is scrubbed before it gets here.

use std::time::Duration;

use bobbin_agent_api::model::ModelError;

/// Why there is no whole reply. `name` is what the user calls the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The settings cannot be used.
    #[error("The model {name:?} is configured wrongly: {why}.")]
    Settings {
        /// The model.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// The provider wants a key and there is none.
    #[error("The provider of the model {name:?} wants a key and there is none: {how}.")]
    NoKey {
        /// The model.
        name: String,
        /// Where to put one.
        how: String,
    },
    /// The provider does not take the key.
    #[error(
        "The provider of the model {name:?} does not accept the key (status {status}): check {source_of_key}."
    )]
    WrongKey {
        /// The model.
        name: String,
        /// HTTP status.
        status: u16,
        /// Where the key came from.
        source_of_key: String,
    },
    /// The key may not do this.
    #[error(
        "The provider of the model {name:?} refuses access (status 403){said}. Check what the key may use."
    )]
    Forbidden {
        /// The model.
        name: String,
        /// What the provider says, as a clause.
        said: String,
    },
    /// No such model, or no such address.
    #[error(
        "The provider of the model {name:?} does not know {model:?} at this address{said}. Check Model and BaseUrl."
    )]
    UnknownModel {
        /// The model.
        name: String,
        /// The provider's name of it.
        model: String,
        /// What the provider says, as a clause.
        said: String,
    },
    /// The conversation does not fit.
    #[error(
        "The conversation is longer than the window of the model {name:?}{said}. Start a new thread, or choose a model with a larger window."
    )]
    ContextExceeded {
        /// The model.
        name: String,
        /// What the provider says, as a clause.
        said: String,
    },
    /// Nothing is left to spend.
    #[error(
        "The provider of the model {name:?} says that its quota is used up{said}. Check the plan and the billing there."
    )]
    Quota {
        /// The model.
        name: String,
        /// What the provider says, as a clause.
        said: String,
    },
    /// Too many requests at once.
    #[error("The provider of the model {name:?} limits the rate of requests{}{said}. Try again later.", after(*.retry_after))]
    RateLimited {
        /// The model.
        name: String,
        /// When to try again, if it said so.
        retry_after: Option<Duration>,
        /// What the provider says, as a clause.
        said: String,
    },
    /// One request is more than it takes in a minute: waiting is no help.
    #[error(
        "The request is larger than what the provider of the model {name:?} takes in a minute{said}. Start a new thread, or have the limit raised there."
    )]
    OverRate {
        /// The model.
        name: String,
        /// What the provider says, as a clause.
        said: String,
    },
    /// It has a fault of its own, or too much to do.
    #[error("The provider of the model {name:?} failed (status {status}){said}. Try again {}.", when(*.retry_after))]
    Server {
        /// The model.
        name: String,
        /// HTTP status.
        status: u16,
        /// What the provider says, as a clause.
        said: String,
        /// When to try again, if it said so.
        retry_after: Option<Duration>,
    },
    /// It refuses the request as it is.
    #[error("The provider of the model {name:?} refuses the request (status {status}){said}.")]
    Refused {
        /// The model.
        name: String,
        /// HTTP status.
        status: u16,
        /// What the provider says, as a clause.
        said: String,
    },
    /// It broke off a reply with an error.
    #[error("The provider of the model {name:?} broke off its reply{said}. Try again.")]
    BrokenOff {
        /// The model.
        name: String,
        /// What the provider says, as a clause.
        said: String,
    },
    /// It will not answer this.
    #[error("The model {name:?} declined to answer: its provider filtered the reply.")]
    Filtered {
        /// The model.
        name: String,
    },
    /// There is no connection.
    #[error("The provider of the model {name:?} cannot be reached ({why}). Check the network and BaseUrl.")]
    Unreachable {
        /// The model.
        name: String,
        /// What the network says.
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
    /// The reply is not what the wire says.
    #[error(
        "The provider of the model {name:?} sent a reply that cannot be read ({why}). Check that Wire is the right one."
    )]
    Malformed {
        /// The model.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A bound was broken.
    #[error(
        "The provider of the model {name:?} sent more than {bytes} bytes {of}, which is all that is read. Ask for less at once."
    )]
    TooLarge {
        /// The model.
        name: String,
        /// The bound.
        bytes: usize,
        /// Of what.
        of: &'static str,
    },
    /// It never came to an end.
    #[error("The provider of the model {name:?} did not come to an end in {} seconds. Ask for less at once; ReplySeconds is how long to wait.", .whole.as_secs())]
    Endless {
        /// The model.
        name: String,
        /// The bound.
        whole: Duration,
    },
    /// Nothing came for too long.
    #[error("The provider of the model {name:?} was silent for {} seconds. Try again; IdleSeconds is how long to wait.", .idle.as_secs_f32())]
    Stalled {
        /// The model.
        name: String,
        /// The bound.
        idle: Duration,
    },
}

impl ProviderError {
    /// Whether another attempt may go better; asked before a reply began only.
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

    /// Whether another provider may do better: what is wrong is not the request and not the setting up.
    pub(crate) fn is_the_providers(&self) -> bool {
        let stuck = matches!(
            self,
            Self::Quota { .. } | Self::OverRate { .. } | Self::Stalled { .. } | Self::Endless { .. }
        );
        stuck || self.is_passing()
    }

    /// Returns when the provider wants to be asked again.
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
