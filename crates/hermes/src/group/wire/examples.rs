//! Whole messages of every method of this crate, there and back.

use bobbin_native::group::Groups;

use crate::group::wire::*;

const EXTENSION: &str = r#"{"id":"ext-0011223344556677","path":"lab.py --fast","name":"Lab","version":"1.2.0","state":"shuttingDown","enabled":true,"error":"it ended by itself"}"#;
const DOCUMENT: &str = r#"{"threadId":"thread_1","version":7,"dirty":true,"filePath":"/srv/a.hl7","encoding":"UTF-8","undoSteps":2,"redoSteps":0}"#;

bobbin_testkit::examples! {
    bobbin_native::lenient::lenient;
    Groups::of(&[crate::group::GROUPS]);
    HermesExtensionListResult: format!(r#"{{"extensions":[{EXTENSION}]}}"#);
    HermesExtension: EXTENSION;
    HermesSetEnabledParams: r#"{"id":"ext-0011223344556677","enabled":false}"#;
    HermesLogsParams: r#"{"id":"ext-0011223344556677","after":4,"limit":10}"#;
    HermesLogsResult: r#"{"entries":[{"number":5,"timestamp":"2027-03-01T08:00:00.000Z","level":"warn","message":"hot"}]}"#;
    HermesToolbarResult: r#"{"buttons":[{"extensionId":"ext-0011223344556677","button":{"id":"b","label":"Order","icon":"<svg></svg>","command":"lab/order","group":"lab"}}]}"#;
    HermesToolbarChanged: "{}";
    HermesCommandParams: r#"{"command":"lab/order","threadId":"thread_1"}"#;
    HermesOpenParams: r#"{"threadId":"thread_1","path":"a.hl7","discard":true}"#;
    HermesDocument: DOCUMENT;
    HermesDocumentListResult: format!(r#"{{"documents":[{DOCUMENT}]}}"#);
    HermesDocumentChanged: format!(r#"{{"document":{DOCUMENT},"origin":{{"kind":"extension","extensionId":"ext-0011223344556677"}}}}"#);
    HermesDocumentChanged: format!(r#"{{"document":{DOCUMENT},"origin":{{"kind":"agent"}}}}"#);
    HermesGetParams: r#"{"threadId":"thread_1","format":"json","shape":"keyed"}"#;
    HermesText: r#"{"text":"MSH|^~\\&","version":7}"#;
    HermesChangeParams: r#"{"threadId":"thread_1","version":7,"edits":[{"start":8,"end":9,"text":"|"}]}"#;
    HermesSetParams: r#"{"threadId":"thread_1","text":"MSH|^~\\&","format":"hl7","version":7}"#;
    HermesPatchParams: r#"{"threadId":"thread_1","patches":[{"path":"PID.5.1","value":"DOE"},{"path":"NK1","create":true}],"version":7}"#;
    HermesPatchResult: r#"{"success":false,"patchesApplied":1,"errors":[{"index":1,"path":"NK1","message":"no"}]}"#;
    HermesStepParams: r#"{"threadId":"thread_1","version":7}"#;
    HermesSaveParams: r#"{"threadId":"thread_1","path":"b.hl7","replace":true}"#;
    HermesCloseParams: r#"{"threadId":"thread_1","discard":false}"#;
    HermesFocusParams: r#"{"threadId":"thread_1"}"#;
    HermesFindings: r#"{"findings":[{"path":"PID.5","message":"it is required"}],"truncated":false}"#;
    HermesSegmentParams: r#"{"segment":"PID"}"#;
    HermesSegment: r#"{"fields":[{"field":8,"component":1,"name":"Sex","group":"g","note":"n","required":true,"minlength":1,"maxlength":2,"pattern":"[MF]","datatype":"datetime","placeholder":"p","values":{"F":"Female"},"template":"t"}]}"#;
    HermesWindowClosedParams: r#"{"windowId":"ext-window-1"}"#;
    HermesWindow: r#"{"url":"http://127.0.0.1:8080/","title":"Lab","width":800,"height":600,"modal":false,"resizable":true,"windowId":"ext-window-1","extensionId":"ext-0011223344556677","threadId":"thread_1"}"#;
    HermesMessage: r#"{"message":"m","title":"t","kind":"warning","extensionId":"ext-0011223344556677"}"#;
    HermesConfirm: r#"{"message":"m","title":"t","buttons":"yesNo","extensionId":"ext-0011223344556677"}"#;
    HermesConfirmed: r#"{"confirmed":true}"#;
    HermesChoice: r#"{"title":"t","defaultPath":"/srv","defaultName":"a.hl7","filters":[{"name":"HL7","extensions":["hl7","*"]}],"extensionId":"ext-0011223344556677"}"#;
    HermesPath: r#"{"path":"/srv/a.hl7"}"#;
    HermesPaths: r#"{"paths":["/srv/a.hl7"]}"#;
}
