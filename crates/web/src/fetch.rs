//! Fetches one address: resolves the name, checks the result, connects to exactly that, and reads up to a bound.
//!
//! Bounds: [`MAX_TIME`] in all, [`MAX_REDIRECTS`], [`MAX_BYTES`] of a body; the caller cuts a page's text. A redirect
//! within the same place is checked anew and followed. One to another place is only reported, since the approval was
//! for this place. No proxy is used, because a proxy would resolve the name by itself.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION, USER_AGENT};
use reqwest::{Client, Response, Url, redirect};

use super::address::is_public;
use super::page;

/// Longest fetch, redirects included.
const MAX_TIME: Duration = Duration::from_secs(30);
/// Longest time to make a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// Most redirects followed.
pub(super) const MAX_REDIRECTS: usize = 5;
/// Most bytes read of a body.
const MAX_BYTES: usize = 2 << 20;
/// Longest address.
const MAX_URL_BYTES: usize = 4096;
/// The accepted media types.
const TYPES: &str =
    "text/html,application/xhtml+xml,text/plain,text/markdown,application/json;q=0.9,text/*;q=0.8,*/*;q=0.1";

/// How far a fetch may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The public internet.
    Public,
    /// Anywhere: a rule names this place.
    Anywhere,
}

/// Why an address could not be read, as half a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The address is not public, and no rule names it.
    #[error(
        "refused: {0} leads into this machine or its own network; a rule that allows the tool WebFetch:{0} would let it"
    )]
    NotPublic(String),
    /// The fetch failed.
    #[error("{0}")]
    Failed(String),
}

impl From<String> for FetchError {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// The result of a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The final address.
    pub url: String,
    /// The status, as a number and words.
    pub status: String,
    /// Whether the status is a success.
    pub ok: bool,
    /// The content, as text.
    pub text: String,
    /// Whether `text` is only the beginning.
    pub cut: bool,
}

/// Parses an address that a model wrote.
///
/// # Errors
/// The address cannot be fetched; half a sentence says why.
pub fn parse(text: &str) -> Result<Url, String> {
    if text.len() > MAX_URL_BYTES {
        return Err(format!("an address has at most {MAX_URL_BYTES} bytes"));
    }
    let url = Url::parse(text.trim()).map_err(|error| format!("{text:?} is no address: {error}"))?;
    check(&url)?;
    Ok(url)
}

pub(super) fn check(url: &Url) -> Result<(), String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "only http and https are fetched, and not {}",
            url.scheme()
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("an address with a name or a password is not fetched".to_owned());
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("it names no host".to_owned());
    }
    Ok(())
}

/// Fetches a page.
///
/// # Errors
/// The page could not be fetched, or may not be; a sentence for the model.
///
/// # Cancel safety
/// Dropping the future drops the connection.
pub async fn fetch(url: Url, reach: Reach) -> Result<Fetched, FetchError> {
    tokio::time::timeout(MAX_TIME, follow(url, reach))
        .await
        .unwrap_or_else(|_| Err(format!("it took longer than {} s", MAX_TIME.as_secs()).into()))
}

async fn follow(mut url: Url, reach: Reach) -> Result<Fetched, FetchError> {
    for _ in 0..=MAX_REDIRECTS {
        let response = get(&url, reach, TYPES).await?;
        if !response.status().is_redirection() {
            return Ok(read(url, response).await?);
        }
        let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
        let Some(to) = to else {
            return Ok(read(url, response).await?);
        };
        let next = url
            .join(to)
            .map_err(|error| format!("it leads to {to:?}, which is no address: {error}"))?;
        check(&next).map_err(|why| format!("it leads elsewhere, and {why}"))?;
        let same = next.host() == url.host() && next.port_or_known_default() == url.port_or_known_default();
        // From HTTP to HTTPS of one host, as most sites redirect; another port is another place.
        let usual_ports = url.port().is_none() && next.port().is_none();
        let upgraded =
            usual_ports && next.host() == url.host() && url.scheme() == "http" && next.scheme() == "https";
        if !(same || upgraded) {
            return Err(format!("it leads to another place, which was not fetched: {next}").into());
        }
        url = next;
    }
    Err(format!("it leads on more than {MAX_REDIRECTS} times").into())
}

/// Requests one address from the checked addresses of its name.
pub(super) async fn get(url: &Url, reach: Reach, types: &str) -> Result<Response, FetchError> {
    let places = look_up(url, reach).await?;
    let host = url.host_str().unwrap_or_default();
    let client = Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .referer(false)
        .connect_timeout(CONNECT)
        .pool_max_idle_per_host(0)
        .resolve_to_addrs(host, &places)
        .build()
        .map_err(|error| words(&error))?;
    let request = client
        .get(url.clone())
        .header(USER_AGENT, concat!("bobbin/", env!("CARGO_PKG_VERSION")))
        .header(ACCEPT, types);
    Ok(request.send().await.map_err(|error| words(&error))?)
}

/// Resolves a name and checks all of its addresses.
async fn look_up(url: &Url, reach: Reach) -> Result<Vec<SocketAddr>, FetchError> {
    let host = url.host_str().unwrap_or_default();
    let places = resolve(host, url.port_or_known_default().unwrap_or(80)).await?;
    if reach == Reach::Public && !are_public(&places) {
        return Err(FetchError::NotPublic(host.to_owned()));
    }
    Ok(places)
}

/// Resolves a name, or reads an address, into at least one place.
pub(super) async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let literal = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    let places: Vec<SocketAddr> = match literal {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => tokio::net::lookup_host((host, port))
            .await
            .map_err(|error| format!("{host} cannot be looked up: {error}"))?
            .collect(),
    };
    if places.is_empty() {
        return Err(format!("{host} has no address"));
    }
    Ok(places)
}

/// Whether all addresses of a name are public. One that is not is enough: the owner of the name could choose it.
pub(super) fn are_public(places: &[SocketAddr]) -> bool {
    places.iter().all(|place| is_public(place.ip()))
}

async fn read(url: Url, response: Response) -> Result<Fetched, String> {
    let status = response.status();
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or("text/plain").to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_owned();
    let is_text = kind.starts_with("text/")
        || ["json", "xml", "javascript", "yaml", "toml"]
            .iter()
            .any(|part| kind.contains(part));
    if !is_text {
        return Err(format!("it is {kind}, which is no text ({status})"));
    }
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    let mut cut = false;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| words(&error))?;
        let room = MAX_BYTES - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            cut = true;
            break;
        }
    }
    let place = url.clone();
    let text = move || {
        let body = String::from_utf8_lossy(&body);
        if kind.contains("html") {
            page::text(&body, &place)
        } else {
            body.into_owned()
        }
    };
    let text = tokio::task::spawn_blocking(text).await;
    let text = text.map_err(|_| "it cannot be read".to_owned())?;
    Ok(Fetched {
        url: url.into(),
        status: status.to_string(),
        ok: status.is_success(),
        text,
        cut,
    })
}

/// Returns the error without the address, which the model knows.
pub(super) fn words(error: &reqwest::Error) -> String {
    let mut text = if error.is_connect() {
        "it cannot be reached"
    } else {
        "it cannot be read"
    }
    .to_owned();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Serves one answer a connection, and returns the address and the requests.
    async fn serve(answers: Vec<String>) -> (String, tokio::task::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let served = tokio::spawn(async move {
            let mut asked = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    request.push(stream.read_u8().await.unwrap());
                }
                asked.push(String::from_utf8(request).unwrap());
                // A client may close the connection early.
                drop(stream.write_all(answer.as_bytes()).await);
            }
            asked
        });
        (address, served)
    }

    fn answer(head: &str, body: &str) -> String {
        format!(
            "HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
    }

    fn url(text: &str) -> Url {
        parse(text).unwrap()
    }

    #[tokio::test]
    async fn a_page_is_read_as_text_and_nothing_of_the_users_goes_along() {
        let page = "<html><head><title>Tea</title></head><body><h1>Boil</h1><p>At <b>100</b> degrees.</p></body></html>";
        let moved = answer("302 Found\r\nlocation: /there", "");
        let (address, served) = serve(vec![
            moved,
            answer("200 OK\r\ncontent-type: text/html; charset=utf-8", page),
        ])
        .await;
        let fetched = fetch(url(&address), Reach::Anywhere).await.unwrap();
        assert_eq!(
            (fetched.url, fetched.ok, fetched.cut),
            (format!("{address}/there"), true, false)
        );
        assert!(
            fetched.text.contains("Boil") && fetched.text.contains("At 100 degrees."),
            "{}",
            fetched.text
        );
        for asked in served.await.unwrap() {
            let asked = asked.to_ascii_lowercase();
            assert!(
                asked.starts_with("get /") && !asked.contains("cookie") && !asked.contains("authorization"),
                "{asked}"
            );
        }
    }

    #[tokio::test]
    async fn a_redirect_to_another_place_is_told_and_not_followed() {
        for to in [
            "http://169.254.169.254/latest",
            "http://localhost:1/",
            "//example.com/x",
            "http://u:p@127.0.0.1/",
        ] {
            let (address, served) = serve(vec![answer(&format!("301 Moved\r\nlocation: {to}"), "")]).await;
            let error = fetch(url(&address), Reach::Anywhere)
                .await
                .unwrap_err()
                .to_string();
            assert!(error.contains("it leads"), "{error}");
            served.await.unwrap();
        }
        let (address, served) = serve(vec![answer("301 Moved\r\nlocation: /", ""); MAX_REDIRECTS + 1]).await;
        let error = fetch(url(&address), Reach::Anywhere)
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains("more than 5"), "{error}");
        served.await.unwrap();
    }

    #[rstest]
    #[case("http://127.0.0.1:9/")]
    #[case("http://localhost:9/")]
    #[case("http://[::1]:9/")]
    #[case("http://[::ffff:10.0.0.1]/")]
    #[case("http://0x7f.1/")]
    #[case("http://2130706433/")]
    #[case("http://169.254.169.254/latest/meta-data")]
    #[tokio::test]
    async fn the_machines_own_network_is_not_reached_however_it_is_written(#[case] address: &str) {
        let error = fetch(url(address), Reach::Public).await.unwrap_err();
        assert!(matches!(error, FetchError::NotPublic(_)), "{error}");
    }

    #[rstest]
    #[case("file:///etc/passwd")]
    #[case("ftp://example.com/")]
    #[case("gopher://example.com/")]
    #[case("http://user:secret@example.com/")]
    #[case("http://")]
    #[case("example.com")]
    fn what_is_no_address_of_the_web_is_refused(#[case] address: &str) {
        assert!(parse(address).is_err());
    }

    #[tokio::test]
    async fn what_is_too_long_is_cut_and_what_is_no_text_is_refused() {
        let long = "x".repeat(MAX_BYTES + 1);
        let (address, served) = serve(vec![answer("200 OK\r\ncontent-type: text/plain", &long)]).await;
        let fetched = fetch(url(&address), Reach::Anywhere).await.unwrap();
        assert_eq!((fetched.text.len(), fetched.cut), (MAX_BYTES, true));
        served.await.unwrap();
        let (address, served) = serve(vec![answer("200 OK\r\ncontent-type: image/png", "x")]).await;
        assert!(
            fetch(url(&address), Reach::Anywhere)
                .await
                .unwrap_err()
                .to_string()
                .contains("image/png")
        );
        served.await.unwrap();
        let (address, served) =
            serve(vec![answer("404 Not Found\r\ncontent-type: text/plain", "none")]).await;
        let fetched = fetch(url(&address), Reach::Anywhere).await.unwrap();
        assert_eq!((fetched.ok, fetched.status.as_str()), (false, "404 Not Found"));
        served.await.unwrap();
    }
}
