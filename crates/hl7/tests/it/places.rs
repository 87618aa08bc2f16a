//! The places of messages, in a fixture that a unit test of `clients/page` reads too: the page has a parser of its own.

use bobbin_hl7::{Message, Path, Value};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    about: String,
    text: String,
    /// Each place without parts: its path, its raw text and its text. `None` if the text is no message.
    places: Option<Vec<(String, String, String)>>,
}

#[test]
fn the_page_and_the_engine_find_the_same_places() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../places.json")).unwrap();
    for Case { about, text, places } in cases {
        let Some(places) = places else {
            assert!(Message::parse(&text).is_err(), "{about}");
            continue;
        };
        let message = Message::parse(&text).unwrap();
        for (path, raw, value) in &places {
            let place: Path = path.parse().unwrap();
            assert_eq!(message.raw(&place), Some(&**raw), "{about}: {path}");
            assert_eq!(
                message.get(&place),
                Some(Value::from(value.clone())),
                "{about}: {path}"
            );
        }
        let listed = places.iter().filter(|(_, _, value)| !value.is_empty()).count();
        assert_eq!(
            texts(&message),
            listed,
            "{about}: all places with a text are listed"
        );
    }
}

/// Returns how many texts the segments have that a path can name.
fn texts(message: &Message) -> usize {
    let mut seen = Vec::new();
    let names = message
        .segments()
        .iter()
        .map(|segment| segment.name(message.separators()));
    let named = names.filter_map(|name| name.parse().ok());
    let segments = named.map(|segment| {
        seen.push(segment);
        let occurrence = seen.iter().filter(|other| **other == segment).count();
        let path = Path {
            segment,
            occurrence: u16::try_from(occurrence).unwrap(),
            place: None,
        };
        leaves(&message.get(&path).unwrap())
    });
    segments.sum()
}

fn leaves(value: &Value) -> usize {
    match value {
        Value::Empty => 0,
        Value::Text(_) => 1,
        Value::List(items) => items.iter().map(leaves).sum(),
        Value::Map(entries) => entries.iter().map(|(_, value)| leaves(value)).sum(),
    }
}
