//! HTTP to one provider: its headers, its addresses, and the meaning of error responses.
//!
//! No redirect is followed: it would send the key to an address that the user did not configure. Bodies of errors
//! are read up to a limit.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt as _, StreamExt as _};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Client, NoProxy, Proxy, Response, Url, redirect};

use crate::address::base_url;
use crate::refusal::{self, Refusal};
use crate::settings::without;
use crate::{Key, Limits, ProviderError, ProviderSettings, Proxies};

/// Longest time to make a connection (a guess: a slow handshake takes two seconds).
const CONNECT: Duration = Duration::from_secs(15);
/// Most idle connections for one host.
const MAX_IDLE_CONNECTIONS: usize = 8;
/// Most bytes read of an error response.
const MAX_ERROR_BYTES: usize = 64 << 10;
/// Addresses that are never reached through a proxy.
const THIS_MACHINE: &str = "localhost,127.0.0.0/8,::1";

/// A response body as a stream.
pub(crate) type Body = BoxStream<'static, Result<Bytes, ProviderError>>;

/// Sends one request and returns the body of its reply. Tests replace this with a provider of their own.
pub(crate) trait Exchange: Send + Sync {
    /// Posts a body for a model, with a client's key where the settings have none. Dropping the future or the reply drops the
    /// connection.
    fn post<'a>(
        &'a self,
        model: &'a str,
        body: Bytes,
        key: Option<&'a Key>,
    ) -> BoxFuture<'a, Result<Body, ProviderError>>;
}

/// Connections, shared by all providers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Network {
    proxies: Vec<Proxy>,
    /// Made with the first request: the certificates of a machine are hundreds of files.
    client: Arc<OnceLock<Client>>,
}

impl Network {
    /// Checks the proxies; opens no connection.
    ///
    /// # Errors
    /// [`ProviderError::Settings`]: a proxy's address cannot be used.
    pub fn new(proxies: &Proxies) -> Result<Self, ProviderError> {
        let except = [Some(THIS_MACHINE), proxies.except.as_deref()];
        let except = except.into_iter().flatten().collect::<Vec<_>>().join(",");
        let except = NoProxy::from_string(&except);
        let mut used = Vec::new();
        if let Some(http) = &proxies.http {
            used.push(
                Proxy::http(http)
                    .map_err(|error| wrong(&error))?
                    .no_proxy(except.clone()),
            );
        }
        if let Some(https) = &proxies.https {
            used.push(
                Proxy::https(https)
                    .map_err(|error| wrong(&error))?
                    .no_proxy(except),
            );
        }
        Ok(Self {
            proxies: used,
            client: Arc::default(),
        })
    }

    /// Returns the client.
    ///
    /// # Errors
    /// [`ProviderError::Settings`]: there is no TLS on this machine.
    fn client(&self) -> Result<&Client, ProviderError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // The client does not read the environment; the caller passes the environment's proxies.
        let mut client = Client::builder().no_proxy();
        for proxy in &self.proxies {
            client = client.proxy(proxy.clone());
        }
        let client = client
            .connect_timeout(CONNECT)
            .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
            .redirect(redirect::Policy::none())
            .build()
            .map_err(|error| wrong(&error))?;
        Ok(self.client.get_or_init(|| client))
    }
}

fn wrong(error: &reqwest::Error) -> ProviderError {
    ProviderError::Settings {
        name: "network".to_owned(),
        why: refusal::network_words(error),
    }
}

/// One provider's addresses and headers.
pub(crate) struct Http {
    network: Network,
    settings: ProviderSettings,
    base: Url,
    headers: HeaderMap,
}

impl Http {
    pub(crate) fn new(settings: ProviderSettings, network: &Network) -> Result<Self, ProviderError> {
        let wrong = |why: String| ProviderError::Settings {
            name: settings.name.clone(),
            why,
        };
        let base = base_url(&settings.base_url).map_err(|why| wrong(format!("BaseUrl {why}")))?;
        let headers = headers(&settings).map_err(wrong)?;
        Ok(Self {
            network: network.clone(),
            settings,
            base,
            headers,
        })
    }

    /// Returns the address of a path under the base URL; the base URL's query stays.
    fn address(&self, path: &str) -> Url {
        let mut address = self.base.clone();
        address.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        address
    }

    /// Returns the base URL without the parts that may be secret.
    pub(crate) fn place(&self) -> String {
        let mut place = self.base.clone();
        place.set_query(None);
        place.set_fragment(None);
        place.into()
    }

    /// Whether a request would send the key unencrypted over a network.
    pub(crate) fn is_open(&self) -> bool {
        let host = self.base.host_str().unwrap_or_default();
        let here = host == "localhost" || host == "[::1]" || host.starts_with("127.");
        self.base.scheme() == "http" && !here && self.settings.key.is_some()
    }

    async fn send(
        &self,
        name: String,
        model: &str,
        request: reqwest::RequestBuilder,
        limits: &Limits,
        key: Option<&Key>,
    ) -> Result<Response, ProviderError> {
        if self.settings.needs_key && self.settings.key.is_none() && key.is_none() {
            let how = self.settings.key_source.clone();
            return Err(ProviderError::NoKey { name, how });
        }
        let mut headers = self.headers.clone();
        if let Some(key) = key {
            let (header, value) = key_header(&self.settings, key).map_err(|why| ProviderError::Settings {
                name: name.clone(),
                why,
            })?;
            headers.insert(header, value);
        }
        let sent = tokio::time::timeout(limits.idle, request.headers(headers).send()).await;
        let response = match sent {
            Err(_) => {
                return Err(ProviderError::Stalled {
                    name,
                    idle: limits.idle,
                });
            }
            Ok(Err(error)) => {
                let why = self.scrub(&refusal::network_words(&error), key);
                return Err(ProviderError::Unreachable { name, why });
            }
            Ok(Ok(response)) => response,
        };
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = beginning(response, limits.idle).await;
        let mut refusal = Refusal::of_answer(status, &headers, &text);
        refusal.said = self.scrub(&refusal.said, key);
        Err(refusal.into_error(name, model, &self.settings))
    }

    /// Returns the error for a response that reports success but is no event stream. Some gateways report errors
    /// so.
    async fn instead(
        &self,
        response: Response,
        name: String,
        model: &str,
        why: String,
        key: Option<&Key>,
    ) -> ProviderError {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let is_json = headers
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().windows(4).any(|part| part == b"json"));
        if is_json {
            let text = beginning(response, self.settings.limits.idle).await;
            let mut refusal = Refusal::of_answer(status, &headers, &text);
            refusal.said = self.scrub(&refusal.said, key);
            if !refusal.said.is_empty() {
                return refusal.into_error(name, model, &self.settings);
            }
        }
        ProviderError::Malformed { name, why }
    }

    /// Reads the provider's list of models, within limits of size and time.
    pub(crate) async fn get_models(
        &self,
        max_bytes: usize,
        longest: Duration,
    ) -> Result<Bytes, ProviderError> {
        let name = || self.settings.name.clone();
        let limits = Limits {
            idle: longest,
            ..self.settings.limits
        };
        let reading = async {
            let mut address = self.address("models");
            if let Some(query) = self.settings.wire.models_query() {
                address.query_pairs_mut().append_pair(query.0, query.1);
            }
            let client = self.network.client()?;
            let request = client.get(address).header(ACCEPT, "application/json");
            let mut response = self
                .send(name(), "a list of models", request, &limits, None)
                .await?;
            let mut whole = Vec::new();
            while let Some(piece) = response
                .chunk()
                .await
                .map_err(|_| ProviderError::Truncated { name: name() })?
            {
                whole.extend_from_slice(&piece);
                if whole.len() > max_bytes {
                    return Err(ProviderError::TooLarge {
                        name: name(),
                        bytes: max_bytes,
                        of: "in its list of models",
                    });
                }
            }
            Ok(Bytes::from(whole))
        };
        let read = tokio::time::timeout(longest, reading).await;
        read.unwrap_or_else(|_| {
            Err(ProviderError::Stalled {
                name: name(),
                idle: longest,
            })
        })
    }

    /// Returns a text of the provider with our secrets removed, and the client's key.
    pub(crate) fn scrub(&self, text: &str, key: Option<&Key>) -> String {
        let mut text = match self.settings.key.as_ref().or(key) {
            Some(key) => key.scrub(text),
            None => text.to_owned(),
        };
        for (_, value) in &self.settings.headers {
            text = without(value, &text, "[header]");
        }
        text
    }

    pub(crate) fn settings(&self) -> &ProviderSettings {
        &self.settings
    }

    /// Returns the user's name for a model.
    pub(crate) fn shown(&self, model: &str) -> String {
        format!("{}/{model}", self.settings.name)
    }
}

impl Exchange for Http {
    fn post<'a>(
        &'a self,
        model: &'a str,
        body: Bytes,
        key: Option<&'a Key>,
    ) -> BoxFuture<'a, Result<Body, ProviderError>> {
        async move {
            let client = self.network.client()?;
            let request = client
                .post(self.address(self.settings.wire.path()))
                .header(CONTENT_TYPE, "application/json")
                .header(ACCEPT, "text/event-stream")
                .body(body);
            let name = self.shown(model);
            let response = self
                .send(name.clone(), model, request, &self.settings.limits, key)
                .await?;
            let kind = response
                .headers()
                .get(CONTENT_TYPE)
                .and_then(|kind| kind.to_str().ok());
            if let Some(kind) =
                kind.filter(|kind| !kind.starts_with("text/event-stream") && !kind.starts_with("text/plain"))
            {
                let why = format!("it is {}, no stream of events", refusal::clean(kind));
                return Err(self.instead(response, name, model, why, key).await);
            }
            let pieces = response.bytes_stream();
            Ok(pieces
                .map(move |piece| piece.map_err(|_| ProviderError::Truncated { name: name.clone() }))
                .boxed())
        }
        .boxed()
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Reads the beginning of an error's body; leaves out unreadable bytes.
async fn beginning(mut response: Response, idle: Duration) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_ERROR_BYTES {
        match tokio::time::timeout(idle, response.chunk()).await {
            Ok(Ok(Some(piece))) => bytes.extend_from_slice(&piece),
            _ => break,
        }
    }
    bytes.truncate(MAX_ERROR_BYTES);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn headers(settings: &ProviderSettings) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    let agent = concat!("bobbin/", env!("CARGO_PKG_VERSION"));
    headers.insert(USER_AGENT, HeaderValue::from_static(agent));
    for (name, value) in settings.wire.headers() {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if let Some(key) = &settings.key {
        let (name, value) = key_header(settings, key)?;
        headers.insert(name, value);
    }
    for (name, value) in &settings.headers {
        let name: HeaderName = name
            .parse()
            .map_err(|_| format!("Headers has {name:?}, which is no header's name"))?;
        let mut value: HeaderValue = value
            .parse()
            .map_err(|_| format!("Headers has a value for {name} that no header can have"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Returns the header that has the key.
fn key_header(settings: &ProviderSettings, key: &Key) -> Result<(HeaderName, HeaderValue), String> {
    let (name, before) = settings.wire.key_header();
    let value = HeaderValue::from_str(&format!("{before}{}", key.expose()));
    let mut value = value.map_err(|_| "its key has characters that no header can have".to_owned())?;
    value.set_sensitive(true);
    Ok((HeaderName::from_static(name), value))
}
