//! Servers that are reached over streamable HTTP: the transport, with its bounds.
//!
//! No request is posted twice, except one that the server has refused because it no longer knows the session. `call`
//! handles lost answers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{HeaderName, HeaderValue, WWW_AUTHENTICATE};
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::time::timeout;

use crate::HttpSpec;

/// Largest event a server may send.
const MAX_EVENT: usize = 16 << 20;
/// How often a broken stream is opened again before it counts as lost.
const REOPENED: usize = 5;
/// Longest pause between two attempts to open a stream again.
const LONGEST_PAUSE: Duration = Duration::from_secs(16);
/// How long a server may take to answer a caller without tokens with a challenge.
const ANSWER: Duration = Duration::from_secs(10);

/// Returns the configuration of the transport to a server.
///
/// # Errors
/// A header cannot be sent: a sentence for the user, without its value.
pub(crate) fn config(spec: &HttpSpec) -> Result<StreamableHttpClientTransportConfig, String> {
    let headers = headers(spec)?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(spec.url.as_str())
        .custom_headers(headers)
        .max_sse_event_size(MAX_EVENT);
    let mut pauses = ExponentialBackoff::default();
    pauses.max_times = Some(REOPENED);
    pauses.max_delay = Some(LONGEST_PAUSE);
    config.retry_config = Arc::new(pauses);
    if let Some(bearer) = &spec.bearer {
        if HeaderValue::from_str(bearer).is_err() {
            return Err("the bearer token cannot be sent".to_owned());
        }
        config = config.auth_header(bearer);
    }
    Ok(config)
}

/// Returns the challenge in a server's answer to a GET, if the server does not know its caller. It is empty if the server
/// sends no details. The transport does not report the refusals of all servers, hence this request.
pub(crate) async fn challenge(spec: &HttpSpec) -> Option<String> {
    let (headers, client) = (headers(spec).ok()?, client().ok()?);
    let mut request = client.get(&spec.url).headers(headers.into_iter().collect());
    if let Some(bearer) = &spec.bearer {
        request = request.bearer_auth(bearer);
    }
    let answer = timeout(ANSWER, request.send()).await.ok()?.ok()?;
    let challenge = answer.headers().get(WWW_AUTHENTICATE);
    let challenge = challenge
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    (answer.status() == StatusCode::UNAUTHORIZED).then(|| challenge.to_owned())
}

fn headers(spec: &HttpSpec) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let mut headers = HashMap::new();
    for (name, value) in &spec.headers {
        let known = HeaderName::from_bytes(name.as_bytes());
        let known = known.map_err(|_| format!("{name:?} is no name of a header"))?;
        let value =
            HeaderValue::from_str(value).map_err(|_| format!("the value of {name} cannot be sent"))?;
        headers.insert(known, value);
    }
    Ok(headers)
}

/// Returns the client for requests to servers.
pub(crate) fn client() -> Result<reqwest::Client, String> {
    // No pool of idle connections: answers on reused ones stall. No redirects: the headers are for one address. No proxy of
    // the environment: requests go to the server only.
    reqwest::Client::builder()
        .pool_max_idle_per_host(0)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .map_err(|error| format!("no HTTP client can be made ({error})"))
}
