//! The method group `hermes/*` of the native dialect: extensions, their commands, documents, windows and dialogs for
//! clients.
//!
//! A client declares with the capability `hermesUi` what it can show. Without it, a client may send the requests and gets no
//! notification of the group. This module stores no text of a message.

mod convert;
mod documents;
mod extensions;
mod follow;
mod screen;
pub mod wire;

use std::sync::Arc;

use crate::ui::{
    CLOSE_WINDOW, OPEN_FILE, OPEN_FILES, OPEN_WINDOW, SAVE_FILE, SELECT_DIRECTORY, SHOW_CONFIRM, SHOW_MESSAGE,
};
use crate::{Announce, Host, News};
use bobbin_core::Broadcasts;
use bobbin_native::group::{Group, rows};
use bobbin_native::wire::{EmptyParams, EmptyResult};

pub use crate::group::follow::close_with_threads;
use crate::group::wire::{
    HermesChangeParams, HermesChoice, HermesCloseParams, HermesCommandParams, HermesConfirm, HermesConfirmed,
    HermesDocument, HermesDocumentChanged, HermesDocumentListResult, HermesExtension,
    HermesExtensionListResult, HermesFindings, HermesFocusParams, HermesGetParams, HermesLogsParams,
    HermesLogsResult, HermesMessage, HermesOpenParams, HermesPatchParams, HermesPatchResult, HermesPath,
    HermesPaths, HermesSaveParams, HermesSegment, HermesSegmentParams, HermesSetEnabledParams,
    HermesSetParams, HermesStepParams, HermesText, HermesToolbarChanged, HermesToolbarResult, HermesWindow,
    HermesWindowClosedParams,
};

const EXTENSION_CHANGED: &str = "hermes/extension/changed";
const TOOLBAR_CHANGED: &str = "hermes/toolbar/changed";
const DOCUMENT_CHANGED: &str = "hermes/document/changed";
const DOCUMENT_CLOSED: &str = "hermes/document/closed";
/// Method of the notification that the user has closed a window.
const WINDOW_CLOSED: &str = "hermes/ui/windowClosed";

/// The feature that the group serves.
pub type Hermes = Arc<Host>;

/// Name of the capability, for server and client.
const CAPABILITY: &str = "hermesUi";

/// The groups of this crate.
pub static GROUPS: &[&Group] = &[&GROUP];

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        request "hermes/extension/list" (EmptyParams => HermesExtensionListResult)
            [] now_with(of Hermes) extensions::list: "Lists the extensions in the order of the configuration.";
        request "hermes/extension/reload" (EmptyParams => EmptyResult)
            [] now_with(of Hermes) extensions::reload: "Ends all extensions and starts them again.";
        request "hermes/extension/setEnabled" (HermesSetEnabledParams => EmptyResult)
            [] now_with(of Hermes) extensions::set_enabled: "Starts or ends an extension until the server ends.";
        request "hermes/extension/logs" (HermesLogsParams => HermesLogsResult)
            [] now_with(of Hermes) extensions::logs: "Reads the log of an extension.";
        request "hermes/toolbar/list" (EmptyParams => HermesToolbarResult)
            [] now_with(of Hermes) extensions::toolbar: "Lists the buttons of running extensions.";
        request "hermes/command/execute" (HermesCommandParams => EmptyResult)
            [] wait_with(of Hermes) extensions::execute:
            "Sends a command to the first extension that has it. No extension has it: -32009.";
        request "hermes/document/open" (HermesOpenParams => HermesDocument)
            [ThreadNotFound] wait_with(of Hermes) documents::open:
            "Opens a file or a new text as the document of a Thread.";
        request "hermes/document/list" (EmptyParams => HermesDocumentListResult)
            [] wait_with(of Hermes) documents::list: "Lists the open documents of all Threads.";
        request "hermes/document/get" (HermesGetParams => HermesText)
            [] wait_with(of Hermes) documents::get: "Reads a document in a format.";
        request "hermes/document/change" (HermesChangeParams => HermesDocument)
            [] wait_with(of Hermes) documents::change: "Replaces parts of the text of a version.";
        request "hermes/document/set" (HermesSetParams => HermesDocument)
            [] wait_with(of Hermes) documents::set: "Replaces the message.";
        request "hermes/document/patch" (HermesPatchParams => HermesPatchResult)
            [] wait_with(of Hermes) documents::patch: "Sets places by path.";
        request "hermes/document/undo" (HermesStepParams => HermesDocument)
            [] wait_with(of Hermes) documents::undo: "Takes the last change back.";
        request "hermes/document/redo" (HermesStepParams => HermesDocument)
            [] wait_with(of Hermes) documents::redo: "Makes the change again that was taken back last.";
        request "hermes/document/save" (HermesSaveParams => HermesDocument)
            [] wait_with(of Hermes) documents::save: "Writes a document to its file or to another one.";
        request "hermes/document/close" (HermesCloseParams => EmptyResult)
            [] wait_with(of Hermes) documents::close: "Closes a document.";
        request "hermes/document/focus" (HermesFocusParams => EmptyResult)
            [] now_with(of Hermes) documents::focus: "Says which Thread the user looks at.";
        request "hermes/document/validate" (HermesFocusParams => HermesFindings)
            [] wait_with(of Hermes) documents::validate: "Compares a document with the schema.";
        request "hermes/schema/segment" (HermesSegmentParams => HermesSegment)
            [] now_with(of Hermes) documents::segment: "Returns what is known of the fields of a segment.";
        client_notification WINDOW_CLOSED (HermesWindowClosedParams) wait screen::window_closed:
            "The user has closed a window.";
        notification EXTENSION_CHANGED (HermesExtension): "An extension is in another state.";
        notification TOOLBAR_CHANGED (HermesToolbarChanged): "There are other extensions or buttons.";
        notification DOCUMENT_CHANGED (HermesDocumentChanged): "A document was opened, changed or saved.";
        notification DOCUMENT_CLOSED (HermesFocusParams): "The document of a Thread was closed.";
        notification CLOSE_WINDOW (HermesWindowClosedParams): "An extension has closed its window, or has ended.";
        server_request OPEN_WINDOW (HermesWindow => EmptyResult): "Shows a page in a window.";
        server_request SHOW_MESSAGE (HermesMessage => EmptyResult):
            "Shows a message and waits until the user has read it.";
        server_request SHOW_CONFIRM (HermesConfirm => HermesConfirmed): "Asks the user a question.";
        server_request OPEN_FILE (HermesChoice => HermesPath): "Asks for a file to open.";
        server_request OPEN_FILES (HermesChoice => HermesPaths): "Asks for files to open.";
        server_request SAVE_FILE (HermesChoice => HermesPath): "Asks where to save.";
        server_request SELECT_DIRECTORY (HermesChoice => HermesPath): "Asks for a directory.";
    },
    capabilities: |server, capabilities| {
        if server.services().others.get::<Hermes>().is_some() {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.others.insert(CAPABILITY.to_owned(), true.into());
        }
    },
    unwanted: |capabilities| match capabilities.extensions.get(CAPABILITY) {
        Some(_) => Vec::new(),
        None => vec![
            EXTENSION_CHANGED,
            TOOLBAR_CHANGED,
            DOCUMENT_CHANGED,
            DOCUMENT_CLOSED,
        ],
    },
    greeted: |_, _, _, _| {},
    ready: screen::ready,
    broadcast: |news, _| news.get::<News>().and_then(convert::notification),
};

/// Returns the function that sends the host's news to the clients of a server.
pub fn announce(broadcasts: Broadcasts) -> Announce {
    Arc::new(move |news| {
        // Clients read a log when they show it.
        if !matches!(news, News::Log(..)) {
            broadcasts.send(news, 0);
        }
    })
}
