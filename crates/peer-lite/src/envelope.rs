//! The envelope: which kind of message a JSON text is, decided by the presence of members, and the texts
//! of messages that go out.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::{ErrorObject, Id};

/// The members of a message that matter; the last of a name counts.
#[derive(Debug, Default)]
pub(crate) struct Envelope {
    pub(crate) version: Option<Box<RawValue>>,
    pub(crate) id: Option<Box<RawValue>>,
    pub(crate) method: Option<Box<RawValue>>,
    pub(crate) params: Option<Box<RawValue>>,
    pub(crate) result: Option<Box<RawValue>>,
    pub(crate) error: Option<Box<RawValue>>,
}

impl Envelope {
    /// Whether it says it is JSON-RPC 2.0.
    pub(crate) fn is_version_2(&self) -> bool {
        self.version
            .as_ref()
            .is_some_and(|version| version.get() == r#""2.0""#)
    }

    /// Returns the method if it is a string.
    pub(crate) fn method_name(&self) -> Option<String> {
        self.method
            .as_ref()
            .and_then(|method| serde_json::from_str(method.get()).ok())
    }

    /// Returns the parameters; `null` is none.
    pub(crate) fn take_params(&mut self) -> Option<Box<RawValue>> {
        self.params.take().filter(|params| params.get() != "null")
    }
}

impl<'de> Deserialize<'de> for Envelope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Envelope;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Envelope, A::Error> {
                let mut envelope = Envelope::default();
                while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                    let slot = match &*key {
                        "jsonrpc" => &mut envelope.version,
                        "id" => &mut envelope.id,
                        "method" => &mut envelope.method,
                        "params" => &mut envelope.params,
                        "result" => &mut envelope.result,
                        "error" => &mut envelope.error,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    *slot = Some(map.next_value()?);
                }
                Ok(envelope)
            }
        }

        deserializer.deserialize_map(Members)
    }
}

#[derive(Serialize)]
struct Outgoing<'a, P: Serialize + ?Sized> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a P>,
}

/// Returns the text of a request or a notification.
pub(crate) fn outgoing(
    id: Option<u64>,
    method: &str,
    params: &(impl Serialize + ?Sized),
) -> Result<Bytes, serde_json::Error> {
    let message = Outgoing {
        jsonrpc: "2.0",
        id,
        method,
        params: Some(params),
    };
    serde_json::to_vec(&message).map(Bytes::from)
}

/// Returns the text of an answer with a result.
pub(crate) fn result(id: &Id, result: &impl Serialize) -> Result<Bytes, serde_json::Error> {
    #[derive(Serialize)]
    struct Answer<'a, R> {
        jsonrpc: &'static str,
        id: &'a Id,
        result: &'a R,
    }
    serde_json::to_vec(&Answer {
        jsonrpc: "2.0",
        id,
        result,
    })
    .map(Bytes::from)
}

/// Returns the text of an answer with an error; without an id it is `null`.
pub(crate) fn error(id: Option<&Id>, error: &ErrorObject) -> Bytes {
    #[derive(Serialize)]
    struct Answer<'a> {
        jsonrpc: &'static str,
        id: Option<&'a Id>,
        error: &'a ErrorObject,
    }
    // An id and an error object are JSON already.
    serde_json::to_vec(&Answer {
        jsonrpc: "2.0",
        id,
        error,
    })
    .unwrap_or_default()
    .into()
}
