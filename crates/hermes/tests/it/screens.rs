//! Windows and dialogs with scripted clients.

use std::sync::Arc;

use bobbin_hermes::{ClientId, ExtensionState, Host, Screen, ScreenError, Shows};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::support::{ADT, PATIENCE, World, plain, with_commands};

type Answer = Result<Value, ScreenError>;

/// A client controlled by a test. Dropping the answer of a request means that it leaves.
pub(crate) struct Scripted {
    requests: Sender<(&'static str, Value)>,
    seen: tokio::sync::Mutex<Receiver<(&'static str, Value)>>,
    waiting: Arc<Mutex<Vec<oneshot::Sender<Answer>>>>,
}

impl Screen for Scripted {
    fn request(&self, method: &'static str, params: Value) -> BoxFuture<'static, Answer> {
        let (sender, answer) = oneshot::channel();
        self.waiting.lock().push(sender);
        self.requests.try_send((method, params)).unwrap();
        async { answer.await.unwrap_or(Err(ScreenError::Gone)) }.boxed()
    }

    fn notify(&self, method: &'static str, params: Value) {
        self.requests.try_send((method, params)).unwrap();
    }
}

impl Scripted {
    pub(crate) fn new() -> Arc<Self> {
        let (requests, seen) = channel(100);
        Arc::new(Self {
            requests,
            seen: seen.into(),
            waiting: Arc::default(),
        })
    }

    pub(crate) fn attach(self: &Arc<Self>, host: &Host) -> ClientId {
        let all = Shows {
            windows: true,
            dialogs: true,
            files: true,
        };
        host.attach(self.clone(), all)
    }

    /// Returns its next request or notification.
    pub(crate) async fn asked(&self) -> (&'static str, Value) {
        let next = async { self.seen.lock().await.recv().await.unwrap() };
        timeout(PATIENCE, next).await.expect("no client was asked")
    }

    pub(crate) fn answer(&self, answer: Value) {
        drop(self.waiting.lock().remove(0).send(Ok(answer)));
    }

    fn refuse(&self) {
        let refused = ScreenError::Refused("not now".to_owned());
        drop(self.waiting.lock().remove(0).send(Err(refused)));
    }

    fn leave(&self) {
        self.waiting.lock().clear();
    }

    fn withdrawn(&self) -> bool {
        self.waiting.lock().iter().all(oneshot::Sender::is_closed)
    }
}

fn window(url: &str) -> Value {
    json!({ "url": url, "title": "Tea" })
}

#[tokio::test]
async fn behaviour_44_each_dialog_goes_to_a_client_and_back() {
    let mut world = World::new();
    let thread = world.open("thread_1", ADT).await;
    let (id, mut fake) = world.run(plain()).await;
    let screen = Scripted::new();
    screen.attach(&world.host);
    let filter = json!([{ "name": "HL7", "extensions": ["hl7", "*"] }]);
    for (method, params, shown, answer) in [
        (
            "showMessage",
            json!({ "message": "Hot" }),
            json!({ "message": "Hot", "kind": "info" }),
            json!({ "acknowledged": true }),
        ),
        (
            "showConfirm",
            json!({ "message": "Pour?", "title": "Tea", "buttons": "okCancel", "more": 1 }),
            json!({ "message": "Pour?", "title": "Tea", "buttons": "okCancel" }),
            json!({ "confirmed": true }),
        ),
        (
            "openFile",
            json!({ "title": "Open", "filters": filter }),
            json!({ "title": "Open", "filters": filter }),
            json!({ "path": "/a" }),
        ),
        (
            "openFiles",
            json!({}),
            json!({}),
            json!({ "paths": ["/a", "/b"] }),
        ),
        (
            "saveFile",
            json!({ "defaultName": "a.hl7", "defaultPath": "/t" }),
            json!({ "defaultName": "a.hl7", "defaultPath": "/t" }),
            json!({ "path": "/t/a.hl7" }),
        ),
        ("selectDirectory", json!({}), json!({}), json!({ "path": "/t" })),
    ] {
        fake.request("q", &format!("ui/{method}"), params).await;
        let (asked, mut seen) = screen.asked().await;
        assert_eq!(asked, format!("hermes/ui/{method}"));
        assert_eq!(seen["extensionId"].take(), json!(id));
        assert_eq!(seen["threadId"].take(), json!(thread));
        seen.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        assert_eq!(seen, shown, "{method}");
        screen.answer(answer.clone());
        assert_eq!(fake.receive().await["result"], answer, "{method}");
    }
    assert_eq!(
        fake.refused("ui/showConfirm", json!({ "message": "a", "buttons": "maybe" }))
            .await,
        -32602
    );
}

#[tokio::test]
async fn behaviour_45_a_cancelled_dialog_is_a_result() {
    let mut world = World::new();
    let (_, mut fake) = world.run(plain()).await;
    let screen = Scripted::new();
    screen.attach(&world.host);
    for (method, answer) in [
        ("showConfirm", json!({ "confirmed": false })),
        ("openFile", json!({ "path": null })),
        ("openFiles", json!({ "paths": null })),
        ("saveFile", json!({ "path": null })),
        ("selectDirectory", json!({ "path": null })),
    ] {
        fake.request("q", &format!("ui/{method}"), json!({ "message": "a" }))
            .await;
        screen.asked().await;
        screen.answer(answer.clone());
        assert_eq!(fake.receive().await["result"], answer);
    }
    // An answer of another form is an error.
    fake.request("q", "ui/openFile", json!({})).await;
    screen.asked().await;
    screen.answer(json!({ "path": 7 }));
    assert_eq!(fake.receive().await["error"]["code"], -32012);
    fake.request("q", "ui/openFile", json!({})).await;
    screen.asked().await;
    screen.refuse();
    assert_eq!(fake.receive().await["error"]["code"], -32012);
}

#[tokio::test]
async fn behaviour_46_without_a_client_that_can_show_it_a_dialog_is_refused() {
    let mut world = World::new();
    let (_, mut fake) = world.run(plain()).await;
    for _ in 0..2 {
        for method in [
            "showMessage",
            "showConfirm",
            "openFile",
            "openFiles",
            "saveFile",
            "selectDirectory",
        ] {
            let refused = fake
                .refused(&format!("ui/{method}"), json!({ "message": "a" }))
                .await;
            assert_eq!(refused, -32012, "{method}");
        }
        assert_eq!(
            fake.refused("ui/openWindow", window("http://127.0.0.1:1/")).await,
            -32008
        );
        world.host.attach(Scripted::new(), Shows::default());
    }
}

#[tokio::test]
async fn behaviour_47_when_a_client_leaves_the_next_one_is_asked() {
    let mut world = World::new();
    let thread = world.open("thread_1", ADT).await;
    let (_, mut fake) = world.run(with_commands(&["tea/boil"])).await;
    let [first, second, third] = [Scripted::new(), Scripted::new(), Scripted::new()];
    let clients = [&first, &second, &third].map(|screen| screen.attach(&world.host));
    // The first client looks at the Thread, the third at another; the second sent the command.
    world
        .host
        .focus(&bobbin_model::ThreadId::new("thread_2"), Some(clients[2]));
    world.host.focus(&thread, Some(clients[0]));
    world
        .host
        .execute("tea/boil", Some(&thread), Some(clients[1]))
        .await
        .unwrap();
    fake.receive_method("command/execute").await;
    fake.request(1, "ui/showConfirm", json!({ "message": "Pour?" }))
        .await;
    for (screen, client) in [(&second, clients[1]), (&first, clients[0])] {
        screen.asked().await;
        world.host.detach(client);
        screen.leave();
    }
    third.asked().await;
    third.answer(json!({ "confirmed": true }));
    assert_eq!(fake.receive().await["result"]["confirmed"], true);
    fake.request(2, "ui/showConfirm", json!({ "message": "Pour?" }))
        .await;
    third.asked().await;
    world.host.detach(clients[2]);
    third.leave();
    assert_eq!(fake.receive().await["error"]["code"], -32012);
}

#[tokio::test]
async fn behaviour_47_a_dialog_ends_with_its_extension() {
    let mut world = World::new();
    let (id, mut fake) = world.run(plain()).await;
    let screen = Scripted::new();
    screen.attach(&world.host);
    fake.request(1, "ui/showMessage", json!({ "message": "Hot" }))
        .await;
    screen.asked().await;
    fake.exit(0).await;
    world.reaches(&id, ExtensionState::Failed).await;
    let withdrawn = async {
        while !screen.withdrawn() {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, withdrawn).await.unwrap();
}

#[tokio::test]
async fn behaviour_48_a_window_is_a_page_of_the_web() {
    let mut world = World::new();
    let (_, mut fake) = world.run(plain()).await;
    Scripted::new().attach(&world.host);
    for url in [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "127.0.0.1:8080",
        "",
        "http://",
    ] {
        assert_eq!(fake.refused("ui/openWindow", window(url)).await, -32007, "{url}");
    }
}

#[tokio::test]
async fn behaviour_49_a_closed_window_is_reported_once_and_after_the_answer() {
    let mut world = World::new();
    let ((one, first), (two, second)) = (world.fake("one"), world.fake("two"));
    let ids = world.load(&[one, two]);
    let (mut first, mut second) = (first.started().await, second.started().await);
    first.greet(plain()).await;
    world.reaches(&ids[0], ExtensionState::Running).await;
    second.greet(plain()).await;
    world.reaches(&ids[1], ExtensionState::Running).await;
    let screen = Scripted::new();
    let client = screen.attach(&world.host);

    let mut opened = Vec::new();
    for _ in 0..3 {
        first
            .request(1, "ui/openWindow", window("http://127.0.0.1:8080/tea"))
            .await;
        let (_, shown) = screen.asked().await;
        assert_eq!(
            (&shown["width"], &shown["resizable"]),
            (&json!(800), &json!(true))
        );
        screen.answer(json!({}));
        let id = first.receive().await["result"]["windowId"].clone();
        assert_eq!(id, shown["windowId"]);
        opened.push(id);
    }
    let of = |id: &Value| json!({ "windowId": id });
    assert_eq!(second.refused("ui/closeWindow", of(&opened[0])).await, -32008);
    assert_eq!(
        first
            .refused("ui/closeWindow", json!({ "windowId": "ext-window-1" }))
            .await,
        -32008
    );

    // `result` fails if the notification comes first.
    first.result("ui/closeWindow", of(&opened[0])).await;
    let closed = first.receive_method("window/closed").await;
    assert_eq!(
        closed["params"],
        json!({ "windowId": opened[0], "reason": "extension" })
    );
    assert_eq!(screen.asked().await.0, "hermes/ui/closeWindow");
    assert_eq!(
        first.result("ui/closeWindow", of(&opened[0])).await,
        json!({ "success": true })
    );

    for _ in 0..2 {
        world.host.window_closed(client, opened[1].as_str().unwrap());
        world.host.window_closed(client, "ext-window-1");
    }
    let closed = first.receive_method("window/closed").await;
    assert_eq!(
        closed["params"],
        json!({ "windowId": opened[1], "reason": "user" })
    );
    world.host.detach(client);
    let closed = first.receive_method("window/closed").await;
    assert_eq!(
        closed["params"],
        json!({ "windowId": opened[2], "reason": "shutdown" })
    );
    // Nothing more comes.
    first
        .result("editor/getMessage", json!({ "format": "hl7" }))
        .await;
}

#[tokio::test]
async fn behaviour_49_windows_are_closed_before_their_extension_ends() {
    let mut world = World::new();
    let (id, mut fake) = world.run(plain()).await;
    let screen = Scripted::new();
    screen.attach(&world.host);
    fake.request(1, "ui/openWindow", window("https://example.org/"))
        .await;
    screen.asked().await;
    screen.answer(json!({}));
    let window = fake.receive().await["result"]["windowId"].clone();
    world.host.set_enabled(id.as_str(), false).unwrap();
    let closed = fake.receive_method("window/closed").await;
    assert_eq!(
        closed["params"],
        json!({ "windowId": window, "reason": "shutdown" })
    );
    fake.receive_method("shutdown").await;
    let (method, params) = screen.asked().await;
    assert_eq!((method, &params["windowId"]), ("hermes/ui/closeWindow", &window));
}

#[tokio::test]
async fn behaviour_50_a_dialog_that_waits_delays_no_request_for_the_document() {
    let mut world = World::new();
    world.open("thread_1", ADT).await;
    let (_, mut fake) = world.run(plain()).await;
    let screen = Scripted::new();
    screen.attach(&world.host);
    for id in 0..10 {
        fake.request(id, "ui/showMessage", json!({ "message": "Hot" }))
            .await;
        screen.asked().await;
    }
    fake.result("editor/getMessage", json!({ "format": "json" }))
        .await;
    screen.answer(json!({}));
    assert_eq!(fake.receive().await["id"], 0);
}
