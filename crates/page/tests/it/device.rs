//! `device/*` as a client sees it.

use std::sync::Arc;

use bobbin_agent_api::{Features, Services};
use bobbin_framing::{Limits, Transport};
use bobbin_native::Endpoint;
use bobbin_native::group::Groups;
use bobbin_page::{DeviceFeature, DeviceFile, Devices, GROUPS};
use bobbin_people::{People, PeopleFile, Scope};
use bobbin_testkit::{Client, Link, ManualClock, ScriptEngine, TestWorkspace};
use bobbin_transport::{Guests, PageOrigin};
use serde_json::json;

/// Starts a server in memory and connects a client.
async fn client(workspace: &TestWorkspace, others: Features) -> Client {
    let threads = workspace.open(Arc::new(ScriptEngine::default())).await;
    let services = Services {
        others,
        ..Services::default()
    };
    let groups = Groups::of(&[bobbin_native::GROUPS, GROUPS]);
    let native = Arc::new(bobbin_native::Server::new(threads, services, groups));
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(near);
    let transport = Transport::lines(reader, writer, Limits::default());
    tokio::spawn(bobbin_native::serve(transport, Endpoint::Stdio, native));
    let (reader, writer) = tokio::io::split(far);
    Client::ready(Link::lines(reader, writer), "test", json!({})).await
}

fn feature(devices: &Devices, wants_code: bool) -> Features {
    Features::default().with(DeviceFeature {
        devices: devices.clone(),
        wants_code,
        page: "http://127.0.0.1:9100/".to_owned(),
        elsewhere: vec!["https://tea.example/".to_owned()],
    })
}

fn people(state: &tempfile::TempDir) -> People {
    let clock = Arc::new(ManualClock::default());
    People::new(PeopleFile::of(state.path()), Scope::Node, clock)
}

#[tokio::test]
async fn browsers_are_invited_listed_and_revoked() {
    let (workspace, state) = (TestWorkspace::default(), tempfile::tempdir().unwrap());
    let devices = Devices::new(
        DeviceFile::of(state.path()),
        people(&state),
        PageOrigin::Stable,
        Arc::new(ManualClock::default()),
    );
    let mut client = client(&workspace, feature(&devices, true)).await;
    let invited = client.call("device/invite", json!({ "label": "phone" })).await;
    assert_eq!(invited["expiresAt"], "2027-01-04T10:20:00.000Z");
    assert_eq!(invited["pageUrl"], "http://127.0.0.1:9100/");
    assert_eq!(invited["remoteUrls"], json!(["https://tea.example/"]));
    let code = invited["code"].as_str().unwrap();
    let entered = devices
        .enter(code, "http://127.0.0.1:9100", "Firefox")
        .await
        .unwrap();
    let listed = client.call("device/list", json!({})).await;
    let expected = json!([{
        "id": entered.device.id, "label": "phone",
        "createdAt": "2027-01-04T10:15:00.000Z", "lastUsedAt": "2027-01-04T10:15:00.000Z",
    }]);
    assert_eq!(listed["devices"], expected);
    let ticket = devices
        .ticket(&entered.secret, "http://127.0.0.1:9100")
        .await
        .unwrap();
    let open = Guests::ticket(&devices, ticket.as_bytes(), "/ws").unwrap().until;
    let revoked = client.call("device/revoke", json!({ "ids": ["nothing"] })).await;
    assert_eq!(revoked["devices"], expected);
    assert!(!open.is_cancelled());
    let revoked = client.call("device/revoke", json!({})).await;
    assert_eq!(revoked["devices"], json!([]));
    assert!(open.is_cancelled());
}

#[tokio::test]
async fn there_is_no_code_where_none_is_needed_and_no_method_where_there_is_no_page() {
    let (workspace, state) = (TestWorkspace::default(), tempfile::tempdir().unwrap());
    let devices = Devices::new(
        DeviceFile::of(state.path()),
        people(&state),
        PageOrigin::Stable,
        Arc::new(ManualClock::default()),
    );
    let mut free = client(&workspace, feature(&devices, false)).await;
    let invited = free.call("device/invite", json!({})).await;
    assert_eq!(invited.get("code"), None);
    let workspace = TestWorkspace::default();
    let mut without = client(&workspace, Features::default()).await;
    let refused = without.answer_to("device/list", json!({})).await;
    assert_eq!(refused["error"]["code"], -32601);
}
