//! `doctor/run`: one client at a time, and a client that waits can give up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bobbin_agent_api::checks::{DoctorFinding, DoctorLevel};
use bobbin_agent_api::{Features, Services};
use bobbin_native::groups::doctor::Doctor;
use bobbin_testkit::Client;
use futures_util::FutureExt as _;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::support::Server;

#[tokio::test]
async fn checks_run_for_one_client_at_a_time_and_not_for_one_that_gave_up() {
    let (gate, runs) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (opened, counted) = (gate.clone(), runs.clone());
    let doctor = Doctor::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let opened = opened.clone();
        async move {
            opened.acquire().await.unwrap().forget();
            vec![DoctorFinding {
                level: DoctorLevel::Warning,
                subject: "kiln".to_owned(),
                message: "it is cold".to_owned(),
                mend: Some("`light kiln`".to_owned()),
            }]
        }
        .boxed()
    });
    let server = Server::start().await;
    let services = Services {
        others: Features::default().with(doctor),
        ..server.services()
    };
    let native = server.native(services);
    let connect = || Client::ready(Server::link_to(&native), "test", json!({}));
    let (mut first, mut second) = (connect().await, connect().await);
    let running = first.request("doctor/run", json!({})).await;
    // Answered after the other request has started, so that one has the permit.
    first.call("server/stats", json!({})).await;
    let waiting = second.request("doctor/run", json!({})).await;
    second.notify("$/cancelRequest", json!({ "id": waiting })).await;
    assert_eq!(second.answer(waiting).await["error"]["code"], -32800);

    gate.add_permits(2);
    let answer = first.answer(running).await;
    let cold =
        json!({ "level": "warning", "subject": "kiln", "message": "it is cold", "mend": "`light kiln`" });
    assert_eq!(answer["result"], json!({ "findings": [cold] }));
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    second.call("doctor/run", json!({})).await;
    assert_eq!(runs.load(Ordering::Relaxed), 2);
}
