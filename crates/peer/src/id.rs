//! Request ids as on the wire, and when two of them are equal.
//!
//! An answer repeats the id's text unchanged. Comparison is by value: `1`, `1.0` and `10e-1` are one id, `1` and
//! `"1"` are two. Rules: peer spec 4.3.

use std::fmt;
use std::sync::Arc;

/// The id of an incoming request, unchanged. Cheap to clone.
#[derive(Clone)]
pub struct WireId(Repr);

#[derive(Clone)]
enum Repr {
    Null,
    /// An integer whose text is the canonical one.
    Int(i64),
    Other {
        text: Arc<str>,
        key: IdKey,
    },
}

/// The normal form of an id: equal for equal ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum IdKey {
    /// Any number that is an integer in range.
    Int(i64),
    /// Any other number: sign, digits without outer zeros, and the power of ten behind them.
    Decimal {
        negative: bool,
        digits: Arc<str>,
        exponent: i64,
    },
    /// A number with an unreasonable exponent; equal only to the same text.
    Odd(Arc<str>),
    /// A string, decoded.
    Text(Arc<str>),
}

impl WireId {
    /// The id of answers to messages whose id is unreadable.
    pub const NULL: Self = Self(Repr::Null);

    /// Reads an id from the text of a JSON value; `None` when it is neither string, number nor null.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let repr = match text.as_bytes().first()? {
            b'n' => Repr::Null,
            b'"' => {
                let decoded: String = serde_json::from_str(text).ok()?;
                Repr::Other {
                    text: text.into(),
                    key: IdKey::Text(decoded.into()),
                }
            }
            b'-' | b'0'..=b'9' => match text.parse() {
                // No other JSON integer can be written in two ways.
                Ok(int) if text != "-0" => Repr::Int(int),
                _ => Repr::Other {
                    text: text.into(),
                    key: number_key(text),
                },
            },
            _ => return None,
        };
        Some(Self(repr))
    }

    /// Returns whether this is the null id.
    pub fn is_null(&self) -> bool {
        matches!(self.0, Repr::Null)
    }

    /// Returns the normal form; the null id equals no other.
    pub(crate) fn key(&self) -> Option<IdKey> {
        match &self.0 {
            Repr::Null => None,
            Repr::Int(int) => Some(IdKey::Int(*int)),
            Repr::Other { key, .. } => Some(key.clone()),
        }
    }

    /// Returns the bytes of its text, besides the value itself.
    pub(crate) fn text_len(&self) -> usize {
        match &self.0 {
            Repr::Null | Repr::Int(_) => 0,
            Repr::Other { text, .. } => text.len(),
        }
    }

    /// Appends the id as JSON text.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Repr::Null => out.extend_from_slice(b"null"),
            Repr::Int(int) => push_int(out, *int),
            Repr::Other { text, .. } => out.extend_from_slice(text.as_bytes()),
        }
    }
}

/// Appends an integer in decimal.
pub(crate) fn push_int(out: &mut Vec<u8>, int: i64) {
    // A number cannot fail, nor does writing to a vector; several times as fast as formatting it.
    let _infallible = serde_json::to_writer(out, &int);
}

/// The JSON text of the id.
impl fmt::Display for WireId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Null => f.write_str("null"),
            Repr::Int(int) => int.fmt(f),
            Repr::Other { text, .. } => f.write_str(text),
        }
    }
}

impl fmt::Debug for WireId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WireId({self})")
    }
}

/// The exact value of a JSON number.
fn number_key(text: &str) -> IdKey {
    if let Ok(int) = text.parse() {
        return IdKey::Int(int);
    }
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let significant = digits.trim_start_matches('0');
    let trimmed = significant.trim_end_matches('0');
    if trimmed.is_empty() {
        return IdKey::Int(0);
    }
    let zeros = significant.len() - trimmed.len();
    let exponent = exponent.parse::<i64>().ok().and_then(|exponent| {
        let fraction = i64::try_from(fraction.len()).ok()?;
        let zeros = i64::try_from(zeros).ok()?;
        exponent.checked_sub(fraction)?.checked_add(zeros)
    });
    let Some(exponent) = exponent else {
        return IdKey::Odd(text.into());
    };
    integer(negative, trimmed, exponent).unwrap_or_else(|| IdKey::Decimal {
        negative,
        digits: trimmed.into(),
        exponent,
    })
}

/// Returns the integer of these parts, if it fits.
fn integer(negative: bool, digits: &str, exponent: i64) -> Option<IdKey> {
    // 19 digits are as many as an i64 has.
    let power = u32::try_from(exponent).ok().filter(|&power| power < 19)?;
    let value = digits.parse::<i128>().ok()?.checked_mul(10_i128.pow(power))?;
    i64::try_from(if negative { -value } else { value })
        .ok()
        .map(IdKey::Int)
}

#[cfg(test)]
mod tests {
    use super::WireId;

    fn id(text: &str) -> WireId {
        WireId::parse(text).unwrap()
    }

    #[test]
    fn numbers_are_equal_by_value_and_keep_their_text() {
        for (left, right) in [
            ("1", "1.0"),
            ("1", "10e-1"),
            ("0", "-0"),
            ("0", "0.000e5"),
            ("1500", "1.5e3"),
            ("18446744073709551616", "18446744073709551616.0"),
            ("0.1", "1e-1"),
            ("-9223372036854775808", "-9223372036854775808.00"),
        ] {
            assert_eq!(id(left).key(), id(right).key(), "{left} {right}");
            assert_eq!(id(right).to_string(), right);
        }
        assert_ne!(id("9007199254740993").key(), id("9007199254740992").key());
        assert_ne!(
            id("1e99999999999999999999").key(),
            id("1e99999999999999999998").key()
        );
    }

    #[test]
    fn strings_are_equal_by_content_and_never_equal_numbers() {
        assert_eq!(id(r#""a""#).key(), id(r#""\u0061""#).key());
        assert_ne!(id(r#""1""#).key(), id("1").key());
        assert_eq!(id(r#""\u0061""#).to_string(), r#""\u0061""#);
    }

    #[test]
    fn other_types_and_broken_strings_are_no_ids() {
        for bad in ["true", "[]", "{}", r#""\ud800""#] {
            assert!(WireId::parse(bad).is_none(), "{bad}");
        }
        assert!(id("null").is_null());
    }
}
