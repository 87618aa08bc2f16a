//! `provider/*`: between the wire and the user's own file.

use bobbin_agent_api::model_providers::{
    ConfiguredProvider, ProviderDraft, ProviderEdit, ProviderError, ProviderTest,
};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::provider::types::{
    ProviderAuth, ProviderDeleteParams, ProviderDeleteResult, ProviderEditParams, ProviderInfo,
    ProviderListResult, ProviderResult, ProviderSettingsParams, ProviderTestParams, ProviderTestResult,
};
use bobbin_peer::Responder;

use super::Feature;
use crate::call::NoParams;
use crate::client::{Client, refuse, refuse_params};
use crate::groups::models::handlers::infos;

pub(super) async fn list(_: &Client, providers: &Feature, _: NoParams, responder: Responder) {
    match providers.list().await {
        Ok(providers) => responder.ok(ProviderListResult {
            providers: providers
                .into_iter()
                .filter(|provider| provider.offered)
                .map(info)
                .collect(),
        }),
        Err(detail) => refuse(responder, RpcError::internal_error(detail)),
    }
}

pub(super) async fn create(
    client: &Client,
    providers: &Feature,
    ProviderEditParams { id, settings }: ProviderEditParams,
    responder: Responder,
) {
    let edit = ProviderEdit::Create(draft(&id, settings));
    edited(client, providers, "provider/create", edit, responder).await;
}

pub(super) async fn update(
    client: &Client,
    providers: &Feature,
    ProviderEditParams { id, settings }: ProviderEditParams,
    responder: Responder,
) {
    let edit = ProviderEdit::Update(draft(&id, settings));
    edited(client, providers, "provider/update", edit, responder).await;
}

pub(super) async fn delete(
    client: &Client,
    providers: &Feature,
    ProviderDeleteParams { id }: ProviderDeleteParams,
    responder: Responder,
) {
    let edit = ProviderEdit::Delete(id.trim().to_owned());
    edited(client, providers, "provider/delete", edit, responder).await;
}

async fn edited(
    client: &Client,
    providers: &Feature,
    source: &'static str,
    edit: ProviderEdit,
    responder: Responder,
) {
    // The answer precedes the news of the change.
    let _news_wait = client.session.hold();
    let deletes = matches!(edit, ProviderEdit::Delete(_));
    match providers.edit(source, edit).await {
        Ok(_) if deletes => responder.ok(ProviderDeleteResult { deleted: true }),
        Ok(Some(provider)) => responder.ok(ProviderResult {
            provider: info(provider),
        }),
        Ok(None) => refuse(
            responder,
            RpcError::internal_error("The provider is not there any more."),
        ),
        Err(error) => failed(responder, error),
    }
}

fn failed(responder: Responder, error: ProviderError) {
    match error {
        ProviderError::Invalid(detail) => refuse_params(responder, detail),
        ProviderError::Unwritable(detail) => refuse(responder, RpcError::internal_error(detail)),
    }
}

pub(super) fn test(
    client: &Client,
    providers: &Feature,
    ProviderTestParams {
        provider_id,
        settings,
    }: ProviderTestParams,
    responder: Responder,
) {
    let id = provider_id.as_deref().unwrap_or_default();
    let testing = providers.test(draft(id, settings));
    let cancelled = responder.token().clone();
    client.spawn(async move {
        tokio::select! {
            biased;
            // The client no longer waits.
            () = cancelled.cancelled() => drop(responder),
            tested = testing => match tested {
                Ok(tested) => responder.ok(result(tested, provider_id)),
                Err(error) => failed(responder, error),
            },
        }
    });
}

fn result((protocol, listed): ProviderTest, provider_id: Option<String>) -> ProviderTestResult {
    let (models, error) = match listed {
        Ok(models) => (models, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    ProviderTestResult {
        success: error.is_none(),
        protocol,
        models: infos(models, ""),
        error_code: error.as_ref().map(|error| error.code),
        error_message: error.map(|error| error.message),
        provider_id,
    }
}

/// Returns a draft. Texts that are blank count as left out, except for a key: that removes it.
fn draft(id: &str, settings: ProviderSettingsParams) -> ProviderDraft {
    let said = |text: Option<String>| {
        let text = text.map(|text| text.trim().to_owned());
        text.filter(|text| !text.is_empty())
    };
    ProviderDraft {
        id: id.trim().to_owned(),
        display_name: said(settings.display_name),
        protocol: settings.protocol,
        base_url: said(settings.end_point),
        api_key: settings.api_key.map(|key| said(key.0)),
        max_output_tokens: settings.max_output_tokens,
        idle_seconds: settings.stream_idle_timeout_ms.map(|ms| ms.div_ceil(1000)),
        attempts: settings
            .stream_max_retries
            .map(|retries| retries.saturating_add(1)),
    }
}

fn info(provider: ConfiguredProvider) -> ProviderInfo {
    let abilities = ["streamingChat", "toolCalling", "modelListing"];
    ProviderInfo {
        display_name: provider.display_name.unwrap_or_else(|| provider.id.clone()),
        id: provider.id,
        protocol: provider.protocol,
        has_api_key: provider.has_key,
        api_key: provider.has_key.then(|| "***".to_owned()),
        end_point: provider.base_url,
        auth_method: ProviderAuth::ApiKey,
        supports_image_generation: false,
        capabilities: abilities.map(|ability| (ability.to_owned(), true)).into(),
        max_output_tokens: provider.max_output_tokens,
        stream_idle_timeout_ms: provider.idle_ms,
        stream_max_retries: provider.retries,
    }
}
