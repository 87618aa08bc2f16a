//! Items of every type, encoded and decoded.

use rstest::rstest;
use serde_json::value::RawValue;

use super::*;
use crate::item::payload::TextPayload;
use crate::lenient;

fn on_the_wire(kind: &str, payload: &str) -> String {
    // A desktop reads it beside the payload.
    let message = match kind {
        "error" => r#""message":"nobody answered","#,
        _ => "",
    };
    format!(
        r#"{{"id":"item_007","turnId":"turn_002","type":"{kind}","payloadKind":"{kind}","status":"completed","createdAt":"2027-03-01T08:00:00.000Z","completedAt":"2027-03-01T08:00:01.250Z",{message}"payload":{payload}}}"#
    )
}

#[rstest]
#[case("userMessage", r#"{"text":"boil it","nativeInputParts":[{"type":"text","text":"boil it"},{"type":"smell","ppm":1.0}],"deliveryMode":"guidance","senderId":"u-9","images":[{"path":"/tmp/pot.png","mimeType":"image/png"}],"triggerKind":"cron","triggerRefId":"job-1"}"#)]
#[case("agentMessage", r#"{"text":"Boiling."}"#)]
#[case("reasoningContent", r#"{"text":"Water first."}"#)]
#[case(
    "toolCall",
    r#"{"toolName":"ReadFile","providerFlatName":"ReadFile","callId":"call_1","arguments":{"Path":"a","limit":1e2,"ratio":1.50}}"#
)]
#[case(
    "toolCall",
    r#"{"toolName":"ReadFile","providerFlatName":"ReadFile","callId":"call_1"}"#
)]
#[case("toolResult", r#"{"callId":"call_1","toolName":"ReadFile","providerFlatName":"ReadFile","result":"42 lines","success":true}"#)]
#[case("commandExecution", r#"{"command":"make tea","workingDirectory":"/srv","source":"host","status":"backgrounded","aggregatedOutput":"ok\n","exitCode":-1,"durationMs":12,"callId":"call_2","sessionId":"term_1","truncated":false,"backgroundReason":"slow"}"#)]
#[case("toolExecution", r#"{"callId":"call_1","toolName":"ReadFile","status":"failed","success":false,"durationMs":3,"errorMessage":"no such file"}"#)]
#[case("pluginFunctionCall", r#"{"pluginId":"pots","namespace":"clay","functionName":"glaze","callId":"call_3","arguments":{"B":1,"a":2},"contentItems":[{"type":"text","text":"done"},{"type":"image","mediaType":"image/png","dataBase64":"AA=="}],"structuredResult":[1.0,2e3],"success":true}"#)]
#[case("dynamicToolCall", r#"{"toolName":"set_timer","providerFlatName":"set_timer","status":"failed","callId":"dyntool_9","success":false,"errorCode":"DynamicToolTimeout","errorMessage":"no answer"}"#)]
#[case("approvalRequest", r#"{"approvalType":"remoteResource","operation":"post","target":"board/7","requestId":"00aa11bb22cc","scopeKey":"remoteResource:post:board/7","reason":"It wants to post."}"#)]
#[case(
    "approvalResponse",
    r#"{"requestId":"00aa11bb22cc","approved":false,"decision":"cancel"}"#
)]
#[case(
    "error",
    r#"{"message":"nobody answered","code":"approval_timeout","fatal":false}"#
)]
#[case("systemNotice", r#"{"kind":"compacted","trigger":"reactive","mode":"micro","tokensBefore":900,"tokensAfter":300,"percentLeftAfter":0.75,"clearedToolResults":4}"#)]
#[case("systemNotice", r#"{"kind":"memoryConsolidated","trigger":"auto"}"#)]
#[case("fileChange", r#"{"callId":"call_4","changes":[{"path":"b","kind":"rename","oldPath":"a","diff":""}],"status":"declined"}"#)]
#[case("aromaSample", r#"{"ppm":1.50,"Z":{"a":[]},"A":1e2}"#)]
fn comes_back_as_it_came(#[case] kind: &str, #[case] payload: &str) {
    let text = on_the_wire(kind, payload);
    let strict: Item = serde_json::from_str(&text).unwrap();
    let lenient: Item = lenient::lenient(serde_json::from_str::<&RawValue>(&text).unwrap()).unwrap();
    assert_eq!(strict, lenient);
    assert_eq!(strict.payload.kind(), kind);
    assert_eq!(
        matches!(strict.payload, ItemPayload::Unknown { .. }),
        !ItemPayload::KINDS.contains(&kind)
    );
    assert_eq!(serde_json::to_string(&strict).unwrap(), text);
}

#[test]
fn a_started_item_has_no_completion_time() {
    let item = Item {
        id: "item_001".to_owned(),
        turn_id: "turn_001".to_owned(),
        status: ItemStatus::Started,
        created_at: Timestamp(0),
        completed_at: None,
        payload: ItemPayload::AgentMessage(TextPayload::default()),
    };
    let text = serde_json::to_string(&item).unwrap();
    assert!(!text.contains("completedAt"));
    assert_eq!(serde_json::from_str::<Item>(&text).unwrap(), item);
}

#[test]
fn the_type_alone_says_what_an_item_is() {
    let text = on_the_wire("agentMessage", r#"{"text":"hi"}"#);
    let without_kind = text.replace(r#","payloadKind":"agentMessage""#, "");
    assert_ne!(text, without_kind);
    assert_eq!(
        serde_json::from_str::<Item>(&without_kind).unwrap(),
        serde_json::from_str(&text).unwrap()
    );
}

#[test]
fn a_payload_that_does_not_fit_its_type_is_named() {
    let text = on_the_wire(
        "toolResult",
        r#"{"callId":"c","toolName":"t","providerFlatName":"t","result":"r"}"#,
    );
    let error = lenient::lenient::<Item>(serde_json::from_str::<&RawValue>(&text).unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "payload of type 'toolResult': 'success' is required."
    );
}
