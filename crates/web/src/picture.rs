//! Fetches pictures of the web that a user's message names (AppServer protocol 03 §3).
//!
//! The checks are the same as for pages, for every redirect target too; since there is no approval of places, redirects
//! are followed to other places. Bounds: [`MAX_TIME`] a picture, redirects included; bytes as the caller says.

use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::Url;
use reqwest::header::LOCATION;

use super::fetch::{MAX_REDIRECTS, Reach, check, get, words};

/// Longest fetch of one picture.
const MAX_TIME: Duration = Duration::from_secs(15);
/// The accepted media types.
const TYPES: &str = "image/png,image/jpeg,image/gif,image/webp";

/// Fetches a picture of at most `most` bytes. `reach` applies to its own address; redirects lead to the public internet
/// only.
///
/// # Errors
/// The picture could not be fetched, or may not be; half a sentence says why.
///
/// # Cancel safety
/// Dropping the future drops the connection.
pub async fn fetch_picture(url: Url, reach: Reach, most: usize) -> Result<Vec<u8>, String> {
    tokio::time::timeout(MAX_TIME, follow(url, reach, most))
        .await
        .unwrap_or_else(|_| Err(format!("it took longer than {} s", MAX_TIME.as_secs())))
}

async fn follow(mut url: Url, mut reach: Reach, most: usize) -> Result<Vec<u8>, String> {
    for _ in 0..=MAX_REDIRECTS {
        let response = get(&url, reach, TYPES).await.map_err(|error| error.to_string())?;
        let status = response.status();
        if !status.is_redirection() {
            if !status.is_success() {
                return Err(format!("the server answered {status}"));
            }
            let mut bytes = Vec::new();
            let mut pieces = response.bytes_stream();
            while let Some(piece) = pieces.next().await {
                bytes.extend_from_slice(&piece.map_err(|error| words(&error))?);
                if bytes.len() > most {
                    return Err(format!("it has more than {most} bytes"));
                }
            }
            return Ok(bytes);
        }
        let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
        let to = to.ok_or_else(|| format!("the server answered {status}"))?;
        let next = url
            .join(to)
            .map_err(|error| format!("it leads to {to:?}, which is no address: {error}"))?;
        check(&next).map_err(|why| format!("it leads elsewhere, and {why}"))?;
        if next.origin() != url.origin() {
            reach = Reach::Public;
        }
        url = next;
    }
    Err(format!("it leads on more than {MAX_REDIRECTS} times"))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Serves one answer a connection, and returns its address.
    async fn serve(answers: Vec<(&'static str, &'static [u8])>) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/pot", listener.local_addr().unwrap());
        // Ends after its last answer.
        tokio::spawn(async move {
            for (head, body) in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    request.push(stream.read_u8().await.unwrap());
                }
                let head = format!(
                    "HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                drop(stream.write_all(&[head.as_bytes(), body].concat()).await);
            }
        });
        Url::parse(&address).unwrap()
    }

    #[tokio::test]
    async fn a_picture_is_read_whole_or_not_at_all() {
        let moved = ("302 Found\r\nlocation: /there", b"".as_slice());
        let url = serve(vec![moved, ("200 OK", b"picture")]).await;
        let bytes = fetch_picture(url, Reach::Anywhere, 7).await.unwrap();
        assert_eq!(bytes, b"picture");
        for (answer, most, why) in [
            (("200 OK", b"picture".as_slice()), 6, "more than 6"),
            (("404 Not Found", b"none".as_slice()), 9, "404"),
            (("302 Found", b"".as_slice()), 9, "302"),
        ] {
            let url = serve(vec![answer]).await;
            let error = fetch_picture(url, Reach::Anywhere, most).await.unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[tokio::test]
    async fn neither_an_address_nor_a_redirect_leads_into_the_machines_own_network() {
        let url = serve(vec![]).await;
        let error = fetch_picture(url, Reach::Public, 9).await.unwrap_err();
        assert!(error.starts_with("refused: "), "{error}");
        for to in [
            "http://127.0.0.1:9/",
            "http://169.254.169.254/latest",
            "file:///etc/passwd",
        ] {
            let head: &'static str = Box::leak(format!("302 Found\r\nlocation: {to}").into_boxed_str());
            let url = serve(vec![(head, b"")]).await;
            let error = fetch_picture(url, Reach::Anywhere, 9).await.unwrap_err();
            assert!(
                error.starts_with("refused: ") || error.contains("only http"),
                "{error}"
            );
        }
    }
}
