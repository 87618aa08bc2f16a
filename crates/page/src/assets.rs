//! The files of the page, from the binary.
//!
//! Files in `assets/` have a digest in their names, so browsers may cache them for ever; others are asked for each time and
//! mostly answered 304. Text is compressed once, when a browser first asks for it. Nothing comes from the disk.

use std::borrow::Cow;
use std::io::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use rust_embed::{Embed, EmbeddedFile};
use tokio::sync::OnceCell;

/// The built page. Without one the server has no page: a checkout whose page was not built serves clients as ever.
#[derive(Embed)]
#[folder = "dist/"]
#[exclude = "SOURCES.sha256"]
#[allow_missing = true]
struct Dist;

/// The file that is served at `/`.
const INDEX: &str = "index.html";
/// The directory of files whose names change with their content.
const HASHED: &str = "assets/";
/// Files that are smaller are not worth compressing.
const MIN_COMPRESSED: usize = 1024;

/// The content security policy of the page: no script, style, font or connection but ours, and no frame around it.
/// Pictures may be in the page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; \
                      img-src 'self' data: blob:; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; \
                      form-action 'none'";

/// The content that the page may show in frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frames {
    /// Nothing.
    Nothing,
    /// Pages of the web: extensions open windows.
    Pages,
}

impl Frames {
    /// Returns the policy of the page.
    pub(crate) fn policy(self) -> HeaderValue {
        match self {
            Self::Nothing => HeaderValue::from_static(POLICY),
            Self::Pages => HeaderValue::try_from(format!("{POLICY}; frame-src http: https:"))
                .unwrap_or(HeaderValue::from_static(POLICY)),
        }
    }
}

/// Headers of every answer to a browser, beside the policy.
pub(crate) const HEADERS: [(HeaderName, &str); 4] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Returns whether this binary has a page.
pub fn is_there() -> bool {
    Dist::get(INDEX).is_some()
}

/// Returns the router of the page's files.
pub fn files() -> Router {
    of::<Dist>(&["/"])
}

/// Returns the router of the page's files at a node: the page is at `/w/NAME/` for each workspace, and at `/w/` for the list
/// of them.
pub fn files_of_node() -> Router {
    of_node::<Dist>()
}

fn of_node<Files: Embed>() -> Router {
    // Users type the address of a workspace without its last slash.
    let with_slash = async |uri: Uri| Redirect::permanent(&format!("{}/", uri.path()));
    of::<Files>(&["/w/", "/w/{name}/"])
        .route("/", get(async || Redirect::temporary("/w/")))
        .route("/w/{name}", get(with_slash))
}

/// Returns the router of files, with the page itself at these paths.
fn of<Files: Embed>(pages: &[&str]) -> Router {
    let mut router = Router::new();
    if Files::get(INDEX).is_none() {
        return router;
    }
    for path in Files::iter() {
        let Some(file) = Files::get(&path) else { continue };
        let asset = Arc::new(Asset::new(&path, file));
        let places = match &*path {
            INDEX => pages.iter().map(ToString::to_string).collect(),
            path => vec![format!("/{path}")],
        };
        for place in places {
            let asset = asset.clone();
            let serve = move |headers: HeaderMap| async move { asset.answer(&headers).await };
            router = router.route(&place, get(serve));
        }
    }
    router
}

/// One file.
struct Asset {
    bytes: Bytes,
    kind: &'static str,
    cache: &'static str,
    tag: String,
    /// The bytes, compressed.
    small: OnceCell<Bytes>,
}

impl Asset {
    fn new(path: &str, file: EmbeddedFile) -> Self {
        // Weak: the same for both encodings.
        let tag = format!("W/\"{}\"", hex::encode(&file.metadata.sha256_hash()[..16]));
        Self {
            bytes: match file.data {
                Cow::Borrowed(bytes) => Bytes::from_static(bytes),
                Cow::Owned(bytes) => bytes.into(),
            },
            kind: kind(path),
            cache: if path.starts_with(HASHED) {
                "public, max-age=31536000, immutable"
            } else {
                "no-cache"
            },
            tag,
            small: OnceCell::new(),
        }
    }

    async fn answer(&self, asked: &HeaderMap) -> Response {
        let headers = [
            (CONTENT_TYPE, self.kind),
            (CACHE_CONTROL, self.cache),
            (ETAG, self.tag.as_str()),
            (VARY, "accept-encoding"),
        ];
        if words(asked, &IF_NONE_MATCH).any(|tag| tag == self.tag) {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        let takes = words(asked, &ACCEPT_ENCODING).any(|name| name == "gzip");
        if takes
            && is_text(self.kind)
            && self.bytes.len() >= MIN_COMPRESSED
            && let Some(small) = self.small().await
        {
            let encoding = HeaderValue::from_static("gzip");
            return (headers, [(CONTENT_ENCODING, encoding)], small).into_response();
        }
        (headers, self.bytes.clone()).into_response()
    }

    async fn small(&self) -> Option<Bytes> {
        let compress = || async {
            let bytes = self.bytes.clone();
            let compressing = tokio::task::spawn_blocking(move || {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
                encoder.write_all(&bytes)?;
                encoder.finish()
            });
            compressing.await.map_err(std::io::Error::other)?.map(Bytes::from)
        };
        match self.small.get_or_try_init(compress).await {
            Ok(small) => Some(small.clone()),
            Err(error) => {
                tracing::debug!(%error, "a file of the page is sent without compression");
                None
            }
        }
    }
}

/// Returns the words of a header's lists, without what is behind a semicolon.
fn words<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).iter();
    let lists = values.filter_map(|value| value.to_str().ok());
    lists
        .flat_map(|list| list.split(','))
        .map(|word| word.split(';').next().unwrap_or_default().trim())
}

fn is_text(kind: &str) -> bool {
    !matches!(
        kind,
        "image/png" | "image/x-icon" | "font/woff2" | "application/octet-stream"
    )
}

/// Returns the type of a file by its name: of those that a build of the page has.
fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("txt" | "md") => "text/plain; charset=utf-8",
        Some("json") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use flate2::read::GzDecoder;
    use tower::ServiceExt as _;

    use super::*;

    /// A page like one that was built.
    #[derive(Embed)]
    #[folder = "tests/fixture/"]
    struct Fixture;

    async fn ask(path: &str, headers: &[(HeaderName, &str)]) -> (StatusCode, HeaderMap, Bytes) {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        let request = request.body(Body::empty()).unwrap();
        let (head, body) = of::<Fixture>(&["/"]).oneshot(request).await.unwrap().into_parts();
        (head.status, head.headers, to_bytes(body, 1 << 20).await.unwrap())
    }

    #[tokio::test]
    async fn files_have_their_types_and_only_those_with_a_digest_in_their_names_are_cached_for_ever() {
        for (path, status, kind, cache) in [
            ("/", 200, "text/html; charset=utf-8", "no-cache"),
            (
                "/assets/app-1a2b.js",
                200,
                "text/javascript; charset=utf-8",
                "public, max-age=31536000, immutable",
            ),
            ("/icon.svg", 200, "image/svg+xml", "no-cache"),
            ("/index.html", 404, "", ""),
            ("/assets/", 404, "", ""),
            ("/assets/../icon.svg", 404, "", ""),
        ] {
            let (found, headers, _) = ask(path, &[]).await;
            let header = |name| {
                headers
                    .get(name)
                    .map_or("", |value: &HeaderValue| value.to_str().unwrap())
            };
            assert_eq!(
                (found.as_u16(), header(CONTENT_TYPE), header(CACHE_CONTROL)),
                (status, kind, cache)
            );
        }
    }

    #[tokio::test]
    async fn a_node_has_the_page_at_every_workspace_and_at_their_list() {
        for (path, status, location) in [
            ("/", 307, "/w/"),
            ("/w/", 200, ""),
            ("/w/tea/", 200, ""),
            ("/w/tea", 308, "/w/tea/"),
            ("/w/tea/more", 404, ""),
            ("/icon.svg", 200, ""),
        ] {
            let request = Request::get(path).body(Body::empty()).unwrap();
            let answer = of_node::<Fixture>().oneshot(request).await.unwrap();
            let to = answer.headers().get("location");
            let to = to.map_or("", |to| to.to_str().unwrap());
            assert_eq!((answer.status().as_u16(), to), (status, location), "{path}");
        }
    }

    #[tokio::test]
    async fn a_file_that_a_browser_has_is_not_sent_again() {
        let (_, headers, body) = ask("/", &[]).await;
        assert!(body.starts_with(b"<!doctype html>"));
        let tag = headers[ETAG].to_str().unwrap();
        let (status, again, body) = ask("/", &[(IF_NONE_MATCH, &format!("\"x\", {tag}"))]).await;
        assert_eq!((status, body.len()), (StatusCode::NOT_MODIFIED, 0));
        assert_eq!(again[ETAG], headers[ETAG]);
        assert_eq!(ask("/", &[(IF_NONE_MATCH, "\"x\"")]).await.0, StatusCode::OK);
    }

    #[tokio::test]
    async fn text_is_compressed_for_those_who_take_it() {
        let path = "/assets/app-1a2b.js";
        let (_, headers, plain) = ask(path, &[]).await;
        assert!(!headers.contains_key(CONTENT_ENCODING) && headers.contains_key(VARY));
        let (_, headers, small) = ask(path, &[(ACCEPT_ENCODING, "br, gzip;q=0.8")]).await;
        assert_eq!(headers[CONTENT_ENCODING], "gzip");
        assert!(small.len() < plain.len());
        let mut text = Vec::new();
        GzDecoder::new(&*small).read_to_end(&mut text).unwrap();
        assert_eq!(text, plain);
        let (_, headers, _) = ask("/icon.svg", &[(ACCEPT_ENCODING, "gzip")]).await;
        assert!(!headers.contains_key(CONTENT_ENCODING), "too small");
    }
}
