//! From the handshake to the end (section 4).

use std::time::Duration;

use bobbin_eca::End;
use serde_json::json;

use crate::support::{Server, hello, is_content, is_finished, kinds, prompt, transcript, until};

#[tokio::test]
async fn handshake() {
    let server = Server::start().await;
    let (mut client, _) = server.connect();
    let mut seen = vec![client.answer_to("chat/list", json!({})).await];
    seen.push(client.answer_to("initialize", hello()).await);
    seen.push(client.answer_to("initialize", hello()).await);
    // It is answered, and nothing is pushed yet.
    seen.push(client.answer_to("jobs/list", json!({})).await);
    client.notify("initialized", json!([])).await;
    seen.extend(client.until("$/showMessage").await);
    transcript!(server, seen);
}

#[tokio::test]
async fn a_client_that_wants_to_plan_begins_so() {
    let server = Server::start().await;
    let (mut client, _) = server.connect();
    let mut params = hello();
    params["initializationOptions"] = json!({ "chatBehavior": "plan", "chatAgent": null });
    let result = client.call("initialize", params).await;
    assert_eq!(result["chatDefaultBehavior"], "plan");
    client.notify("initialized", json!(null)).await;
    let seen = client.until("tool/serverUpdated").await;
    assert_eq!(seen[1]["params"]["chat"]["selectAgent"], "plan");
    assert_eq!(seen[3]["params"]["tools"][1]["disabled"], true);
    let told = prompt(&mut client, json!({ "message": "say hi" })).await;
    let id = told
        .iter()
        .find_map(|message| message["result"]["chatId"].as_str());
    let opened = client.call("chat/open", json!({ "chatId": id.unwrap() })).await;
    assert_eq!(opened["selection"]["agent"], "plan");
}

#[tokio::test]
async fn shutdown_and_exit() {
    let server = Server::start().await;
    let (mut client, serving) = server.connect();
    client.call("initialize", hello()).await;
    client.notify("initialized", json!({})).await;
    client.until("$/showMessage").await;
    client
        .request("chat/prompt", json!({ "chatId": "c-81", "message": "hang" }))
        .await;
    until(&mut client, |message| message["result"]["chatId"] == "c-81").await;
    let id = client.request("shutdown", json!(null)).await;
    let seen = until(&mut client, |message| message["id"] == id).await;
    assert_eq!(seen.last().unwrap()["result"], json!(null));
    assert!(seen.last().unwrap().get("error").is_none());
    assert_eq!(client.error("chat/list", json!({})).await["code"], -32600);
    client.notify("exit", json!(null)).await;
    assert_eq!(serving.await.unwrap(), End::Exited { after_shutdown: true });
}

#[tokio::test]
async fn one_of_several_leaves_and_the_core_stays() {
    let server = Server::start().await;
    let (mut client, serving) = server.connect();
    let mut params = hello();
    // The process id does not matter here: the process that the editor started ends the connection.
    params["processId"] = json!(0x7fff_fff0);
    client.call("initialize", params).await;
    let hang = json!({ "chatId": "c-81", "message": "hang" });
    client.request("chat/prompt", hang).await;
    until(&mut client, |message| message["result"]["chatId"] == "c-81").await;
    assert_eq!(client.call("shutdown", json!(null)).await, json!(null));
    client.notify("exit", json!(null)).await;
    assert_eq!(serving.await.unwrap(), End::Exited { after_shutdown: true });
    // The turn goes on for others.
    let (mut other, _) = server.connect();
    other.call("initialize", hello()).await;
    other.call("chat/open", json!({ "chatId": "c-81" })).await;
    other.notify("chat/promptStop", json!({ "chatId": "c-81" })).await;
    until(&mut other, is_finished).await;
}

#[tokio::test]
async fn one_of_several_is_shown_out_when_the_core_stops() {
    let server = Server::start().await;
    let (mut client, serving) = server.connect();
    client.call("initialize", hello()).await;
    client.call("shutdown", json!(null)).await;
    server.threads.stop().await;
    assert_eq!(serving.await.unwrap(), End::Closed);
}

#[tokio::test]
async fn one_of_several_that_never_says_initialize_is_closed() {
    let server = Server::start().await;
    let pass = async |seconds| {
        // Lets the connections start before the clock moves.
        tokio::task::yield_now().await;
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(seconds)).await;
        tokio::time::resume();
    };
    let (_silent, serving) = server.connect();
    let (mut other, _) = server.connect();
    other.call("initialize", hello()).await;
    pass(29).await;
    assert!(!serving.is_finished());
    pass(2).await;
    assert_eq!(serving.await.unwrap(), End::Closed);
    // Connections that are ready stay.
    other.call("shutdown", json!(null)).await;
}

#[tokio::test]
async fn exit_alone_ends_too() {
    let server = Server::start().await;
    let (client, serving) = server.connect();
    client.notify("exit", json!({})).await;
    assert_eq!(
        serving.await.unwrap(),
        End::Exited {
            after_shutdown: false
        }
    );
}

#[tokio::test]
async fn the_end_of_input_ends_it_and_what_was_read_is_answered() {
    let server = Server::start().await;
    let (mut client, serving) = server.connect();
    client.call("initialize", hello()).await;
    let id = client.request("jobs/list", json!({})).await;
    let rest = client.finish().await;
    assert!(rest.iter().any(|message| message["id"] == id), "{rest:?}");
    assert_eq!(serving.await.unwrap(), End::Closed);
}

#[tokio::test]
async fn a_parent_that_lives_changes_nothing() {
    let server = Server::start().await;
    let (mut client, _) = server.connect();
    let mut params = hello();
    params["processId"] = json!(std::process::id());
    client.call("initialize", params).await;
    assert_eq!(client.call("jobs/list", json!({})).await["jobs"], json!([]));
}

#[tokio::test]
async fn a_workspace_that_cannot_be_served_is_said_and_ends_it() {
    let server = Server::start().await;
    let (mut client, serving) = server.connect();
    let mut params = hello();
    params["workspaceFolders"] = json!([{ "uri": "file:///busy", "name": "busy" }]);
    let error = client.error("initialize", params).await;
    assert_eq!(error["message"], "the workspace /busy is served by process 7");
    assert_eq!(serving.await.unwrap(), End::Refused);
}

#[tokio::test]
async fn a_core_that_stops_ends_no_prompt_and_closes() {
    let server = Server::start().await;
    let (mut client, serving) = server.connect();
    client.call("initialize", hello()).await;
    client
        .request("chat/prompt", json!({ "chatId": "c-81", "message": "hang" }))
        .await;
    until(&mut client, |message| message["result"]["chatId"] == "c-81").await;
    server.threads.stop().await;
    let rest = client.finish().await;
    assert!(
        !rest.iter().any(|message| is_content(message, "text")),
        "{rest:?}"
    );
    assert_eq!(serving.await.unwrap(), End::Closed);
}

#[tokio::test]
async fn options_choose_the_model_and_whether_to_ask() {
    let server = Server::start().await;
    let (mut client, _) = server.connect();
    let mut params = hello();
    params["initializationOptions"] = json!({
        "defaultModel": "kiln/small", "toolCall": { "approval": { "byDefault": "allow" } }, "rules": [1],
    });
    client.call("initialize", params).await;
    let seen = prompt(&mut client, json!({ "chatId": "c", "message": "ask touch tea" })).await;
    assert!(kinds(&seen).contains(&"toolCalled"), "{seen:#?}");
    let result = seen
        .iter()
        .find(|message| message["result"]["model"] == "kiln/small");
    assert!(result.is_some(), "{seen:#?}");
}
