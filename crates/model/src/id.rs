//! Identifiers and numbers. Each has its own type, so the compiler keeps them apart.
//!
//! Turn and Item ids are small numbers inside; their text forms (`turn_004`, `item_012`) are fixed by the AppServer
//! protocol 02 §1 and made here only.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since the Unix epoch, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMillis(pub i64);

/// The number of an event in its Thread: 1 for the first, never reused, gaps allowed after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// Returns the number after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Returns the number before this one, or zero for zero.
    #[must_use]
    pub fn prev(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps a text unchecked; the store decides whether such a thing exists.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// Returns the text form.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// A Thread: `thread_` + UTC date + `_` + six of `[a-z0-9]`.
    ThreadId
}
text_id! {
    /// A queued input: `queued_` + UTC time to the millisecond + `_` + six of `[a-z0-9]`.
    QueuedInputId
}
text_id! {
    /// An Approval: twelve hexadecimal digits (AppServer protocol 04 §3 `requestId`).
    ApprovalId
}

/// The text was not an id of the expected form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not of the form {prefix}NNN")]
pub struct ParseIdError {
    prefix: &'static str,
    text: String,
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{:03}"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                text.strip_prefix($prefix)
                    .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
                    .and_then(|digits| digits.parse().ok())
                    .map(Self)
                    .ok_or_else(|| ParseIdError { prefix: $prefix, text: text.to_owned() })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

number_id! {
    /// A Turn, counted from 1 inside its Thread and never reused there.
    TurnId, "turn_"
}
number_id! {
    /// An Item, counted from 1 inside its Turn.
    ItemId, "item_"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turn_and_item_ids_have_three_digits_and_grow_past_999() {
        for (id, text) in [
            (1, "turn_001"),
            (42, "turn_042"),
            (999, "turn_999"),
            (1000, "turn_1000"),
        ] {
            assert_eq!(TurnId(id).to_string(), text);
            assert_eq!(text.parse(), Ok(TurnId(id)));
        }
        assert_eq!(ItemId(12).to_string(), "item_012");
    }

    #[test]
    fn foreign_texts_are_no_turn_ids() {
        for text in [
            "",
            "turn_",
            "turn_x",
            "item_001",
            "turn_-1",
            "turn_+1",
            "turn_99999999999",
        ] {
            assert!(text.parse::<TurnId>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn numbers_of_events_follow_each_other_from_zero() {
        assert_eq!((Seq(0).next(), Seq(6).next()), (Seq(1), Seq(7)));
        assert_eq!((Seq(0).prev(), Seq(6).prev()), (Seq(0), Seq(5)));
        assert_eq!(Seq(6).to_string(), "6");
    }
}
