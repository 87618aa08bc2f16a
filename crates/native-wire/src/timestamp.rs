//! Points in time on the wire: ISO-8601 in UTC with `Z` (AppServer protocol 01 §1.1).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use jiff::fmt::temporal::DateTimePrinter;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Always three decimals, so the texts sort in the order of the times.
const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

/// A point in time, as milliseconds since the Unix epoch.
///
/// Written as `2027-01-04T10:15:00.123Z`. Any RFC 3339 text is read; finer fractions are cut off. A time outside the
/// years -9999 to 9999 is written as the nearest time inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub i64);

/// The text is not an RFC 3339 time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an RFC 3339 time")]
pub struct TimestampError;

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nearest = if self.0 < 0 {
            jiff::Timestamp::MIN
        } else {
            jiff::Timestamp::MAX
        };
        let time = jiff::Timestamp::from_millisecond(self.0).unwrap_or(nearest);
        f.write_str(&PRINTER.timestamp_to_string(&time))
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let time: jiff::Timestamp = text.parse().map_err(|_| TimestampError)?;
        Ok(Self(time.as_millisecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl Visitor<'_> for TextVisitor {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 time")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse()
                    .map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_str(TextVisitor)
    }
}

impl JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(0, "1970-01-01T00:00:00.000Z")]
    #[case(1_799_057_700_123, "2027-01-04T10:15:00.123Z")]
    #[case(-1, "1969-12-31T23:59:59.999Z")]
    fn is_written_in_utc_with_three_decimals(#[case] millis: i64, #[case] text: &str) {
        assert_eq!(Timestamp(millis).to_string(), text);
        assert_eq!(text.parse(), Ok(Timestamp(millis)));
    }

    #[rstest]
    #[case("2027-01-04T10:15:00Z", 1_799_057_700_000)]
    #[case("2027-01-04T12:15:00.5+02:00", 1_799_057_700_500)]
    #[case("2027-01-04t10:15:00.123999z", 1_799_057_700_123)]
    fn any_rfc_3339_text_is_read(#[case] text: &str, #[case] millis: i64) {
        assert_eq!(text.parse(), Ok(Timestamp(millis)));
    }

    #[rstest]
    #[case("")]
    #[case("yesterday")]
    #[case("2027-01-04")]
    #[case("2027-01-04T10:15:00")]
    fn other_texts_are_refused(#[case] text: &str) {
        assert_eq!(text.parse::<Timestamp>(), Err(TimestampError));
    }

    #[test]
    fn times_out_of_range_are_written_as_the_nearest_one() {
        assert!(Timestamp(i64::MAX).to_string().starts_with("9999-12-30"));
        assert!(Timestamp(i64::MIN).to_string().starts_with("-009999"));
    }
}
