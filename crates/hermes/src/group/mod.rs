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
use crate::{Announce, ExtensionStatus, Host, News};
use bobbin_core::Broadcasts;
use bobbin_hl7::PatchReport;
use bobbin_native::group::page::Page;
use bobbin_native::group::{Group, rows};
use bobbin_native_wire::handshake::types::{EmptyParams, EmptyResult};

pub use crate::group::follow::close_with_threads;
use crate::group::wire::dialogs::{
    HermesChoice, HermesConfirm, HermesConfirmed, HermesMessage, HermesPath, HermesPaths, HermesWindow,
    HermesWindowClosedParams,
};
use crate::group::wire::documents::{
    HermesChangeParams, HermesCloseParams, HermesDocument, HermesDocumentChanged, HermesDocumentListResult,
    HermesFindings, HermesFocusParams, HermesGetParams, HermesOpenParams, HermesPatchParams,
    HermesSaveParams, HermesSegment, HermesSegmentParams, HermesSetParams, HermesStepParams, HermesText,
};
use crate::group::wire::extensions::{
    HermesCommandParams, HermesExtensionListResult, HermesLogsParams, HermesLogsResult,
    HermesSetEnabledParams, HermesToolbarChanged, HermesToolbarResult,
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
        Page::new("hermes", "Hermes extensions"), Some("extensions.hermesUi");
        request "hermes/extension/list" (EmptyParams => HermesExtensionListResult)
            [] now_with(of Hermes) extensions::list, needs Read:
            "Lists the extensions in the order of the configuration.",
            test "hermes/extensions: an_extension_asks_the_client_that_ran_its_command_and_changes_the_document";
        request "hermes/extension/reload" (EmptyParams => EmptyResult)
            [] now_with(of Hermes) extensions::reload, needs Own:
            "Ends all extensions and starts them again.",
            test "hermes/extensions: an_extension_asks_the_client_that_ran_its_command_and_changes_the_document";
        request "hermes/extension/setEnabled" (HermesSetEnabledParams => EmptyResult)
            [] now_with(of Hermes) extensions::set_enabled, needs Own:
            "Starts or ends an extension until the server ends.",
            test "hermes/extensions: an_extension_asks_the_client_that_ran_its_command_and_changes_the_document";
        request "hermes/extension/logs" (HermesLogsParams => HermesLogsResult)
            [] now_with(of Hermes) extensions::logs, needs Read:
            "Reads the log of an extension.",
            test "hermes/extensions: an_extension_asks_the_client_that_ran_its_command_and_changes_the_document";
        request "hermes/toolbar/list" (EmptyParams => HermesToolbarResult)
            [] now_with(of Hermes) extensions::toolbar, needs Read:
            "Lists the buttons of running extensions.",
            test "hermes/extensions: an_extension_asks_the_client_that_ran_its_command_and_changes_the_document";
        request "hermes/command/execute" (HermesCommandParams => EmptyResult)
            [] wait_with(of Hermes) extensions::execute, needs Own:
            "Sends a command to the first extension that has it. No extension has it: -32009.",
            test "hermes/extensions: an_extension_asks_the_client_that_ran_its_command_and_changes_the_document";
        request "hermes/document/open" (HermesOpenParams => HermesDocument)
            [ThreadNotFound] wait_with(of Hermes) documents::open, needs Own:
            "Opens a file or a new text as the document of a Thread.",
            test "hermes/documents: a_document_is_opened_changed_taken_back_saved_and_closed";
        request "hermes/document/list" (EmptyParams => HermesDocumentListResult)
            [] wait_with(of Hermes) documents::list, needs Read:
            "Lists the open documents of all Threads.",
            test "hermes/documents: a_document_is_opened_changed_taken_back_saved_and_closed";
        request "hermes/document/get" (HermesGetParams => HermesText)
            [] wait_with(of Hermes) documents::get, needs Read:
            "Reads a document in a format.",
            test "hermes/documents: a_document_is_opened_changed_taken_back_saved_and_closed";
        request "hermes/document/change" (HermesChangeParams => HermesDocument)
            [] wait_with(of Hermes) documents::change, needs Own:
            "Replaces parts of the text of a version.",
            test "hermes/documents: a_document_is_opened_changed_taken_back_saved_and_closed";
        request "hermes/document/set" (HermesSetParams => HermesDocument)
            [] wait_with(of Hermes) documents::set, needs Own:
            "Replaces the message.",
            test "hermes/documents: a_document_is_opened_changed_taken_back_saved_and_closed";
        request "hermes/document/patch" (HermesPatchParams => PatchReport)
            [] wait_with(of Hermes) documents::patch, needs Own:
            "Sets places by path.",
            test "hermes/documents: a_document_is_opened_changed_taken_back_saved_and_closed";
        request "hermes/document/undo" (HermesStepParams => HermesDocument)
            [] wait_with(of Hermes) documents::undo, needs Own:
            "Takes the last change back.",
            test "hermes/documents: a_document_is_opened_changed_taken_back_saved_and_closed";
        request "hermes/document/redo" (HermesStepParams => HermesDocument)
            [] wait_with(of Hermes) documents::redo, needs Own:
            "Makes the change again that was taken back last.",
            test "hermes/documents: a_document_is_opened_changed_taken_back_saved_and_closed";
        request "hermes/document/save" (HermesSaveParams => HermesDocument)
            [] wait_with(of Hermes) documents::save, needs Own:
            "Writes a document to its file or to another one.",
            test "hermes/documents: a_document_is_opened_changed_taken_back_saved_and_closed";
        request "hermes/document/close" (HermesCloseParams => EmptyResult)
            [] wait_with(of Hermes) documents::close, needs Own:
            "Closes a document.",
            test "hermes/documents: a_document_is_opened_changed_taken_back_saved_and_closed";
        request "hermes/document/focus" (HermesFocusParams => EmptyResult)
            [] now_with(of Hermes) documents::focus, needs Prompt:
            "Says which Thread the user looks at.",
            test "hermes/documents: a_document_is_compared_with_the_schema";
        request "hermes/document/validate" (HermesFocusParams => HermesFindings)
            [] wait_with(of Hermes) documents::validate, needs Read:
            "Compares a document with the schema.",
            test "hermes/documents: a_document_is_compared_with_the_schema";
        request "hermes/schema/segment" (HermesSegmentParams => HermesSegment)
            [] now_with(of Hermes) documents::segment, needs Read:
            "Returns what is known of the fields of a segment.",
            test "hermes/documents: a_document_is_compared_with_the_schema";
        client_notification WINDOW_CLOSED (HermesWindowClosedParams) wait screen::window_closed, needs Approve:
            "The user has closed a window.",
            test "hermes/extensions: an_extension_asks_the_client_that_ran_its_command_and_changes_the_document";
        notification EXTENSION_CHANGED (ExtensionStatus):
            "An extension is in another state.",
            test "hermes/extensions: an_extension_asks_the_client_that_ran_its_command_and_changes_the_document",
            note "to clients that declared `hermesUi`";
        notification TOOLBAR_CHANGED (HermesToolbarChanged):
            "There are other extensions or buttons.",
            test "hermes/extensions: an_extension_asks_the_client_that_ran_its_command_and_changes_the_document",
            note "to clients that declared `hermesUi`";
        notification DOCUMENT_CHANGED (HermesDocumentChanged):
            "A document was opened, changed or saved.",
            test "hermes/documents: a_document_is_opened_changed_taken_back_saved_and_closed",
            note "to clients that declared `hermesUi`";
        notification DOCUMENT_CLOSED (HermesFocusParams):
            "The document of a Thread was closed.",
            test "hermes/documents: a_document_is_opened_changed_taken_back_saved_and_closed",
            note "to clients that declared `hermesUi`";
        notification CLOSE_WINDOW (HermesWindowClosedParams):
            "An extension has closed its window, or has ended.",
            test "hermes/extensions: an_extension_asks_the_client_that_ran_its_command_and_changes_the_document",
            note "to clients that declared `hermesUi`";
        server_request OPEN_WINDOW (HermesWindow => EmptyResult), needs Approve:
            "Shows a page in a window.",
            test "hermes/extensions: an_extension_asks_the_client_that_ran_its_command_and_changes_the_document";
        server_request SHOW_MESSAGE (HermesMessage => EmptyResult), needs Approve:
            "Shows a message and waits until the user has read it.",
            test "hermes/screens: behaviour_44_each_dialog_goes_to_a_client_and_back";
        server_request SHOW_CONFIRM (HermesConfirm => HermesConfirmed), needs Approve:
            "Asks the user a question.",
            test "hermes/extensions: an_extension_asks_the_client_that_ran_its_command_and_changes_the_document";
        server_request OPEN_FILE (HermesChoice => HermesPath), needs Approve:
            "Asks for a file to open.", test "hermes/screens: behaviour_44_each_dialog_goes_to_a_client_and_back";
        server_request OPEN_FILES (HermesChoice => HermesPaths), needs Approve:
            "Asks for files to open.", test "hermes/screens: behaviour_44_each_dialog_goes_to_a_client_and_back";
        server_request SAVE_FILE (HermesChoice => HermesPath), needs Approve:
            "Asks where to save.", test "hermes/screens: behaviour_44_each_dialog_goes_to_a_client_and_back";
        server_request SELECT_DIRECTORY (HermesChoice => HermesPath), needs Approve:
            "Asks for a directory.", test "hermes/screens: behaviour_44_each_dialog_goes_to_a_client_and_back";
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
