//! Pages and pictures of the web for a model: allowed addresses, fetching, and reading.
//!
//! Requests have nothing of the user's: no cookies, no keys, no proxy password. A name is resolved once and checked,
//! and the connection uses exactly that result. So a name service that changes its answer in between leads nowhere
//! else. See `address` for closed addresses, `fetch` for the bounds, `page` for the conversion of HTML, `picture` for
//! pictures. `proxy` connects programs that have no network of their own to the hosts that their user names.

mod address;
mod fetch;
mod page;
mod picture;
mod proxy;

pub use address::canonical;
pub use fetch::{FetchError, Fetched, Reach, fetch, parse};
pub use picture::fetch_picture;
pub use proxy::{AllowedHost, Refusal, serve_proxy};

/// Reads a page that a user named, at any address, as text.
///
/// # Errors
/// The page could not be fetched; half a sentence says why.
///
/// # Cancel safety
/// Dropping the future drops the connection.
pub async fn read_page(address: &str) -> Result<String, String> {
    let fetched = fetch(parse(address)?, Reach::Anywhere).await;
    let fetched = fetched.map_err(|error| error.to_string())?;
    if fetched.ok {
        Ok(fetched.text)
    } else {
        Err(format!("the server answered {}", fetched.status))
    }
}
