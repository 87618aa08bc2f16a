//! Messages to chats (AppServer protocol 06 §B4).

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Server, by_itself, chat, pass, say, send};

fn takes_text() -> Value {
    json!({ "deliveryCapabilities": { "structuredDelivery": true } })
}

fn text() -> Value {
    json!({ "kind": "text", "text": "The kettle is on." })
}

#[tokio::test]
async fn a_text_reaches_the_adapter_of_its_channel_and_its_answer_comes_back() {
    let server = Server::start(vec![by_itself("pigeon"), by_itself("owl")]).await;
    let mut client = server.client().await;
    let mut pigeon = server.adapter("pigeon", takes_text()).await;
    let mut owl = server.adapter("owl", takes_text()).await;
    let mut params = json!({ "channel": "Pigeon", "target": "roof:7", "message": text() });
    params["metadata"] = json!({ "origin": "cron" });
    let id = client.request("channel/send", params).await;
    let asked = pigeon.wait_for("ext/channel/send").await;
    assert_eq!(
        asked["params"],
        json!({ "target": "roof:7", "message": text(), "metadata": { "origin": "cron" } })
    );
    pigeon
        .reply(&asked, json!({ "delivered": true, "remoteMessageId": "p-31" }))
        .await;
    let answer = client.answer(id).await;
    assert_eq!(
        answer["result"],
        json!({ "delivered": true, "remoteMessageId": "p-31" })
    );
    assert_eq!(owl.unread(), 0, "the other channel has seen nothing");
}

#[tokio::test]
async fn what_is_not_delivered_says_why() {
    let server = Server::start(vec![by_itself("pigeon"), by_itself("mute"), by_itself("away")]).await;
    let mut client = server.client().await;
    let mut pigeon = server.adapter("pigeon", takes_text()).await;
    let _mute = server.adapter("mute", json!({})).await;
    for (channel, code) in [
        ("away", "AdapterDisconnected"),
        ("nobody", "ChannelNotFound"),
        ("mute", "UnsupportedDeliveryKind"),
    ] {
        let id = send(&mut client, channel, text()).await;
        let answer = client.answer(id).await;
        assert_eq!(answer["result"]["delivered"], false);
        assert_eq!(answer["result"]["errorCode"], code, "{answer}");
    }
    for (said, code) in [
        (
            json!({ "delivered": false, "errorCode": "Muted", "errorMessage": "m" }),
            "Muted",
        ),
        (
            json!({ "delivered": false, "error": "old" }),
            "AdapterDeliveryFailed",
        ),
        (json!({ "delivered": "maybe" }), "AdapterProtocolViolation"),
    ] {
        let id = send(&mut client, "pigeon", text()).await;
        let asked = pigeon.wait_for("ext/channel/send").await;
        pigeon.reply(&asked, said).await;
        let answer = client.answer(id).await;
        assert_eq!(answer["result"]["errorCode"], code, "{answer}");
    }
    let id = send(&mut client, "pigeon", text()).await;
    pigeon.wait_for("ext/channel/send").await;
    drop(pigeon);
    let answer = client.answer(id).await;
    assert_eq!(answer["result"]["errorCode"], "AdapterDisconnected", "{answer}");
}

#[tokio::test]
async fn an_adapter_has_ten_seconds() {
    let server = Server::start(vec![by_itself("pigeon")]).await;
    let mut client = server.client().await;
    let mut pigeon = server.adapter("pigeon", takes_text()).await;
    let id = send(&mut client, "pigeon", text()).await;
    pigeon.wait_for("ext/channel/send").await;
    pass(Duration::from_secs(10)).await;
    let answer = client.answer(id).await;
    assert_eq!(answer["result"]["errorCode"], "AdapterDeliveryFailed");
}

#[tokio::test]
async fn a_picture_of_the_workspace_goes_in_the_form_that_the_adapter_takes() {
    let server = Server::start(vec![by_itself("pigeon")]).await;
    std::fs::write(server.root.join("roof.png"), "four").unwrap();
    let mut client = server.client().await;
    let image = json!({ "supportsBase64": true, "supportsCaption": true, "maxBytes": 100 });
    let capability =
        json!({ "deliveryCapabilities": { "structuredDelivery": true, "media": { "image": image } } });
    let mut pigeon = server.adapter("pigeon", capability).await;
    let source = json!({ "kind": "hostPath", "hostPath": "roof.png" });
    let picture = json!({ "kind": "image", "caption": "look", "source": source });
    let id = send(&mut client, "pigeon", picture).await;
    let asked = pigeon.wait_for("ext/channel/send").await;
    assert_eq!(
        asked["params"]["message"],
        json!({
            "kind": "image", "caption": "look", "fileName": "roof.png", "mediaType": "image/png",
            "source": { "kind": "dataBase64", "dataBase64": "Zm91cg==" },
        })
    );
    pigeon.reply(&asked, json!({ "delivered": true })).await;
    assert_eq!(client.answer(id).await["result"], json!({ "delivered": true }));
    let two = json!({ "kind": "hostPath", "hostPath": "roof.png", "url": "https://example.org" });
    for bad in [
        json!({ "kind": "image", "source": two }),
        json!({ "kind": "image" }),
        json!({ "kind": "text" }),
        json!({ "kind": "text", "text": "x", "caption": "y" }),
    ] {
        let params = json!({ "channel": "pigeon", "target": "t", "message": bad });
        assert_eq!(
            client.error("channel/send", params).await["code"],
            -32602,
            "{bad}"
        );
    }
}

#[tokio::test]
async fn an_adapter_does_not_send_to_chats_of_another_channel() {
    let server = Server::start(vec![by_itself("pigeon"), by_itself("owl")]).await;
    let mut pigeon = server.adapter("pigeon", takes_text()).await;
    let mut owl = server.adapter("owl", takes_text()).await;
    let id = send(&mut owl, "pigeon", text()).await;
    let answer = owl.answer(id).await;
    assert_eq!(answer["result"]["errorCode"], "ChannelNotFound");
    assert_eq!(pigeon.unread(), 0);
}

#[tokio::test]
async fn a_chat_whose_turn_fails_gets_a_sentence() {
    let server = Server::start(vec![by_itself("pigeon"), by_itself("mute")]).await;
    let mut pigeon = server.adapter("pigeon", takes_text()).await;
    for (context, target) in [("roof:7", "roof:7"), ("", "roof:7")] {
        let thread = chat(&mut pigeon, "pigeon", context).await;
        say(&mut pigeon, &thread, "fail: the kettle is cold").await;
        let asked = pigeon.wait_for("ext/channel/send").await;
        assert_eq!(asked["params"]["target"], target);
        let said = asked["params"]["message"]["text"].as_str().unwrap();
        assert!(
            said.starts_with("I could not answer: the kettle is cold. Send your message again"),
            "{said}"
        );
        pigeon.reply(&asked, json!({ "delivered": true })).await;
        // A Turn that succeeds sends no such sentence.
        say(&mut pigeon, &thread, "hello").await;
        let seen = pigeon.until("turn/completed").await;
        let sent = seen
            .iter()
            .filter(|message| message["method"] == "ext/channel/send");
        assert_eq!(sent.count(), 0);
    }
    // An adapter that accepts no messages gets none.
    let mut mute = server.adapter("mute", json!({})).await;
    let thread = chat(&mut mute, "mute", "roof:7").await;
    say(&mut mute, &thread, "fail: x").await;
    mute.wait_for("turn/failed").await;
    mute.call("channel/status", json!({})).await;
    let rest = mute.finish().await;
    assert!(rest.iter().all(|message| message["method"] != "ext/channel/send"));
}
