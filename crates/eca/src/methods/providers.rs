//! Providers of models and their keys (20.6, 21.5).
//!
//! A login stores a key in the user's own file, and a logout removes it: both only for an editor that runs as the
//! server's user on its machine. A key is in no answer, event, error or line of the log.

use std::sync::Arc;

use bobbin_agent_api::model_providers::{
    ConfiguredProvider, KeySource, ModelProviders, ProviderDraft, ProviderEdit, ProviderError,
};
use bobbin_editor_kit::KeyStatus;
use bobbin_peer::{CallContext, ErrorObject, Responder};
use serde_json::{Value, json};

use super::select::update_models;
use super::{Client, params};
use crate::errors;
use crate::wire::provider::{
    AuthSource, AuthStatus, InputField, Login, LoginAction, LoginInputParams, LoginMethod, LoginParams,
    LogoutParams, ModelCapabilities, ProviderAuth, ProviderModel, ProviderStatus, ProvidersListResult,
};

/// The method of a login, and the field for its input.
const API_KEY: &str = "api-key";
const API_KEY_LABEL: &str = "API key";
/// The provider of the models that have none.
const OWN: &str = "bobbin";
/// Longest key; keys of today have less than 300 bytes.
const MAX_KEY_BYTES: usize = 16 << 10;

/// Lists the providers with their models. `authenticated` means that a key exists; it is not tested.
pub(super) fn list(client: &Client, responder: Responder) {
    let of = client.clone();
    client.tasks.spawn(async move {
        let providers = statuses(&of).await;
        responder.ok(ProvidersListResult {
            providers: &providers,
        });
        *of.eca.known_providers.lock() = Some(providers);
    });
}

/// Returns the first step of a login: the input of a key, since there is one method.
pub(super) fn log_in(client: &Client, request: &CallContext, responder: Responder) {
    let Some((asked, responder)) = params::<LoginParams>(request, responder) else {
        return;
    };
    let of = client.clone();
    client.tasks.spawn(async move {
        if let Err(error) = found(&of, &asked.provider).await {
            return responder.err(error);
        }
        if asked.method.is_some_and(|method| method != API_KEY) {
            let why = format!("{} has one method to log in: {API_KEY}.", asked.provider);
            return responder.err(errors::refused(why));
        }
        responder.ok(LoginAction::Input {
            fields: [InputField {
                key: API_KEY,
                label: API_KEY_LABEL,
                kind: "secret",
            }],
        });
    });
}

/// Stores the key that a user has entered.
pub(super) fn log_in_with(client: &Client, request: &CallContext, responder: Responder) {
    let Some((asked, responder)) = params::<LoginInputParams>(request, responder) else {
        return;
    };
    let of = client.clone();
    client.tasks.spawn(async move {
        let key = match key(&asked.data) {
            Ok(key) => key,
            Err(why) => return responder.err(errors::refused(why.to_owned())),
        };
        let (own, provider) = match found(&of, &asked.provider).await {
            Ok(found) => found,
            Err(error) => return responder.err(error),
        };
        match store(&of, &*own, "providers/loginInput", provider.id, Some(key)).await {
            Ok(()) => responder.ok(LoginAction::Done),
            Err(error) => responder.err(error),
        }
    });
}

/// Removes a key that a login has stored. A key in another place stays there.
pub(super) fn log_out(client: &Client, request: &CallContext, responder: Responder) {
    let Some((asked, responder)) = params::<LogoutParams>(request, responder) else {
        return;
    };
    let of = client.clone();
    client.tasks.spawn(async move {
        let (own, provider) = match found(&of, &asked.provider).await {
            Ok(found) => found,
            Err(error) => return responder.err(error),
        };
        let id = provider.id;
        let done = match provider.key_source {
            KeySource::Stored => store(&of, &*own, "providers/logout", id, None).await,
            KeySource::Variable(name) if provider.has_key => Err(errors::refused(format!(
                "The key of {id} is in the variable {name}. Unset it and start the server again."
            ))),
            KeySource::Elsewhere => Err(errors::refused(format!(
                "The key of {id} is where your settings say. Change them in ~/.craft/config.json."
            ))),
            KeySource::Nowhere | KeySource::Variable(_) | KeySource::Withheld => Ok(()),
        };
        match done {
            Ok(()) => responder.ok(json!({})),
            Err(error) => responder.err(error),
        }
    });
}

/// Sends providers and models that have changed, whenever settings have, until the connection ends.
pub(super) fn follow(client: &Client) {
    let of = client.clone();
    client.tasks.spawn(async move {
        loop {
            tokio::select! {
                () = of.peer.closed() => return,
                () = of.eca.settings_changed.notified() => {}
            }
            send_changed(&of).await;
            // A provider with another key lists other models.
            update_models(&of).await;
            send_changed(&of).await;
        }
    });
}

async fn send_changed(client: &Client) {
    if client.eca.known_providers.lock().is_none() {
        return;
    }
    let providers = statuses(client).await;
    let known = client.eca.known_providers.lock().replace(providers.clone());
    let known = known.unwrap_or_default();
    for provider in providers.iter().filter(|provider| !known.contains(provider)) {
        client.notify("providers/updated", provider).await;
    }
}

/// Writes a key into the user's own file, or removes it.
async fn store(
    client: &Client,
    own: &dyn ModelProviders,
    source: &'static str,
    id: String,
    key: Option<String>,
) -> Result<(), ErrorObject> {
    // The client gets the change, also if it has not asked for the list.
    let known = statuses(client).await;
    client.eca.known_providers.lock().get_or_insert(known);
    let draft = ProviderDraft {
        id,
        api_key: Some(key),
        ..ProviderDraft::default()
    };
    match own.edit(source, ProviderEdit::Update(draft)).await {
        Ok(_) => Ok(()),
        Err(ProviderError::Invalid(why)) => Err(errors::refused(why)),
        Err(ProviderError::Unwritable(why)) => Err(errors::failed(why)),
    }
}

/// Returns the user's own file and a provider whose key it can have.
async fn found(
    client: &Client,
    id: &str,
) -> Result<(Arc<dyn ModelProviders>, ConfiguredProvider), ErrorObject> {
    let Some(own) = client.offer.own_providers.clone() else {
        let why = "Keys are stored only for an editor on the server's machine. Set this one up there, with `bobbin setup`.";
        return Err(errors::failed(why.to_owned()));
    };
    let providers = own.list().await.map_err(errors::failed)?;
    let mut providers = providers.into_iter().filter(takes_key);
    let found = providers.find(|provider| provider.id == id);
    let unknown = || {
        errors::refused(
            "There is no provider of this name that takes a key here. `bobbin setup` adds one.".to_owned(),
        )
    };
    Ok((own, found.ok_or_else(unknown)?))
}

/// Returns the key in the input of a login. The error is for the user and has nothing of it.
fn key(data: &Value) -> Result<String, &'static str> {
    let key = data[API_KEY].as_str().unwrap_or_default().trim();
    if key.is_empty() {
        return Err("The API key is missing. Enter it.");
    }
    if key.len() > MAX_KEY_BYTES || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("This is no API key: it is too long, or has characters that no key has. Enter it again.");
    }
    Ok(key.to_owned())
}

/// Whether a login can store a key for a provider.
fn takes_key(provider: &ConfiguredProvider) -> bool {
    match provider.key_source {
        KeySource::Withheld => false,
        // A built-in provider without a place for a key needs none.
        KeySource::Nowhere => provider.offered,
        KeySource::Stored | KeySource::Variable(_) | KeySource::Elsewhere => true,
    }
}

/// Returns the providers: those that are offered first, then those that need a key for that.
async fn statuses(client: &Client) -> Vec<ProviderStatus> {
    let own = match &client.offer.own_providers {
        Some(own) => own.list().await.unwrap_or_else(|error| {
            tracing::warn!(error, "providers are shown without logins");
            Vec::new()
        }),
        None => Vec::new(),
    };
    let models = &client.offer.models;
    let offered = models.providers();
    let mut by_provider: Vec<(String, Vec<ProviderModel>)> = offered
        .iter()
        .map(|(provider, _)| (provider.clone(), Vec::new()))
        .collect();
    for name in models.known() {
        let provider = name.split_once('/').map_or(OWN, |(provider, _)| provider);
        let model = ProviderModel {
            capabilities: ModelCapabilities {
                reason: !models.efforts(&name).is_empty(),
                vision: models.sees_pictures(&name),
                tools: true,
                web_search: false,
            },
            id: name.clone(),
        };
        match by_provider.iter_mut().find(|(known, _)| known == provider) {
            Some((_, models)) => models.push(model),
            None => by_provider.push((provider.to_owned(), vec![model])),
        }
    }
    for provider in own.iter().filter(|provider| takes_key(provider)) {
        if !by_provider.iter().any(|(known, _)| *known == provider.id) {
            by_provider.push((provider.id.clone(), Vec::new()));
        }
    }
    let status = |(id, models): (String, Vec<ProviderModel>)| {
        let own = own.iter().find(|provider| provider.id == id);
        let key = offered.iter().find(|(provider, _)| *provider == id);
        let auth = auth(client, own, key.map(|(_, key)| *key));
        let label = match own.and_then(|own| own.display_name.clone()) {
            Some(name) => name,
            None if id == OWN => "Bobbin, without a provider".to_owned(),
            None => id.clone(),
        };
        ProviderStatus {
            label,
            configured: auth.status != AuthStatus::Unauthenticated,
            auth,
            login: own.filter(|own| takes_key(own)).map(|_| Login {
                methods: [LoginMethod {
                    key: API_KEY,
                    label: API_KEY_LABEL,
                }],
            }),
            models,
            id,
        }
    };
    by_provider.into_iter().map(status).collect()
}

/// Returns whether a provider has a key, and from where. A key in the client's environment counts for its requests.
fn auth(client: &Client, own: Option<&ConfiguredProvider>, key: Option<KeyStatus>) -> ProviderAuth {
    let source = own.map(|own| &own.key_source);
    let clients = match source {
        Some(KeySource::Variable(name)) => client.offer.keys.get(name).is_some(),
        _ => false,
    };
    let status = match key {
        Some(KeyStatus::Configured) => AuthStatus::Authenticated,
        _ if clients => AuthStatus::Authenticated,
        Some(KeyStatus::Missing) => AuthStatus::Unauthenticated,
        // A provider of the files that is not offered yet.
        None if own.is_some() => AuthStatus::Unauthenticated,
        Some(KeyStatus::NotNeeded) | None => AuthStatus::Local,
    };
    let has_key = status == AuthStatus::Authenticated;
    ProviderAuth {
        status,
        kind: has_key.then_some("api-key"),
        source: source.filter(|_| has_key).map(|source| match source {
            KeySource::Stored => AuthSource::Login,
            KeySource::Variable(_) => AuthSource::Env,
            KeySource::Nowhere | KeySource::Elsewhere | KeySource::Withheld => AuthSource::Config,
        }),
        env_var: match source {
            Some(KeySource::Variable(name)) if has_key => Some(name.clone()),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_word_of_visible_characters() {
        for (data, expected) in [
            (json!({ "api-key": " sk-tea \n" }), Some("sk-tea")),
            (json!({ "api-key": "" }), None),
            (json!({ "api-key": "sk tea" }), None),
            (json!({ "api-key": "sk-é" }), None),
            (json!({ "api-key": 7 }), None),
            (json!("sk-tea"), None),
            (json!({}), None),
        ] {
            assert_eq!(key(&data).ok().as_deref(), expected, "{data}");
        }
        for (bytes, is_one) in [(MAX_KEY_BYTES, true), (MAX_KEY_BYTES + 1, false)] {
            assert_eq!(key(&json!({ "api-key": "k".repeat(bytes) })).is_ok(), is_one);
        }
    }
}
