//! Facts about a model besides its name: its window, whether it reads pictures, its price. Pure.
//!
//! The model's own settings come first, then its provider's settings, then [`known`], then a default. Prices come
//! from settings only: they change, and a wrong price is worse than none.

use bobbin_model::context::USUAL_WINDOW;
use bobbin_model::{Effort, TokenUsage};
use bobbin_settings::micros;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use crate::ProviderSettings;
use crate::effort::{self, Efforts};

/// Facts about a model, or about all models of a provider; `None` where unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct ModelFacts {
    /// Tokens of the window; known by name for usual models, else 200,000 (`ollama`: 32,768).
    #[schemars(range(min = 1024))]
    pub context_window: Option<u64>,
    /// Whether pictures are sent; known by name for usual models, else not.
    pub images: Option<bool>,
    /// The reasoning efforts that can be asked for; known by name for usual models, else none.
    #[schemars(with = "Option<Vec<Effort>>")]
    pub efforts: Option<Efforts>,
    /// Its price.
    pub price: Option<Price>,
}

/// The price of a million tokens, in any one currency.
///
/// Values are millionths of the currency, and its whole units in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Price {
    /// For a million tokens that the model reads.
    #[serde(deserialize_with = "millionths")]
    #[schemars(with = "f64", range(min = 0, max = 999_999_999))]
    pub input: u64,
    /// For a million of those that its provider has in a cache; as `Input` when left out.
    #[serde(default, deserialize_with = "some_millionths")]
    #[schemars(with = "Option<f64>", range(min = 0, max = 999_999_999))]
    pub cached_input: Option<u64>,
    /// For a million tokens that it writes.
    #[serde(deserialize_with = "millionths")]
    #[schemars(with = "f64", range(min = 0, max = 999_999_999))]
    pub output: u64,
}

fn millionths<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    f64::deserialize(deserializer).map(micros)
}

fn some_millionths<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    millionths(deserializer).map(Some)
}

impl Price {
    /// Returns the price of a reply, in millionths, rounded up.
    pub fn of(self, usage: TokenUsage) -> u64 {
        let cached = usage.cached_input_tokens.min(usage.input_tokens);
        let micros = u128::from(usage.input_tokens - cached) * u128::from(self.input)
            + u128::from(cached) * u128::from(self.cached_input.unwrap_or(self.input))
            + u128::from(usage.output_tokens) * u128::from(self.output);
        u64::try_from(micros.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

impl ModelFacts {
    /// Returns the facts, those of `other` where one is unknown.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            context_window: self.context_window.or(other.context_window),
            images: self.images.or(other.images),
            price: self.price.or(other.price),
            efforts: self.efforts.or(other.efforts),
        }
    }

    /// Returns the window.
    pub fn window(self) -> u64 {
        self.context_window.unwrap_or(USUAL_WINDOW)
    }

    /// Returns the efforts it can be asked for.
    pub fn efforts(self) -> Efforts {
        self.efforts.unwrap_or_default()
    }

    /// Whether pictures are sent to it.
    pub fn sees_images(self) -> bool {
        self.images.unwrap_or(false)
    }
}

impl ProviderSettings {
    /// Returns the facts about one of the provider's models.
    pub fn facts_of(&self, model: &str) -> ModelFacts {
        let said = self.model_facts.get(model).copied().unwrap_or_default();
        said.or(self.facts).or(known(model))
    }
}

/// Prefixes of model names with their windows; all these models read pictures. As of November 2026, from the
/// providers' own pages; the first match counts.
const KNOWN: [(&str, u64); 10] = [
    ("claude-", 200_000),
    // The part of the window for input.
    ("gpt-5", 272_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4-", 200_000),
    ("gemini-", 1_048_576),
    ("llama-4", 128_000),
];

fn known(model: &str) -> ModelFacts {
    // Gateways put the maker before the name.
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let found = KNOWN.iter().find(|(start, _)| name.starts_with(start));
    ModelFacts {
        context_window: found.map(|(_, window)| *window),
        images: found.map(|_| true),
        price: None,
        efforts: effort::known(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_counts_both_ways_and_never_overflows() {
        let price = Price {
            input: 3_000_000,
            cached_input: None,
            output: 15_000_000,
        };
        let usage = TokenUsage::of;
        assert_eq!(price.of(usage(0, 0)), 0);
        assert_eq!(price.of(usage(1_000_000, 0)), 3_000_000);
        assert_eq!(price.of(usage(1000, 100)), 4_500);
        let least = Price {
            input: 1,
            ..Price::default()
        };
        assert_eq!(least.of(usage(1, 0)), 1);
        let cached = TokenUsage {
            cached_input_tokens: 900,
            ..usage(1000, 100)
        };
        assert_eq!(price.of(cached), 4_500);
        let cheaper = Price {
            cached_input: Some(300_000),
            ..price
        };
        assert_eq!(cheaper.of(cached), 300 + 270 + 1500);
        assert_eq!(price.of(usage(u64::MAX, u64::MAX)), u64::MAX);
    }

    #[test]
    fn a_name_may_have_its_maker_in_front() {
        assert_eq!(known("anthropic/claude-sonnet-4.5").window(), 200_000);
        assert_eq!(known("GPT-5-mini").window(), 272_000);
        assert!(known("gpt-4o").sees_images());
        assert_eq!(known("qwen"), ModelFacts::default());
        assert_eq!(known("qwen").window(), USUAL_WINDOW);
    }
}
