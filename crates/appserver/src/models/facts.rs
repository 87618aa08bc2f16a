//! What the configuration says of models besides their names: window, pictures, prices.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use bobbin_models::{ModelFacts, Price};
use serde_json::{Map, Value};

use crate::agent::money;
use crate::config::{at, number, strangers};

/// What a model's object may have; a provider's may have the same.
const NAMES: [&str; 3] = ["ContextWindow", "Images", "Price"];
/// Smallest window that makes sense.
const MIN_WINDOW: u64 = 1024;
/// Most models with facts of their own.
const MAX_MODELS: usize = 256;

/// Reads what an object says, over what is known.
pub(super) fn read(value: &Value, known: ModelFacts) -> anyhow::Result<ModelFacts> {
    let window = number(value, "ContextWindow")?;
    if window.is_some_and(|window| window < MIN_WINDOW) {
        bail!("ContextWindow is less than {MIN_WINDOW} tokens");
    }
    let images = match at(value, "Images") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(images)) => Some(*images),
        Some(other) => bail!("Images is {other}; it can be true or false"),
    };
    let price = match at(value, "Price") {
        None | Some(Value::Null) => None,
        Some(price) => {
            let part = |name: &str| {
                let part = at(price, name).and_then(money);
                part.with_context(|| {
                    format!("Price.{name} is no amount of money; it is what a million tokens cost")
                })
            };
            Some(Price {
                input: part("Input")?,
                output: part("Output")?,
            })
        }
    };
    Ok(ModelFacts {
        context_window: window.or(known.context_window),
        images: images.or(known.images),
        price: price.or(known.price),
    })
}

/// Reads the facts of single models; returns a sentence for each member that nobody reads.
pub(super) fn read_models(
    place: &str,
    models: &Map<String, Value>,
    known: &mut BTreeMap<String, ModelFacts>,
) -> anyhow::Result<Vec<String>> {
    let mut warnings = Vec::new();
    if models.len() > MAX_MODELS {
        bail!("ModelFacts has more than {MAX_MODELS} models");
    }
    for (name, value) in models {
        let place = format!("{place}.ModelFacts.{name}");
        let object = value
            .as_object()
            .with_context(|| format!("{place} is not an object"))?;
        warnings.extend(strangers(&place, object, &NAMES));
        let facts = read(value, known.get(name).copied().unwrap_or_default()).context(place)?;
        known.insert(name.clone(), facts);
    }
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn facts_are_read_and_what_means_nothing_is_told() {
        let value =
            json!({ "contextwindow": 32768, "images": true, "price": { "input": 0.25, "output": 2 } });
        let facts = read(&value, ModelFacts::default()).unwrap();
        assert_eq!(
            facts,
            ModelFacts {
                context_window: Some(32_768),
                images: Some(true),
                price: Some(Price {
                    input: 250_000,
                    output: 2_000_000
                }),
            }
        );
        for (value, part) in [
            (json!({ "ContextWindow": 10 }), "less than 1024"),
            (json!({ "Images": "some" }), "true or false"),
            (json!({ "Price": { "Input": 1 } }), "Price.Output"),
            (json!({ "Price": { "Input": -1, "Output": 1 } }), "Price.Input"),
        ] {
            let error = format!("{:#}", read(&value, ModelFacts::default()).unwrap_err());
            assert!(error.contains(part), "{error}");
        }
    }
}
