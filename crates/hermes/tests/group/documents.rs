//! Documents of clients.

use serde_json::json;

use crate::support::Server;

const TEXT: &str = "MSH|^~\\&|LAB\rPID|1||4711||DOE^ANN\r";

#[tokio::test]
async fn a_document_is_opened_changed_taken_back_saved_and_closed() {
    let server = Server::start().await;
    let mut client = server.client(Some(json!(true))).await;
    let thread = server.thread(&mut client).await;
    let of = json!({ "threadId": thread });
    let refused = client.error("hermes/document/get", of.clone()).await;
    assert_eq!(refused["data"]["reason"], "notOpen");
    let gone = json!({ "threadId": "thread_none", "text": TEXT });
    assert_eq!(client.error("hermes/document/open", gone).await["code"], -32010);

    let opened = client
        .call(
            "hermes/document/open",
            json!({ "threadId": thread, "text": TEXT }),
        )
        .await;
    assert_eq!((&opened["version"], &opened["dirty"]), (&json!(0), &json!(false)));
    client.wait_for("hermes/document/changed").await;
    let listed = client.call("hermes/document/list", json!({})).await;
    assert_eq!(listed, json!({ "documents": [opened] }));
    let patches = json!([{ "path": "PID.5.2", "value": "Zoë" }, { "path": "PID.0" }]);
    let patch = json!({ "threadId": thread, "patches": patches, "version": 0 });
    let report = client.call("hermes/document/patch", patch.clone()).await;
    assert_eq!(
        (&report["patchesApplied"], &report["errors"][0]["index"]),
        (&json!(1), &json!(1))
    );
    let changed = client.wait_for("hermes/document/changed").await;
    assert_eq!(changed["params"]["origin"], json!({ "kind": "client" }));
    assert_eq!(
        client.error("hermes/document/patch", patch).await["data"]["reason"],
        "conflict"
    );

    let json = json!({ "threadId": thread, "format": "json", "shape": "keyed" });
    let read = client.call("hermes/document/get", json).await;
    assert!(read["text"].as_str().unwrap().contains("Zoë"));
    let edits = json!([{ "start": 9, "end": 12, "text": "WARD" }]);
    let change = json!({ "threadId": thread, "version": 1, "edits": edits });
    client.call("hermes/document/change", change).await;
    client.call("hermes/document/undo", of.clone()).await;
    client.call("hermes/document/undo", of.clone()).await;
    let redone = client.call("hermes/document/redo", of.clone()).await;
    assert_eq!((&redone["version"], &redone["redoSteps"]), (&json!(5), &json!(1)));

    assert_eq!(
        client.error("hermes/document/save", of.clone()).await["data"]["reason"],
        "noFile"
    );
    let saved = client
        .call(
            "hermes/document/save",
            json!({ "threadId": thread, "path": "a.hl7" }),
        )
        .await;
    let file = server.threads.settings().workspace.join("a.hl7");
    assert_eq!(saved["dirty"], false);
    assert_eq!(std::fs::read_to_string(file).unwrap(), TEXT.replace("ANN", "Zoë"));
    let taken = server.threads.settings().workspace.join("b.hl7");
    std::fs::write(&taken, "other").unwrap();
    let over = json!({ "threadId": thread, "path": "b.hl7" });
    let refused = client.error("hermes/document/save", over).await;
    assert_eq!(refused["data"]["reason"], "exists");
    assert_eq!(std::fs::read_to_string(&taken).unwrap(), "other");
    let over = json!({ "threadId": thread, "path": "b.hl7", "replace": true });
    client.call("hermes/document/save", over).await;
    assert_ne!(std::fs::read_to_string(&taken).unwrap(), "other");
    let set = json!({ "threadId": thread, "text": "no message" });
    assert_eq!(
        client.error("hermes/document/set", set).await["data"]["reason"],
        "notAMessage"
    );
    client
        .call("hermes/document/set", json!({ "threadId": thread, "text": TEXT }))
        .await;
    assert_eq!(
        client.error("hermes/document/close", of).await["data"]["reason"],
        "unsaved"
    );
    client
        .call(
            "hermes/document/close",
            json!({ "threadId": thread, "discard": true }),
        )
        .await;
    client.wait_for("hermes/document/closed").await;
}

#[tokio::test]
async fn a_document_is_compared_with_the_schema() {
    let server = Server::start().await;
    // A client that shows nothing may still send the requests.
    let mut client = server.client(None).await;
    let thread = server.thread(&mut client).await;
    client
        .call(
            "hermes/document/open",
            json!({ "threadId": thread, "text": TEXT }),
        )
        .await;
    let found = client
        .call("hermes/document/validate", json!({ "threadId": thread }))
        .await;
    let paths: Vec<_> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["path"])
        .collect();
    assert!(paths.contains(&&json!("MSH.12")), "{paths:?}");
    let fields = client
        .call("hermes/schema/segment", json!({ "segment": "PID" }))
        .await;
    assert_eq!(fields["fields"][0]["field"], 1);
    client
        .call("hermes/document/focus", json!({ "threadId": thread }))
        .await;
    let all = client.call("hermes/extension/list", json!({})).await;
    assert_eq!(all, json!({ "extensions": [] }));
}
