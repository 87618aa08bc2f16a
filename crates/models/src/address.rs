//! Checks of addresses, for callers that read settings. Pure.

use reqwest::Url;

/// Returns the host of an address in lower case, with brackets around IPv6; `None` for an address without a host.
pub fn host(address: &str) -> Option<String> {
    Url::parse(address).ok()?.host_str().map(str::to_owned)
}

/// Returns the address of a provider.
///
/// # Errors
/// The reason, to follow the provider's name. It omits the address, which may contain a password.
pub fn base_url(text: &str) -> Result<Url, String> {
    let base = Url::parse(text.trim()).map_err(|error| format!("is no address ({error})"))?;
    if !matches!(base.scheme(), "http" | "https") || !base.has_host() {
        return Err("does not start with http:// or https://".to_owned());
    }
    if !base.username().is_empty() || base.password().is_some() {
        return Err("has a password in it; use Headers for it".to_owned());
    }
    Ok(base)
}

/// Whether a text can be the address of a proxy: `HOST:PORT`, or an HTTP or SOCKS URL.
pub fn is_proxy(address: &str) -> bool {
    const SCHEMES: [&str; 6] = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"];
    let whole = if address.contains("://") {
        address.to_owned()
    } else {
        format!("http://{address}")
    };
    Url::parse(&whole).is_ok_and(|url| SCHEMES.contains(&url.scheme()) && url.has_host())
        && reqwest::Proxy::all(address).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_as_a_connection_would() {
        for (address, expected) in [
            ("http://127.0.0.1:8080/v1", Some("127.0.0.1")),
            ("http://LOCALHOST/v1", Some("localhost")),
            ("http://[::1]:1/", Some("[::1]")),
            ("http://127.0.0.1@evil.example/", Some("evil.example")),
            ("http://127.1/", Some("127.0.0.1")),
            ("tea", None),
        ] {
            assert_eq!(host(address).as_deref(), expected, "{address}");
        }
    }

    #[test]
    fn a_proxy_is_a_host_with_a_scheme_that_can_be_spoken() {
        for (address, is) in [
            ("http://proxy:3128", true),
            ("proxy:3128", true),
            ("http://user:secret@proxy:3128", true),
            ("socks5h://127.0.0.1:1080", true),
            ("ftp://proxy", false),
            ("tea pot", false),
            ("", false),
        ] {
            assert_eq!(is_proxy(address), is, "{address}");
        }
    }
}
