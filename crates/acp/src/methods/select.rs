//! `session/set_mode`, `session/set_config_option` and `session/set_model`: the user's choices.
//!
//! Clients get the news of a choice from the Thread's log, as of a choice by any other client.

use bobbin_acp_wire::{
    Empty, OptionValue, SetConfigOptionParams, SetConfigOptionResult, SetModeParams, SetModelParams,
};
use bobbin_core::{Command, ThreadHandle};
use bobbin_model::{ThreadConfig, ThreadId};
use bobbin_peer::{CallContext, ErrorObject, Responder};

use super::{Client, decoded};
use crate::errors;
use crate::options::{Change, Choices, MODEL, mode_of};

pub(super) async fn mode(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = decoded::<SetModeParams>(request, responder) else {
        return;
    };
    let done = async {
        let handle = client.open_session(&params.session_id).await?;
        let mode = mode_of(&params.mode_id).map_err(errors::invalid)?;
        apply(client, &handle, Change::Mode(mode)).await
    };
    match done.await {
        Ok(_) => responder.ok(Empty {}),
        Err(error) => responder.err(error),
    }
}

pub(super) async fn option(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = decoded::<SetConfigOptionParams>(request, responder) else {
        return;
    };
    match choose(client, &params.session_id, &params.config_id, &params.value).await {
        Ok(choices) => responder.ok(SetConfigOptionResult {
            config_options: choices.config_options(),
        }),
        Err(error) => responder.err(error),
    }
}

pub(super) async fn model(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = decoded::<SetModelParams>(request, responder) else {
        return;
    };
    let value = OptionValue::Select {
        value: params.model_id,
    };
    match choose(client, &params.session_id, MODEL, &value).await {
        Ok(_) => responder.ok(Empty {}),
        Err(error) => responder.err(error),
    }
}

async fn choose(
    client: &Client,
    session: &str,
    option: &str,
    value: &OptionValue,
) -> Result<Choices, ErrorObject> {
    let handle = client.open_session(session).await?;
    let config = config(client, &handle).await?;
    let models = &*client.offer.models;
    let change = client.choices(config.as_ref()).wanted(option, value, models);
    apply(client, &handle, change.map_err(errors::invalid)?).await
}

async fn config(client: &Client, handle: &ThreadHandle) -> Result<Option<ThreadConfig>, ErrorObject> {
    let snapshot = client.threads().snapshot(handle).await;
    let snapshot = snapshot.map_err(|error| errors::of(&error))?;
    Ok(snapshot.state.header.config.clone())
}

/// Makes a change. Returns the choices after it.
async fn apply(client: &Client, handle: &ThreadHandle, change: Change) -> Result<Choices, ErrorObject> {
    let mut config = config(client, handle).await?.unwrap_or_default();
    let done = match change {
        Change::Mode(mode) => {
            config.mode = Some(mode);
            handle.ask(|reply| Command::SetMode { mode, reply }).await
        }
        Change::Model(model) => {
            config.model = Some(model);
            let config = config.clone();
            handle.ask(|reply| Command::Configure { config, reply }).await
        }
        Change::Engine(engine) => {
            config.engine = engine;
            // Each agent has names of its own for models and efforts.
            (config.model, config.reasoning_effort) = (None, None);
            let config = config.clone();
            handle.ask(|reply| Command::Configure { config, reply }).await
        }
        Change::Effort(effort) => {
            config.reasoning_effort = effort;
            let config = config.clone();
            handle.ask(|reply| Command::Configure { config, reply }).await
        }
    };
    done.map_err(|error| errors::of(&error))?;
    Ok(client.choices(Some(&config)))
}

/// Asks providers for their models, and sends the options of a session if they have changed.
pub(super) async fn refresh_models(client: &Client, thread: &ThreadId) {
    let models = &client.offer.models;
    models.refresh().await;
    let Ok(handle) = client.open_session(thread.as_str()).await else {
        return;
    };
    let Ok(config) = config(client, &handle).await else {
        return;
    };
    let choices = client.choices(config.as_ref());
    let news = client.acp.sessions.with(thread, |open| {
        let news = choices.news(&open.choices);
        open.choices = choices;
        news
    });
    client.send(thread, news.unwrap_or_default()).await;
}
