//! An editor's options for providers of models and MCP servers, in the form of the user's own file.
//!
//! The options count as the user's own settings. They are in memory only, for the server that the editor starts.

use bobbin_models::settings::{Key, KeyPlace};
use serde_json::{Map, Value, json};

/// Returns the options in the form of a configuration file.
pub(crate) fn as_file(providers: &Map<String, Value>, mcp_servers: &Map<String, Value>) -> Value {
    let providers = providers
        .iter()
        .map(|(name, said)| (name.clone(), provider(name, said)));
    json!({
        "Providers": providers.collect::<Map<_, _>>(),
        "McpServers": mcp_servers,
    })
}

/// Returns the sources of the providers' keys, for providers that name one.
pub(crate) fn keys(providers: &Map<String, Value>) -> impl Iterator<Item = (&str, KeyPlace)> {
    providers.iter().filter_map(|(name, said)| {
        let variable = || text(said, "keyEnv").map(|name| KeyPlace::Variable(name.to_owned()));
        let key = text(said, "key").map(key_place).or_else(variable);
        Some((name.as_str(), key?))
    })
}

/// Returns the source of a key: the key itself, `${env:NAME}`, `${env:NAME:KEY}` or `${file:PATH}`. A text in another
/// form is no key, since it must not be sent.
fn key_place(key: &str) -> KeyPlace {
    if !key.contains("${") {
        return KeyPlace::Given(Key::new(key));
    }
    let form = key.trim().strip_prefix("${");
    let form = form.and_then(|rest| rest.strip_suffix('}')?.split_once(':'));
    match form.filter(|(_, rest)| !rest.is_empty() && !rest.contains("${")) {
        Some(("env", rest)) => match rest.split_once(':') {
            Some((name, key)) if !key.trim().is_empty() => {
                KeyPlace::VariableOr(name.to_owned(), Key::new(key))
            }
            _ => KeyPlace::Variable(rest.trim_end_matches(':').to_owned()),
        },
        Some(("file", path)) => KeyPlace::File(path.into()),
        // The rest may be secret.
        Some((form @ ("cmd" | "netrc"), _)) => KeyPlace::Unsupported(format!("${{{form}:…}}")),
        _ => KeyPlace::Unsupported("${…} in this place".to_owned()),
    }
}

/// Returns a member's text that is not blank.
fn text<'a>(said: &'a Value, name: &str) -> Option<&'a str> {
    said[name].as_str().filter(|text| !text.trim().is_empty())
}

/// Returns one provider without its key and without members that have no meaning here.
fn provider(name: &str, said: &Value) -> Value {
    let mut file = Map::new();
    let text = |name: &str| text(said, name);
    let wire = match text("api") {
        Some("openai-chat") => Some("chat"),
        Some("openai-responses") => Some("responses"),
        Some("anthropic") => Some("messages"),
        other => other,
    };
    if let Some(wire) = wire {
        file.insert("Wire".to_owned(), json!(wire));
    }
    if let Some(url) = text("url") {
        let name = name.to_ascii_lowercase();
        let base = match (wire, name.as_str()) {
            (Some("responses"), _) | (None, "openai") => Base::Versioned("/responses"),
            (Some("messages"), _) | (None, "anthropic") => Base::Versioned("/messages"),
            (_, "github-copilot") => Base::Chat { of_host: "" },
            _ => Base::Chat { of_host: "/v1" },
        };
        let base = base.of(url, text("completionUrlRelativePath"));
        file.insert("BaseUrl".to_owned(), json!(base));
    }
    let models = match &said["models"] {
        Value::Object(models) => models.keys().cloned().collect(),
        Value::Array(models) => models
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    };
    if !models.is_empty() {
        file.insert("Models".to_owned(), json!(models));
    }
    Value::Object(file)
}

/// How the address of an option becomes the base of a wire's paths.
enum Base {
    /// Adds `/v1`, unless the address ends with a version. The value is the wire's path.
    Versioned(&'static str),
    /// An address with a path is complete, as `…/v1beta/openai`. Adds `of_host` to a bare host.
    Chat { of_host: &'static str },
}

impl Base {
    /// Returns the base address. `path` replaces the version and the wire's path.
    fn of(&self, url: &str, path: Option<&str>) -> String {
        let url = url.trim().trim_end_matches('/');
        let (suffix, version) = match self {
            Self::Versioned(suffix) if is_versioned(url) => (*suffix, ""),
            Self::Versioned(suffix) => (*suffix, "/v1"),
            Self::Chat { of_host } => {
                let host = url.split_once("://").map_or(url, |(_, host)| host);
                let follows = if host.contains('/') { "" } else { of_host };
                ("/chat/completions", follows)
            }
        };
        match path.map(|path| path.trim().trim_start_matches('/')) {
            Some(path) => {
                let whole = format!("{url}/{path}");
                whole.strip_suffix(suffix).unwrap_or(&whole).to_owned()
            }
            None => format!("{url}{version}"),
        }
    }
}

/// Whether an address ends with a version such as `/v4`.
fn is_versioned(url: &str) -> bool {
    let last = url.rsplit('/').next().unwrap_or_default();
    let version = last.strip_prefix('v').unwrap_or_default();
    version.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_of_options_becomes_one_of_a_file() {
        for (said, file) in [
            (
                json!({ "api": "openai-chat", "url": "http://127.0.0.1:1", "key": "k", "models": { "m": {} } }),
                json!({ "Wire": "chat", "BaseUrl": "http://127.0.0.1:1/v1", "Models": ["m"] }),
            ),
            (
                json!({ "api": "anthropic", "url": "https://tea.example/api/v4/", "key": "${env:TEA_KEY}" }),
                json!({ "Wire": "messages", "BaseUrl": "https://tea.example/api/v4" }),
            ),
            (
                json!({
                    "api": "openai-responses", "url": "https://tea.example", "keyEnv": "TEA_KEY",
                    "completionUrlRelativePath": "/pot/responses",
                }),
                json!({ "Wire": "responses", "BaseUrl": "https://tea.example/pot" }),
            ),
            (
                json!({ "models": ["m"], "keyRc": "x" }),
                json!({ "Models": ["m"] }),
            ),
            (json!(7), json!({})),
        ] {
            assert_eq!(provider("tea", &said), file, "{said}");
        }
    }

    #[test]
    fn an_address_is_followed_by_what_its_wire_usually_has() {
        let chat = json!({ "api": "openai-chat" });
        let (messages, none) = (json!({ "api": "anthropic" }), json!({}));
        for (name, said, url, base) in [
            ("tea", &chat, "https://tea.example", "https://tea.example/v1"),
            ("tea", &chat, "https://tea.example/", "https://tea.example/v1"),
            ("tea", &chat, "https://tea.example/v1", "https://tea.example/v1"),
            ("tea", &chat, "https://tea.example/pot", "https://tea.example/pot"),
            ("tea", &none, "http://[::1]:1", "http://[::1]:1/v1"),
            (
                "google",
                &none,
                "https://g.example/v1beta/openai/",
                "https://g.example/v1beta/openai",
            ),
            (
                "GitHub-Copilot",
                &none,
                "https://api.copilot.example",
                "https://api.copilot.example",
            ),
            (
                "openai",
                &none,
                "https://o.example/pot",
                "https://o.example/pot/v1",
            ),
            ("openai", &chat, "https://o.example/pot", "https://o.example/pot"),
            (
                "anthropic",
                &none,
                "https://a.example/pot",
                "https://a.example/pot/v1",
            ),
            ("tea", &messages, "https://a.example/v4", "https://a.example/v4"),
        ] {
            let mut said = said.clone();
            said["url"] = json!(url);
            assert_eq!(provider(name, &said)["BaseUrl"], base, "{name} {url}");
        }
        let said =
            json!({ "url": "https://tea.example", "completionUrlRelativePath": "pot/chat/completions" });
        assert_eq!(provider("tea", &said)["BaseUrl"], "https://tea.example/pot");
    }

    #[test]
    fn a_key_is_read_in_the_forms_that_are_supported_and_no_form_is_a_key() {
        for (said, place) in [
            (json!({ "key": "k" }), "Given(Key(…))"),
            (json!({ "key": "k", "keyEnv": "TEA" }), "Given(Key(…))"),
            (json!({ "key": " ", "keyEnv": "TEA" }), "Variable(\"TEA\")"),
            (json!({ "key": "${env:TEA}" }), "Variable(\"TEA\")"),
            (json!({ "key": "${env:TEA:}" }), "Variable(\"TEA\")"),
            (
                json!({ "key": "${env:TEA:pot:k}" }),
                "VariableOr(\"TEA\", Key(…))",
            ),
            (json!({ "key": "${file:~/tea.key}" }), "File(\"~/tea.key\")"),
            (
                json!({ "key": "${cmd:echo secret}" }),
                "Unsupported(\"${cmd:…}\")",
            ),
            (json!({ "key": "${netrc:tea}" }), "Unsupported(\"${netrc:…}\")"),
            (
                json!({ "key": "x${env:TEA}" }),
                "Unsupported(\"${…} in this place\")",
            ),
            (
                json!({ "key": "${env:TEA:${env:POT}}" }),
                "Unsupported(\"${…} in this place\")",
            ),
            (json!({ "key": "${env:}" }), "Unsupported(\"${…} in this place\")"),
        ] {
            let providers = Map::from_iter([("tea".to_owned(), said.clone())]);
            let found: Vec<_> = keys(&providers)
                .map(|(name, place)| (name, format!("{place:?}")))
                .collect();
            assert_eq!(found, [("tea", place.to_owned())], "{said}");
        }
    }
}
