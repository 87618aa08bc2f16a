//! A provider's list of its models, with a cache.
//!
//! At most [`MAX_MODELS`] for each provider, read within [`LONGEST`]. A list is reused for [`FRESH`]; failures are
//! not cached. Requests do not wait for each other: two clients that ask at the same time may cause two requests.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use crate::{Provider, ProviderError};

/// Most models of one provider; the largest marketplace has five hundred.
pub(crate) const MAX_MODELS: usize = 1000;
/// Most bytes of a list.
const MAX_BYTES: usize = 4 << 20;
/// Longest time to read a list: clients wait for 20 seconds (AppServer protocol 05 §7).
const LONGEST: Duration = Duration::from_secs(12);
/// How long a list is reused (a guess; providers add models every few weeks).
const FRESH: Duration = Duration::from_mins(10);

/// A model that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The name to choose it by.
    pub id: String,
    /// Its maker; may be empty.
    pub owned_by: String,
    /// When it was made, in milliseconds since 1970; 0 when unknown.
    pub created_at_ms: i64,
}

/// A provider with its last list.
#[derive(Debug)]
pub(crate) struct Catalogue {
    pub(crate) provider: Provider,
    known: Mutex<Option<(Instant, Arc<[Listed]>)>>,
}

impl Catalogue {
    pub(crate) fn new(provider: Provider) -> Self {
        Self {
            provider,
            known: Mutex::new(None),
        }
    }

    /// Returns the models that the provider listed last, however long ago; none before its first list.
    pub(crate) fn last(&self) -> Arc<[Listed]> {
        let known = self.known.lock();
        known
            .as_ref()
            .map(|(_, models)| models.clone())
            .unwrap_or_default()
    }

    /// Whether the provider has listed a model of this name, and its models are offered.
    pub(crate) fn lists(&self, name: &str) -> bool {
        self.provider.settings().offered && self.last().iter().any(|model| model.id == name)
    }

    /// Returns the provider's models under the provider's names; those from settings come first.
    pub(crate) async fn list(&self) -> Result<Arc<[Listed]>, ProviderError> {
        let known = self.known.lock().clone();
        if let Some((at, known)) = known
            && at.elapsed() < FRESH
        {
            return Ok(known);
        }
        let settings = self.provider.settings();
        let mut models: Vec<Listed> = settings.models.iter().map(|id| named(id)).collect();
        let listed = match self.provider.models().await {
            Ok(listed) => listed,
            // Not every server has a list of models.
            Err(ProviderError::UnknownModel { .. }) if !models.is_empty() => Vec::new(),
            Err(error) => return Err(error),
        };
        for model in listed {
            match models.iter().position(|known| known.id == model.id) {
                Some(known) => models[known] = model,
                None if models.len() < MAX_MODELS => models.push(model),
                None => break,
            }
        }
        let models: Arc<[Listed]> = models.into();
        *self.known.lock() = Some((Instant::now(), models.clone()));
        Ok(models)
    }
}

impl Provider {
    /// Asks the provider for its models, under its own names.
    ///
    /// # Errors
    /// The request failed or timed out.
    pub async fn models(&self) -> Result<Vec<Listed>, ProviderError> {
        let bytes = self.http().get_models(MAX_BYTES, LONGEST).await?;
        read(&bytes).ok_or_else(|| ProviderError::Malformed {
            name: self.settings().name.clone(),
            why: "its list of models has another form".to_owned(),
        })
    }
}

fn named(id: &str) -> Listed {
    Listed {
        id: id.to_owned(),
        owned_by: String::new(),
        created_at_ms: 0,
    }
}

/// Reads the form that all wires share: `data` with `id`, the maker, and the time in either spelling.
fn read(bytes: &[u8]) -> Option<Vec<Listed>> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let data = value.get("data").unwrap_or(&value).as_array()?;
    let model = |model: &Value| {
        let created = match (&model["created"], &model["created_at"]) {
            (Value::Number(seconds), _) | (_, Value::Number(seconds)) => {
                seconds.as_i64().and_then(|at| at.checked_mul(1000))
            }
            (_, Value::String(text)) => text
                .parse::<jiff::Timestamp>()
                .ok()
                .map(jiff::Timestamp::as_millisecond),
            _ => None,
        };
        Some(Listed {
            id: model["id"].as_str().filter(|id| !id.is_empty())?.to_owned(),
            owned_by: model["owned_by"].as_str().unwrap_or_default().to_owned(),
            created_at_ms: created.unwrap_or_default(),
        })
    };
    Some(data.iter().filter_map(model).take(MAX_MODELS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_read_and_what_has_no_id_is_left_out() {
        let text = br#"{"data":[
            {"id":"a","created":1700000000,"owned_by":"us"},
            {"id":"b","created_at":"2026-01-02T03:04:05Z","display_name":"B"},
            {"id":""},{"name":"c"},{"id":"d","created":null}]}"#;
        let models = read(text).unwrap();
        let short: Vec<_> = models
            .iter()
            .map(|model| (model.id.as_str(), model.created_at_ms))
            .collect();
        assert_eq!(
            short,
            [("a", 1_700_000_000_000), ("b", 1_767_323_045_000), ("d", 0)]
        );
        assert_eq!(models[0].owned_by, "us");
        assert!(read(b"{\"models\":[]}").is_none() && read(b"<html>").is_none());
    }
}
