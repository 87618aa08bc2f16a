//! Speaks to model providers over HTTP.
//!
//! A [`ModelSet`] is an engine's [`Model`](bobbin_agent_api::model::Model). It has the offline model and those of
//! [`Provider`]s. A provider speaks one of three wires at any base URL: `OpenAI` Chat Completions, Anthropic
//! Messages or `OpenAI` Responses. Pure code builds requests and decodes replies, one module for each wire
//! ([`Wire`]); all wires share the HTTP around them.
//!
//! This crate knows no Items, clients or environment and opens no file: [`settings`] has what files say, and the
//! binary passes [`ProviderSettings`], the key included. Between replies it stores only a provider's last list of models and which of its models want their
//! reasoning back. Limits: [`Limits`].

mod address;
mod assembler;
mod calls;
mod conversation;
mod current_models;
mod effort;
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
mod request_log;
mod retry;
mod schema;
pub mod settings;
mod think;
mod wires;

pub use address::{base_url, host, is_proxy};
pub use current_models::CurrentModels;
pub use effort::Efforts;
pub use error::ProviderError;
pub use facts::{ModelFacts, Price};
pub use http::Network;
pub use listing::Listed;
pub use model_set::{Chosen, ModelSet, NoSuchModel, OFFLINE};
pub use provider::Provider;
pub use settings::{Key, Limits, ProviderSettings, Proxies, Wire};
