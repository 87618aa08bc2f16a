//! The providers of models in the user's own file, as clients list, change and test them.
//!
//! A key is only sent to the address that it was set for: a new address without a key removes it, and a test of
//! another address goes without it.

use std::os::unix::fs::PermissionsExt as _;

use bobbin_agent_api::ConfigValueNews;
use bobbin_agent_api::model_providers::{
    ConfiguredProvider, KeySource, ModelProviders, ProviderDraft, ProviderEdit, ProviderError, ProviderTest,
};
use bobbin_config::Config;
use bobbin_models::settings::{KeyPlace, Origin, ProviderEntry, Wire, is_built_in};
use bobbin_models::{Key, ProviderSettings, base_url};
use bobbin_settings::edit;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{ConfigFiles, Place, restore};
use crate::models;
use crate::models::{protocol, wire};

impl Place {
    /// Returns the provider of this name, with its key if there is one.
    fn provider(&self, config: &Config, id: &str) -> Option<(ProviderEntry, ProviderSettings)> {
        let mut entries = config.models.providers.iter();
        let entry = entries.find(|entry| entry.settings.name.eq_ignore_ascii_case(id))?;
        Some((entry.clone(), models::provider(entry, self.home.as_deref())))
    }

    fn providers(&self) -> anyhow::Result<Vec<ConfiguredProvider>> {
        let config = self.read()?;
        let entries = config.models.providers.iter();
        let entries = entries.map(|entry| (entry, models::provider(entry, self.home.as_deref())));
        Ok(entries.map(|(entry, settings)| shown(entry, &settings)).collect())
    }

    /// Changes the user's own file, and restores it if the result cannot be used.
    fn edit_provider(
        &self,
        change: &ProviderEdit,
    ) -> Result<(Config, Option<ConfiguredProvider>), ProviderError> {
        let cannot = |error: anyhow::Error| ProviderError::Unwritable(format!("{error:#}"));
        let file = self.own();
        let before = edit::text(&file).map_err(cannot)?;
        let known = edit::get(&file, &["Providers"]).map_err(cannot)?;
        let (ProviderEdit::Create(ProviderDraft { id, .. })
        | ProviderEdit::Update(ProviderDraft { id, .. })
        | ProviderEdit::Delete(id)) = change;
        let named = known.as_ref().and_then(Value::as_object).and_then(|known| {
            let mut names = known.keys();
            names.find(|name| name.eq_ignore_ascii_case(id)).cloned()
        });
        let config = self.read().map_err(cannot)?;
        let present = self.provider(&config, id);
        let unknown =
            || ProviderError::Invalid(format!("There is no provider {id:?}; 'provider/list' lists all."));
        if present
            .as_ref()
            .is_some_and(|(entry, _)| entry.origin == Origin::Project)
        {
            let detail = format!("The workspace's own file has the provider {id:?}. Choose another name.");
            return Err(ProviderError::Invalid(detail));
        }
        match (change, named) {
            (ProviderEdit::Create(_), Some(named)) => {
                let detail = format!("There is a provider {named:?}; 'provider/update' changes it.");
                return Err(ProviderError::Invalid(detail));
            }
            (ProviderEdit::Create(draft), None) => self.write_draft(id, draft, None)?,
            (ProviderEdit::Update(draft), named) => {
                let (entry, _) = present.ok_or_else(unknown)?;
                self.write_draft(&named.unwrap_or_else(|| id.clone()), draft, Some(&entry))?;
            }
            (ProviderEdit::Delete(_), Some(named)) => {
                edit::set(&file, &[(&["Providers", &named], None)]).map_err(cannot)?;
            }
            (ProviderEdit::Delete(_), None) => return Err(unknown()),
        }
        let usable = self.read().and_then(|config| {
            models::open(&config.models, self.home.as_deref(), config.agent.compact_percent)?;
            Ok(config)
        });
        let config = usable.map_err(|error| {
            restore(&file, Ok(before));
            ProviderError::Invalid(format!("{error:#}"))
        })?;
        let provider = self
            .provider(&config, id)
            .map(|(entry, settings)| shown(&entry, &settings));
        Ok((config, provider))
    }

    /// Writes a draft into the user's own file; `present` is the provider before it.
    fn write_draft(
        &self,
        name: &str,
        draft: &ProviderDraft,
        present: Option<&ProviderEntry>,
    ) -> Result<(), ProviderError> {
        let built_in = is_built_in(name);
        let address = checked_address(name, draft)?;
        if present.is_none() && !built_in && (address.is_none() || draft.protocol.is_none()) {
            let detail = "A new provider needs 'protocol' and 'endPoint', unless it is built in.";
            return Err(ProviderError::Invalid(detail.to_owned()));
        }
        let at = |member: &'static str| ["Providers", name, member];
        let number = |value: u64| Value::from(value);
        let mut changes: Vec<([&str; 3], Option<Value>)> = Vec::new();
        let mut set = |member, value: Option<Value>| {
            if value.is_some() {
                changes.push((at(member), value));
            }
        };
        set("DisplayName", draft.display_name.clone().map(Value::from));
        set(
            "Wire",
            draft.protocol.map(|protocol| wire_name(wire(protocol)).into()),
        );
        set("BaseUrl", address.map(Value::from));
        set("MaxOutputTokens", draft.max_output_tokens.map(number));
        set("IdleSeconds", draft.idle_seconds.map(number));
        set("Attempts", draft.attempts.map(number));
        let moves =
            present.is_some_and(|present| address.is_some_and(|said| said != present.settings.base_url));
        if draft.api_key.is_some() || moves {
            let key = draft.api_key.clone().flatten();
            changes.extend(["ApiKeyEnv", "ApiKeyFile"].map(|member| (at(member), None)));
            changes.push((at("ApiKey"), key.map(Value::from)));
        }
        let cannot = |error: anyhow::Error| ProviderError::Unwritable(format!("{error:#}"));
        if changes.is_empty() {
            return Ok(());
        }
        let changes: Vec<(&[&str], Option<Value>)> = changes
            .iter()
            .map(|(names, value)| (names.as_slice(), value.clone()))
            .collect();
        edit::set(&self.own(), &changes).map_err(cannot)?;
        if matches!(draft.api_key, Some(Some(_))) {
            // A key counts only in a file that nobody else can read.
            let alone = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(self.own(), alone).map_err(|error| cannot(error.into()))?;
        }
        Ok(())
    }

    /// Returns the settings to test: those of the draft over those of the files.
    fn tested(&self, draft: &ProviderDraft) -> Result<ProviderSettings, ProviderError> {
        let config = self
            .read()
            .map_err(|error| ProviderError::Invalid(format!("{error:#}")))?;
        let present = self.provider(&config, &draft.id).map(|(_, settings)| settings);
        let address = checked_address(&draft.id, draft)?;
        let mut settings = match (present, address, draft.protocol) {
            (Some(present), ..) => present,
            (None, Some(address), Some(protocol)) => {
                ProviderSettings::new(&draft.id, wire(protocol), address)
            }
            (None, ..) => {
                let detail = "'providerId' must name a provider, or 'protocol' and 'endPoint' are needed.";
                return Err(ProviderError::Invalid(detail.to_owned()));
            }
        };
        if let Some(address) = address
            && address != settings.base_url
        {
            address.clone_into(&mut settings.base_url);
            settings.key = None;
            settings.headers = Vec::new();
        }
        if let Some(protocol) = draft.protocol {
            settings.wire = wire(protocol);
        }
        if let Some(key) = &draft.api_key {
            settings.key = key.as_deref().map(Key::new);
        }
        Ok(settings)
    }
}

/// Returns the address of a draft. A built-in provider has its own.
fn checked_address<'a>(name: &str, draft: &'a ProviderDraft) -> Result<Option<&'a str>, ProviderError> {
    let Some(address) = draft.base_url.as_deref() else {
        return Ok(None);
    };
    if is_built_in(name) {
        let own = bobbin_models::settings::built_in_address(name);
        if own == Some(address.trim_end_matches('/')) {
            return Ok(None);
        }
        // Its key would be sent to another address.
        let detail = "'endPoint' must be left out for a built-in provider. Choose another 'id'.";
        return Err(ProviderError::Invalid(detail.to_owned()));
    }
    let usable = base_url(address).map(drop);
    usable.map_err(|why| ProviderError::Invalid(format!("'endPoint' {why}")))?;
    Ok(Some(address))
}

fn wire_name(wire: Wire) -> &'static str {
    match wire {
        Wire::ChatCompletions => "chat",
        Wire::Responses => "responses",
        Wire::Messages => "messages",
    }
}

fn shown(entry: &ProviderEntry, settings: &ProviderSettings) -> ConfiguredProvider {
    ConfiguredProvider {
        id: settings.name.clone(),
        display_name: entry.display_name.clone(),
        protocol: protocol(settings.wire),
        base_url: settings.base_url.clone(),
        has_key: settings.key.is_some(),
        key_source: match &entry.key {
            KeyPlace::Nowhere => KeySource::Nowhere,
            KeyPlace::Inline(..) => KeySource::Stored,
            KeyPlace::Variable(name) => KeySource::Variable(name.clone()),
            KeyPlace::VariableOr(..) | KeyPlace::File(_) | KeyPlace::Given(_) | KeyPlace::Unsupported(_) => {
                KeySource::Elsewhere
            }
            KeyPlace::Withheld => KeySource::Withheld,
        },
        offered: settings.offered,
        max_output_tokens: settings.max_output_tokens,
        idle_ms: u64::try_from(settings.limits.idle.as_millis()).unwrap_or(u64::MAX),
        retries: settings.limits.attempts.saturating_sub(1),
    }
}

impl ModelProviders for ConfigFiles {
    fn list(&self) -> BoxFuture<'_, Result<Vec<ConfiguredProvider>, String>> {
        let place = self.place.clone();
        async move {
            let read = tokio::task::spawn_blocking(move || place.providers()).await;
            let read = read.map_err(|error| error.to_string())?;
            read.map_err(|error| format!("{error:#}"))
        }
        .boxed()
    }

    fn edit(
        &self,
        source: &'static str,
        edit: ProviderEdit,
    ) -> BoxFuture<'_, Result<Option<ConfiguredProvider>, ProviderError>> {
        async move {
            let _changing = self.changing.lock().await;
            let place = self.place.clone();
            let edited = tokio::task::spawn_blocking(move || place.edit_provider(&edit)).await;
            let (config, provider) =
                edited.unwrap_or_else(|error| Err(ProviderError::Unwritable(error.to_string())))?;
            let applied = self.apply(&config);
            applied.map_err(|error| ProviderError::Invalid(error.to_string()))?;
            if let Some(threads) = self.threads.upgrade() {
                let news = ConfigValueNews {
                    source,
                    regions: vec!["workspace.providers".to_owned()],
                    keys: vec!["providers".to_owned()],
                };
                threads.broadcasts().send(news, 0);
            }
            Ok(provider)
        }
        .boxed()
    }

    fn test(&self, draft: ProviderDraft) -> BoxFuture<'static, Result<ProviderTest, ProviderError>> {
        let place = self.place.clone();
        async move {
            let settings = tokio::task::spawn_blocking(move || place.tested(&draft)).await;
            let settings =
                settings.unwrap_or_else(|error| Err(ProviderError::Unwritable(error.to_string())))?;
            let spoken = protocol(settings.wire);
            Ok((spoken, models::tested(settings).await))
        }
        .boxed()
    }
}
