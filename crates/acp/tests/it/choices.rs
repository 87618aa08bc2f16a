//! Modes and options in step.

use serde_json::{Value, json};

use crate::support::{Server, find_update};

/// Returns the values of options by id.
fn values(options: &Value) -> Value {
    let options = options.as_array().unwrap().iter();
    options
        .map(|option| {
            (
                option["id"].as_str().unwrap().to_owned(),
                option["currentValue"].clone(),
            )
        })
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[tokio::test]
async fn modes_and_options_say_the_same_and_change_together() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let set = json!({ "sessionId": session, "modeId": "plan" });
    assert_eq!(client.call("session/set_mode", set).await, json!({}));
    assert_eq!(
        find_update(&mut client, "current_mode_update").await["currentModeId"],
        "plan"
    );
    let update = find_update(&mut client, "config_option_update").await;
    assert_eq!(
        values(&update["configOptions"]),
        json!({ "mode": "plan", "model": "kiln/large" })
    );
    let set = json!({ "sessionId": session, "configId": "mode", "value": "agent" });
    let answer = client.call("session/set_config_option", set).await;
    assert_eq!(values(&answer["configOptions"])["mode"], "agent");
    assert_eq!(
        find_update(&mut client, "current_mode_update").await["currentModeId"],
        "agent"
    );
}

#[tokio::test]
async fn a_model_that_can_think_has_levels_and_another_has_none() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let set = json!({ "sessionId": session, "modelId": "small" });
    assert_eq!(client.call("session/set_model", set).await, json!({}));
    let update = find_update(&mut client, "config_option_update").await;
    assert_eq!(values(&update["configOptions"])["thought_level"], "default");
    let set = |value: &str| json!({ "sessionId": session, "configId": "thought_level", "value": value });
    let answer = client.call("session/set_config_option", set("high")).await;
    assert_eq!(values(&answer["configOptions"])["thought_level"], "high");
    let answer = client.call("session/set_config_option", set("default")).await;
    assert_eq!(values(&answer["configOptions"])["thought_level"], "default");
    assert_eq!(
        client.error("session/set_config_option", set("xhigh")).await["code"],
        -32602
    );
    let set = json!({ "sessionId": session, "configId": "model", "value": "kiln/large" });
    let answer = client.call("session/set_config_option", set).await;
    assert_eq!(
        values(&answer["configOptions"]),
        json!({ "mode": "agent", "model": "kiln/large" })
    );
}

#[tokio::test]
async fn another_agent_can_be_chosen_and_has_no_models_of_ours() {
    let server = Server::start().await.with_engines(&["tea"]);
    let (mut client, session) = server.session().await;
    let set = |value: &str| json!({ "sessionId": session, "configId": "agent", "value": value });
    let answer = client.call("session/set_config_option", set("tea")).await;
    assert_eq!(
        values(&answer["configOptions"]),
        json!({ "mode": "agent", "agent": "tea" })
    );
    assert_eq!(
        client.error("session/set_config_option", set("coffee")).await["code"],
        -32602
    );
    let answer = client.call("session/set_config_option", set("bobbin")).await;
    assert_eq!(
        values(&answer["configOptions"]),
        json!({ "mode": "agent", "agent": "bobbin", "model": "kiln/large" })
    );
}

#[tokio::test]
async fn what_is_unknown_cannot_be_chosen() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    for (method, params) in [
        ("session/set_mode", json!({ "modeId": "yolo" })),
        ("session/set_model", json!({ "modelId": "none" })),
        (
            "session/set_config_option",
            json!({ "configId": "speed", "value": "fast" }),
        ),
        (
            "session/set_config_option",
            json!({ "configId": "mode", "type": "boolean", "value": true }),
        ),
        (
            "session/set_config_option",
            json!({ "configId": "thought_level", "value": "high" }),
        ),
    ] {
        let mut params = params;
        params["sessionId"] = json!(session);
        assert_eq!(
            client.error(method, params.clone()).await["code"],
            -32602,
            "{params}"
        );
    }
    let elsewhere = json!({ "sessionId": "thread_none", "modeId": "plan" });
    assert_eq!(client.error("session/set_mode", elsewhere).await["code"], -32002);
}

#[tokio::test]
async fn a_choice_of_another_client_is_told() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let mut other = server.client_with(json!({})).await;
    server.open(&mut other, "session/resume", &session).await;
    let set = json!({ "sessionId": session, "modeId": "plan" });
    other.call("session/set_mode", set).await;
    assert_eq!(
        find_update(&mut client, "current_mode_update").await["currentModeId"],
        "plan"
    );
    let (_, answer) = server.open(&mut client, "session/resume", &session).await;
    assert_eq!(answer["result"]["modes"]["currentModeId"], "plan");
}
