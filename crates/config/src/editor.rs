//! What an editor's options say of models' providers and MCP servers, in the form of the user's own file.
//!
//! The options are the word of the editor's user. They are in memory only and count for the server that the editor
//! starts.

use serde_json::{Map, Value, json};

/// Returns the options as a configuration file would have them.
pub(crate) fn as_file(providers: &Map<String, Value>, mcp_servers: &Map<String, Value>) -> Value {
    let providers = providers
        .iter()
        .map(|(name, said)| (name.clone(), provider(said)));
    json!({
        "Providers": providers.collect::<Map<_, _>>(),
        "McpServers": mcp_servers,
    })
}

/// Returns one provider. Members that mean nothing here are left out.
fn provider(said: &Value) -> Value {
    let mut file = Map::new();
    let text = |name: &str| said[name].as_str().filter(|text| !text.trim().is_empty());
    let wire = match text("api") {
        Some("openai-chat") => Some(("chat", "/chat/completions")),
        Some("openai-responses") => Some(("responses", "/responses")),
        Some("anthropic") => Some(("messages", "/messages")),
        other => other.map(|other| (other, "")),
    };
    if let Some((wire, _)) = wire {
        file.insert("Wire".to_owned(), json!(wire));
    }
    if let Some(url) = text("url") {
        let suffix = wire.map_or("", |(_, suffix)| suffix);
        let base = base_url(url, text("completionUrlRelativePath"), suffix);
        file.insert("BaseUrl".to_owned(), json!(base));
    }
    let key = text("key");
    let variable = key.and_then(|key| key.strip_prefix("${env:")?.strip_suffix('}'));
    if let Some(variable) = variable.or(text("keyEnv")) {
        file.insert("ApiKeyEnv".to_owned(), json!(variable));
    } else if let Some(key) = key {
        file.insert("ApiKey".to_owned(), json!(key));
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

/// Returns the address in front of a wire's path. The options have the address of a host, and a path that has a usual
/// value.
fn base_url(url: &str, path: Option<&str>, suffix: &str) -> String {
    let url = url.trim_end_matches('/');
    if let Some(path) = path {
        return format!("{url}{}", path.strip_suffix(suffix).unwrap_or(path));
    }
    let last = url.rsplit('/').next().unwrap_or_default();
    let version = last.strip_prefix('v').unwrap_or_default();
    if version.starts_with(|first: char| first.is_ascii_digit()) {
        return url.to_owned();
    }
    format!("{url}/v1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_of_options_becomes_one_of_a_file() {
        for (said, file) in [
            (
                json!({ "api": "openai-chat", "url": "http://127.0.0.1:1", "key": "k", "models": { "m": {} } }),
                json!({ "Wire": "chat", "BaseUrl": "http://127.0.0.1:1/v1", "ApiKey": "k", "Models": ["m"] }),
            ),
            (
                json!({ "api": "anthropic", "url": "https://tea.example/api/v4/", "key": "${env:TEA_KEY}" }),
                json!({ "Wire": "messages", "BaseUrl": "https://tea.example/api/v4", "ApiKeyEnv": "TEA_KEY" }),
            ),
            (
                json!({
                    "api": "openai-responses", "url": "https://tea.example", "keyEnv": "TEA_KEY",
                    "completionUrlRelativePath": "/pot/responses",
                }),
                json!({ "Wire": "responses", "BaseUrl": "https://tea.example/pot", "ApiKeyEnv": "TEA_KEY" }),
            ),
            (
                json!({ "models": ["m"], "keyRc": "x" }),
                json!({ "Models": ["m"] }),
            ),
            (json!(7), json!({})),
        ] {
            assert_eq!(provider(&said), file, "{said}");
        }
    }
}
