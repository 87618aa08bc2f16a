//! Pages of the web for a model: where they may come from, fetching them, and reading them.
//!
//! Nothing of the user's goes along: no cookies, no keys, no proxy's password. What a name leads to is looked up once,
//! checked, and connected to as it was checked, so that an answer of the name service that changes in between leads
//! nowhere else. See `address` for what is never reached, `fetch` for the bounds, `page` for what becomes of HTML, `picture` for pictures.

mod address;
mod fetch;
mod page;
mod picture;

pub use fetch::{FetchError, Fetched, Reach, fetch, parse};
pub use picture::fetch_picture;

/// Reads a page that a person named, wherever it is, as text.
///
/// # Errors
/// It could not be had; half a sentence says why.
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
