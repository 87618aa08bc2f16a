//! Reads the web pages that a user attached to a prompt, each within [`LIMIT`].

use std::time::Duration;

use bobbin_editor_kit::Pages;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

/// Longest time for a page (a guess: a user waits for it).
const LIMIT: Duration = Duration::from_secs(10);

/// Reads pages of the web.
pub(crate) struct WebPages;

impl Pages for WebPages {
    fn read<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<String, String>> {
        let late = |_| Err(format!("no answer within {LIMIT:?}"));
        tokio::time::timeout(LIMIT, bobbin_web::read_page(url))
            .map(move |read| read.unwrap_or_else(late))
            .boxed()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Serves one request with this answer and returns the address.
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

    #[tokio::test]
    async fn a_page_is_read_as_text() {
        let url = page(
            "200 OK\r\nContent-Type: text/html; charset=utf-8",
            "<p>One &amp; two</p>",
        )
        .await;
        assert_eq!(WebPages.read(&url).await.unwrap().trim(), "One & two");
        let url = page("200 OK\r\nContent-Type: application/json", "{\"a\":\"<p>\"}").await;
        assert_eq!(WebPages.read(&url).await.unwrap(), "{\"a\":\"<p>\"}");
    }

    #[tokio::test]
    async fn what_cannot_be_read_says_why() {
        let missing = page("404 Not Found", "").await;
        for (url, why) in [
            (missing.as_str(), "404"),
            ("ftp://tea.example/x", "only http and https"),
            ("file:///etc/passwd", "only http and https"),
            ("tea", "no address"),
        ] {
            let error = WebPages.read(url).await.unwrap_err();
            assert!(error.contains(why), "{url}: {error}");
        }
    }
}
