//! `POST /page/session` and `POST /page/ticket`: a code for a secret, a secret for a ticket.
//!
//! The listener has checked that a page of ours asks. A wrong code or secret is answered late, as wrong tokens are.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ORIGIN, USER_AGENT};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bobbin_transport::{Guesses, bearer_token};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::assets::{Frames, HEADERS};
use crate::devices::{DeviceError, Devices, TICKET_LIFETIME};

/// Longest body, in bytes.
const MAX_BODY: usize = 4096;

#[derive(Clone)]
struct Exchange {
    devices: Devices,
    guesses: Guesses,
    /// Whether a browser needs a secret for a ticket.
    wants_secret: bool,
}

/// The body of a request that pairs a browser.
#[derive(Deserialize)]
struct Session {
    code: String,
}

/// Returns the page's router: its `files`, and the routes for pairing and tickets. Without `wants_secret` every browser
/// gets a ticket.
pub fn router(
    files: Router,
    devices: Devices,
    guesses: Guesses,
    wants_secret: bool,
    frames: Frames,
) -> Router {
    let exchange = Exchange {
        devices,
        guesses,
        wants_secret,
    };
    let exchange = Router::new()
        .route("/page/session", post(session))
        .route("/page/ticket", post(ticket))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(exchange);
    let policy = frames.policy();
    let with_policy = move |response| std::future::ready(with_headers(response, policy.clone()));
    files.merge(exchange).layer(map_response(with_policy))
}

fn with_headers(mut response: Response, policy: HeaderValue) -> Response {
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    for (name, value) in HEADERS {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

async fn session(State(exchange): State<Exchange>, headers: HeaderMap, body: Bytes) -> Response {
    let Ok(session) = serde_json::from_slice::<Session>(&body) else {
        let message = "A code is wanted: {\"code\": CODE}.";
        return answer(StatusCode::BAD_REQUEST, &refusal("code", message));
    };
    let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    let label = browser(agent.unwrap_or_default());
    match exchange
        .devices
        .enter(&session.code, origin(&headers), &label)
        .await
    {
        Ok(entered) => {
            let device = json!({ "id": entered.device.id, "label": entered.device.label });
            let entered = json!({ "secret": entered.secret, "device": device });
            answer(StatusCode::OK, &entered)
        }
        Err(DeviceError::Wrong) => {
            exchange.guesses.wrong("wrong_code").await;
            let message = "The code was used, is too old or is another one. `bobbin open` makes a new one.";
            answer(StatusCode::UNAUTHORIZED, &refusal("code", message))
        }
        Err(error) => failed(&error),
    }
}

async fn ticket(State(exchange): State<Exchange>, headers: HeaderMap) -> Response {
    let given = if exchange.wants_secret {
        let secret = bearer_token(&headers).and_then(|secret| String::from_utf8(secret).ok());
        let Some(secret) = secret.filter(|secret| !secret.is_empty()) else {
            let message = "This browser is not paired. `bobbin open` makes a code for it.";
            return answer(StatusCode::UNAUTHORIZED, &refusal("secret", message));
        };
        exchange.devices.ticket(&secret, origin(&headers)).await
    } else {
        exchange.devices.free_ticket()
    };
    match given {
        Ok(ticket) => {
            let seconds = TICKET_LIFETIME.as_secs();
            let ticket = json!({ "ticket": ticket, "expiresInSeconds": seconds });
            answer(StatusCode::OK, &ticket)
        }
        Err(DeviceError::Wrong) => {
            exchange.guesses.wrong("wrong_secret").await;
            let message = "This browser is no longer paired. `bobbin open` makes a code for it.";
            answer(StatusCode::UNAUTHORIZED, &refusal("secret", message))
        }
        Err(error) => failed(&error),
    }
}

/// Returns the origin of the page that asks. The listener has checked that there is one and that it is ours.
fn origin(headers: &HeaderMap) -> &str {
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    origin.unwrap_or_default()
}

fn refusal(reason: &str, message: &str) -> Value {
    json!({ "reason": reason, "message": message })
}

fn failed(error: &DeviceError) -> Response {
    tracing::warn!(%error, "a browser cannot be paired");
    let refusal = refusal("server", &format!("The server cannot let browsers in: {error}."));
    answer(StatusCode::INTERNAL_SERVER_ERROR, &refusal)
}

fn answer(status: StatusCode, body: &Value) -> Response {
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
    (status, headers, body.to_string()).into_response()
}

/// Returns what a user calls a browser, of its `User-Agent`. A browser that says nothing usual is a browser.
fn browser(agent: &str) -> String {
    // In this order: most browsers also name those that they descend from.
    const NAMES: [(&str, &str); 6] = [
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"),
        ("Chrom", "Chrome"),
        ("Safari/", "Safari"),
    ];
    const SYSTEMS: [(&str, &str); 6] = [
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS", "macOS"),
        ("Linux", "Linux"),
    ];
    let find = |names: [(&str, &'static str); 6]| {
        let found = names.into_iter().find(|(part, _)| agent.contains(part));
        found.map(|(_, name)| name)
    };
    let name = find(NAMES).unwrap_or("browser");
    find(SYSTEMS).map_or_else(|| name.to_owned(), |system| format!("{name} on {system}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_called_by_their_usual_names() {
        for (agent, expected) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
                "Firefox on Linux",
            ),
            (
                "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Mobile Safari/537.36",
                "Chrome on Android",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Version/19.0 Safari/604.1",
                "Safari on iPhone",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140.0",
                "Edge on Windows",
            ),
            ("curl/8.9", "browser"),
        ] {
            assert_eq!(browser(agent), expected, "{agent}");
        }
    }
}
