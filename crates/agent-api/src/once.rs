//! Requests with a client's id, so that a repeated request is safe.

use uuid::Uuid;

/// A client's id of a request, and a digest of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    /// The id.
    pub id: String,
    /// Digest of the method and the parameters.
    pub body: String,
}

impl Once {
    /// Makes the value. `params` is JSON text; its spacing and order do not matter.
    pub fn new(id: impl Into<String>, method: &str, params: &str) -> Self {
        let canonical = serde_json::from_str::<serde_json::Value>(params)
            .map_or_else(|_| params.to_owned(), |value| value.to_string());
        let asked = format!("{method}\n{canonical}");
        Self {
            id: id.into(),
            body: Uuid::new_v5(&Uuid::NAMESPACE_OID, asked.as_bytes()).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_of_what_is_asked_and_not_of_how_it_is_written() {
        let one = Once::new("a", "turn/start", r#"{"x":1,"y":[2]}"#);
        assert_eq!(one, Once::new("a", "turn/start", r#"{ "y": [2], "x": 1 }"#));
        assert_ne!(one.body, Once::new("a", "turn/start", r#"{"x":1,"y":[3]}"#).body);
        assert_ne!(
            one.body,
            Once::new("a", "turn/enqueue", r#"{"x":1,"y":[2]}"#).body
        );
    }
}
