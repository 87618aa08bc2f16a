//! Settings of models: the members of configuration files, the providers that result from them, and what a
//! [`Provider`](crate::Provider) is made of.

mod configured;
mod key_place;
mod provider;
mod section;

pub use configured::{ModelSettings, Origin, ProviderEntry, built_in_address, is_built_in};
pub use key_place::{KeyPlace, expanded};
pub(crate) use provider::without;
pub use provider::{Key, Limits, ProviderSettings, Proxies, Wire};
pub use section::Section;
