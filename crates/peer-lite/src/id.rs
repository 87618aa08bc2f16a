//! Request ids, kept as they came: a number keeps its spelling, a string stays a string.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The id of a request.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Id(Box<RawValue>);

/// What ids are compared by: `1` and `1.0` are one id, `1` and `"1"` are two.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum IdKey {
    Text(String),
    Number(String),
    Null,
}

impl Id {
    /// Takes an id from the wire; `None` when it is a boolean, an array or an object.
    pub(crate) fn new(raw: Box<RawValue>) -> Option<Self> {
        match raw.get().as_bytes().first() {
            Some(b'"' | b'-' | b'0'..=b'9' | b'n') => Some(Self(raw)),
            _ => None,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        self.0.get() == "null"
    }

    /// Returns its JSON text.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    pub(crate) fn key(&self) -> IdKey {
        let text = self.0.get();
        match text.as_bytes().first() {
            Some(b'"') => IdKey::Text(String::deserialize(&*self.0).unwrap_or_else(|_| text.to_owned())),
            Some(b'n') => IdKey::Null,
            _ => IdKey::Number(canonical(text)),
        }
    }
}

/// Brings a JSON number to digits and an exponent without trailing zeros, so that equal values are equal
/// texts whatever their size.
fn canonical(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return "0".to_owned();
    }
    let Ok(exponent) = exponent.parse::<i64>() else {
        return text.to_owned();
    };
    let shift = i64::try_from(digits.len() - significant.len()).unwrap_or(0);
    let places = i64::try_from(fraction.len()).unwrap_or(0);
    format!(
        "{sign}{significant}e{}",
        exponent.saturating_sub(places).saturating_add(shift)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Option<IdKey> {
        Id::new(RawValue::from_string(text.to_owned()).unwrap()).map(|id| id.key())
    }

    /// Checklist 16, 17, 18, 74.
    #[test]
    fn ids_are_equal_by_value_and_type() {
        for (a, b) in [
            ("1", "1.0"),
            ("1", "10e-1"),
            ("100", "1e2"),
            ("-0", "0"),
            (r#""a""#, r#""\u0061""#),
        ] {
            assert_eq!(key(a), key(b), "{a} {b}");
        }
        for (a, b) in [
            ("1", r#""1""#),
            ("9007199254740993", "9007199254740992"),
            ("1.5", "15"),
            ("1", "-1"),
        ] {
            assert_ne!(key(a), key(b), "{a} {b}");
        }
        for text in ["true", "[]", "{}"] {
            assert_eq!(key(text), None);
        }
    }
}
