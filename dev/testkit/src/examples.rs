//! Whole messages of a protocol, there and back.
//!
//! The dialect's reader and plain serde both read an example, and serde writes it again; the text has to be the same.

use std::fmt::{Debug, Display};

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// Checks one example and returns the name of its type.
///
/// # Panics
/// The example does not come back as it came.
#[expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the test expected JSON of this type"
)]
pub fn comes_back<T, E>(text: &str, read: impl Fn(&RawValue) -> Result<T, E>) -> String
where
    E: Display,
    T: Serialize + DeserializeOwned + PartialEq + Debug + JsonSchema,
{
    let name = T::schema_name();
    let raw: &RawValue = serde_json::from_str(text).unwrap();
    let lenient: T = read(raw).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
    let strict: T = serde_json::from_str(text).unwrap();
    assert_eq!(lenient, strict, "{name} is read in two ways");
    assert_eq!(serde_json::to_string(&lenient).unwrap(), text, "{name}");
    name.into_owned()
}

/// A test with examples of every shape in a table of method groups.
#[macro_export]
macro_rules! examples {
    ($read:path; $groups:expr; $($shape:ty: $text:expr;)+) => {
        #[test]
        fn every_shape_comes_back_as_it_came() {
            let shown: std::collections::BTreeSet<String> = [$($crate::comes_back::<$shape, _>(&$text, |raw| $read(raw))),+].into();
            for method in $groups.methods() {
                for shape in [Some(method.params), method.result].into_iter().flatten() {
                    let name = shape.name();
                    // Every crate may use these.
                    let common = ["EmptyParams", "EmptyResult"].contains(&&*name);
                    assert!(common || shown.contains(&*name), "no example of {shape:?} ({})", method.name);
                }
            }
        }
    };
}
