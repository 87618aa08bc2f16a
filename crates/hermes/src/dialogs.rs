//! Windows and dialogs of extensions (`ui/*`): checks requests, lets a client show them, and answers in the extensions' protocol.

use bobbin_model::ThreadId;
use bobbin_peer::{ErrorObject, HandlerError, Handlers, Mode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;
use uuid::Uuid;

use crate::error::ScreenError;
use crate::logs::Level;
use crate::requests::Asker;
use crate::screens::Kind;
use crate::shared::window_closed;
use crate::ui;

/// Error codes of the extensions' protocol.
mod codes {
    pub(super) const INVALID_URL: i64 = -32007;
    pub(super) const WINDOW: i64 = -32008;
    pub(super) const DIALOG: i64 = -32012;
}

/// Adds the handlers of windows and dialogs.
pub(crate) fn add(handlers: Handlers, asker: &Asker) -> Handlers {
    let (open, close) = (asker.clone(), asker.clone());
    let handlers = handlers
        .on_call("ui/openWindow", move |_, params| {
            open_window(open.clone(), params)
        })
        .on_call_deferred("ui/closeWindow", Mode::Concurrent, move |cx, responder| {
            // The answer is queued before the notification.
            match cx
                .decode()
                .map_err(HandlerError::from)
                .and_then(|params| closable(&close, params))
            {
                Ok(window) => {
                    responder.ok(json!({ "success": true }));
                    if let Some(closed) = close.shared.screens.close_window(&window, None) {
                        close.shared.close_on_screen(&closed);
                        window_closed(&cx.peer, &closed.id, "extension");
                    }
                }
                Err(error) => responder.fail(error),
            }
            async {}
        });
    let handlers = dialog::<ShowMessage>(
        handlers,
        asker,
        "ui/showMessage",
        ui::SHOW_MESSAGE,
        Kind::Dialog,
        |_| Some(json!({ "acknowledged": true })),
    );
    let handlers = dialog::<ShowConfirm>(
        handlers,
        asker,
        "ui/showConfirm",
        ui::SHOW_CONFIRM,
        Kind::Dialog,
        |answer| {
            let confirmed = answer.get("confirmed")?.as_bool()?;
            Some(json!({ "confirmed": confirmed }))
        },
    );
    let handlers = dialog::<Choose>(handlers, asker, "ui/openFile", ui::OPEN_FILE, Kind::Files, one);
    let handlers = dialog::<Choose>(handlers, asker, "ui/openFiles", ui::OPEN_FILES, Kind::Files, many);
    let handlers = dialog::<Choose>(handlers, asker, "ui/saveFile", ui::SAVE_FILE, Kind::Files, one);
    dialog::<Choose>(
        handlers,
        asker,
        "ui/selectDirectory",
        ui::SELECT_DIRECTORY,
        Kind::Files,
        one,
    )
}

#[derive(Debug, Deserialize, Serialize)]
struct ShowMessage {
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default)]
    kind: Severity,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    #[default]
    Info,
    Warning,
    Error,
}

#[derive(Debug, Deserialize, Serialize)]
struct ShowConfirm {
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default)]
    buttons: Buttons,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum Buttons {
    #[default]
    YesNo,
    OkCancel,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Choose {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_name: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    filters: Vec<Filter>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Filter {
    name: String,
    extensions: Vec<String>,
}

/// Converts the answer to a choice of one path. No path means that the user cancelled.
fn one(answer: &Value) -> Option<Value> {
    let path = answer.get("path").unwrap_or(&Value::Null);
    (path.is_null() || path.is_string()).then(|| json!({ "path": path }))
}

/// Converts the answer to a choice of several paths.
fn many(answer: &Value) -> Option<Value> {
    let paths = answer.get("paths").unwrap_or(&Value::Null);
    let texts = paths
        .as_array()
        .is_some_and(|paths| paths.iter().all(Value::is_string));
    (paths.is_null() || texts).then(|| json!({ "paths": paths }))
}

/// Adds the handler of a dialog. `read` converts the client's answer to the extension's result.
fn dialog<P>(
    handlers: Handlers,
    asker: &Asker,
    method: &str,
    shown_by: &'static str,
    kind: Kind,
    read: fn(&Value) -> Option<Value>,
) -> Handlers
where
    P: DeserializeOwned + Serialize + Send + 'static,
{
    let asker = asker.clone();
    handlers.on_call(method, move |_, params: P| {
        let asker = asker.clone();
        async move {
            let target = asker.shared.target(&asker.spec.id);
            let params = with_ids(json!(params), &asker, target.thread.as_ref());
            let screens = &asker.shared.screens;
            let shown = screens.ask(
                kind,
                target.client,
                target.thread.as_ref(),
                shown_by,
                &params,
                |_| {},
            );
            let answer = shown
                .await
                .map_err(|error| refused(&asker, codes::DIALOG, &error))?;
            read(&answer).ok_or_else(|| {
                let error = ScreenError::Refused("its answer cannot be read".to_owned());
                refused(&asker, codes::DIALOG, &error)
            })
        }
    })
}

#[derive(Debug, Deserialize, Serialize)]
struct OpenWindow {
    url: String,
    title: String,
    #[serde(default = "default_width")]
    width: u32,
    #[serde(default = "default_height")]
    height: u32,
    #[serde(default)]
    modal: bool,
    #[serde(default = "yes")]
    resizable: bool,
}

const fn default_width() -> u32 {
    800
}

const fn default_height() -> u32 {
    600
}

const fn yes() -> bool {
    true
}

async fn open_window(asker: Asker, params: OpenWindow) -> Result<Value, HandlerError> {
    let url = Url::parse(&params.url).ok();
    if !url.is_some_and(|url| matches!(url.scheme(), "http" | "https")) {
        let error = ErrorObject::new(codes::INVALID_URL, "the URL of a window is http or https");
        return Err(error.into());
    }
    let id = format!("ext-window-{}", Uuid::new_v4());
    let target = asker.shared.target(&asker.spec.id);
    let mut params = with_ids(json!(params), &asker, target.thread.as_ref());
    params["windowId"] = json!(id);
    let screens = &asker.shared.screens;
    let mut unopened = Unopened {
        asker: &asker,
        id: Some(&id),
    };
    let thread = target.thread.as_ref();
    let asked = |client| screens.open_window(&id, &asker.spec.id, client);
    let shown = screens.ask(
        Kind::Window,
        target.client,
        thread,
        ui::OPEN_WINDOW,
        &params,
        asked,
    );
    shown
        .await
        .map_err(|error| refused(&asker, codes::WINDOW, &error))?;
    unopened.id = None;
    Ok(json!({ "windowId": id }))
}

/// Removes a window on drop unless a client showed it, so also if the extension ends first.
struct Unopened<'a> {
    asker: &'a Asker,
    id: Option<&'a str>,
}

impl Drop for Unopened<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.asker.shared.screens.not_opened(id);
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CloseWindow {
    window_id: String,
}

/// Returns the window's id if the extension has opened it.
fn closable(asker: &Asker, params: CloseWindow) -> Result<String, HandlerError> {
    let CloseWindow { window_id } = params;
    if asker.shared.screens.is_window_of(&window_id, &asker.spec.id) {
        return Ok(window_id);
    }
    Err(ErrorObject::new(codes::WINDOW, "the extension has no such window").into())
}

fn with_ids(mut params: Value, asker: &Asker, thread: Option<&ThreadId>) -> Value {
    params["extensionId"] = json!(asker.spec.id);
    if let Some(thread) = thread {
        params["threadId"] = json!(thread);
    }
    params
}

fn refused(asker: &Asker, code: i64, error: &ScreenError) -> HandlerError {
    asker.log.write(Level::Warn, error.to_string());
    ErrorObject::new(code, error.to_string()).into()
}
