//! Speaks to model providers over HTTP.
//!
//! A [`ModelSet`] is an engine's [`Model`](bobbin_agent_api::model::Model): the offline one and those of [`Provider`]s, which speak one of
//! three wires: `OpenAI` Chat Completions, Anthropic Messages and `OpenAI` Responses, at any base URL. Requests are
//! built and replies are decoded by pure code, one module a wire ([`Wire`]); the HTTP around them is shared.
//!
//! Nothing here knows Items, clients, files or the environment: the binary hands over [`ProviderSettings`], the
//! key included. No state outlives a reply but a provider's last list of models, and what its
//! models want back of their replies. What bounds it: [`Limits`].

mod address;
mod assembler;
mod calls;
mod conversation;
mod error;
mod events;
mod facts;
mod failing;
mod http;
mod listing;
mod memory;
mod model_set;
mod provider;
mod refusal;
mod retry;
mod schema;
mod settings;
mod wires;

pub use address::{host, is_proxy};
pub use error::ProviderError;
pub use facts::{ModelFacts, Price};
pub use http::Network;
pub use listing::Listed;
pub use model_set::{Chosen, ModelSet, NoSuchModel, OFFLINE};
pub use provider::Provider;
pub use settings::{Key, Limits, ProviderSettings, Proxies, Wire};
