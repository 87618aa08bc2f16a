//! Reading the pages that a prompt refers to.
//!
//! Only what a person attached is read, over `http` and `https`, without cookies or keys: at most [`MAX_READ`] bytes
//! within [`LIMIT`], over at most [`MAX_REDIRECTS`] redirects. Proxies are those of the environment.

mod html;

use std::time::Duration;

use bobbin_eca::Pages;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, Response, Url, redirect};

/// How long a page may take (a guess: a person waits for it).
const LIMIT: Duration = Duration::from_secs(10);
/// Most bytes read of a page: markup is several times its text.
const MAX_READ: usize = 1 << 20;
/// Most redirects followed.
const MAX_REDIRECTS: usize = 5;

/// Reads pages of the web.
pub(crate) struct WebPages(Client);

impl WebPages {
    /// Makes the client; connects nowhere.
    ///
    /// # Errors
    /// A proxy's address cannot be used.
    pub(crate) fn new() -> Result<Self, reqwest::Error> {
        let client = Client::builder()
            .user_agent(concat!("bobbin/", env!("CARGO_PKG_VERSION")))
            .pool_max_idle_per_host(0)
            .redirect(redirect::Policy::limited(MAX_REDIRECTS))
            .build()?;
        Ok(Self(client))
    }

    async fn fetch(&self, url: &str) -> Result<String, String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("{} is not an address of the web", url.scheme()));
        }
        let asked = self
            .0
            .get(url)
            .header(ACCEPT, "text/html, text/*;q=0.9, */*;q=0.1");
        let response = asked.send().await.map_err(|error| reason(&error))?;
        if !response.status().is_success() {
            return Err(format!("the server answered {}", response.status()));
        }
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_lowercase();
        if !is_text(&kind) {
            return Err(format!("it is {kind}, not text"));
        }
        let bytes = beginning(response).await?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(if kind.contains("html") {
            html::text(&text)
        } else {
            text.into_owned()
        })
    }
}

impl Pages for WebPages {
    fn read<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<String, String>> {
        let late = |_| Err(format!("no answer within {LIMIT:?}"));
        tokio::time::timeout(LIMIT, self.fetch(url))
            .map(move |fetched| fetched.unwrap_or_else(late))
            .boxed()
    }
}

/// Returns the innermost cause: the outer ones repeat the address.
fn reason(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Whether a kind is read; what does not say what it is may be.
fn is_text(kind: &str) -> bool {
    let named = ["json", "xml", "javascript", "yaml", "toml"];
    kind.is_empty() || kind.starts_with("text/") || named.iter().any(|name| kind.contains(name))
}

async fn beginning(mut response: Response) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_READ
        && let Some(chunk) = response.chunk().await.map_err(|error| reason(&error))?
    {
        bytes.extend_from_slice(&chunk);
    }
    bytes.truncate(MAX_READ);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Answers one request with this and returns the address.
    async fn page(head: &str, body: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = [0; 4096];
            assert!(stream.read(&mut asked).await.unwrap() > 0);
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        format!("http://{address}/tea")
    }

    fn pages() -> WebPages {
        WebPages(Client::builder().no_proxy().build().unwrap())
    }

    #[tokio::test]
    async fn a_page_is_read_as_text() {
        let markup = "<title>Tea</title><p>One &amp; two</p>";
        let url = page("200 OK\r\nContent-Type: text/html; charset=utf-8", markup).await;
        assert_eq!(pages().read(&url).await.unwrap(), "Tea\nOne & two\n");
        let url = page("200 OK\r\nContent-Type: application/json", "{\"a\":\"<p>\"}").await;
        assert_eq!(pages().read(&url).await.unwrap(), "{\"a\":\"<p>\"}");
    }

    #[tokio::test]
    async fn what_cannot_be_read_says_why() {
        let missing = page("404 Not Found", "").await;
        let picture = page("200 OK\r\nContent-Type: image/png", "x").await;
        for (url, why) in [
            (missing.as_str(), "404"),
            (&picture, "image/png"),
            ("ftp://tea.example/x", "not an address of the web"),
            ("file:///etc/passwd", "not an address of the web"),
            ("tea", "relative URL"),
            ("http://127.0.0.1:1/", "refused"),
        ] {
            let error = pages().read(url).await.unwrap_err();
            assert!(error.contains(why), "{url}: {error}");
        }
    }

    #[tokio::test]
    async fn a_long_page_is_cut() {
        let url = page("200 OK\r\nContent-Type: text/plain", &"x".repeat(MAX_READ * 2)).await;
        assert_eq!(pages().read(&url).await.unwrap().len(), MAX_READ);
    }
}
