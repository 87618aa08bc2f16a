//! Keys of model providers that a client has.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Keys of model providers in a client's environment, by the names of their variables. They count for the Turns that this
/// client starts, and are in memory only: no record of a Turn has them. `Debug` shows the names.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, String>", into = "BTreeMap<String, String>")]
pub struct ClientKeys(Arc<BTreeMap<String, String>>);

impl ClientKeys {
    /// Returns the key in a variable.
    pub fn get(&self, variable: &str) -> Option<&str> {
        self.0.get(variable).map(String::as_str)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<BTreeMap<String, String>> for ClientKeys {
    fn from(keys: BTreeMap<String, String>) -> Self {
        Self(Arc::new(keys))
    }
}

impl From<ClientKeys> for BTreeMap<String, String> {
    fn from(keys: ClientKeys) -> Self {
        Arc::unwrap_or_clone(keys.0)
    }
}

impl fmt::Debug for ClientKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TurnFeatures;

    #[test]
    fn no_record_and_no_log_has_a_key() {
        let keys = BTreeMap::from([("TEA_KEY".to_owned(), "sesame".to_owned())]);
        let features = TurnFeatures {
            keys: keys.into(),
            ..TurnFeatures::default()
        };
        assert_eq!(features.keys.get("TEA_KEY"), Some("sesame"));
        let stored = serde_json::to_string(&features).unwrap();
        assert!(!stored.contains("sesame"), "{stored}");
        let logged = format!("{features:?}");
        assert!(
            !logged.contains("sesame") && logged.contains("TEA_KEY"),
            "{logged}"
        );
    }
}
