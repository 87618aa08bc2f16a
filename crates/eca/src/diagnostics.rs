//! `editor/getDiagnostics`: an editor's diagnostics of the code (section 15).

use std::path::PathBuf;
use std::time::Duration;

use bobbin_editor_kit::{Diagnostic, Diagnostics, LIMIT, path_of, uri_of};
use bobbin_peer::{PeerHandle, Phase};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

/// The editor behind a connection.
pub(crate) struct PeerDiagnostics(pub(crate) PeerHandle);

impl Diagnostics for PeerDiagnostics {
    fn is_open(&self) -> bool {
        self.0.phase() == Phase::Active
    }

    fn ask(&self, path: Option<PathBuf>) -> BoxFuture<'_, Result<Vec<Diagnostic>, String>> {
        async move {
            let params = path.map_or_else(|| json!({}), |path| json!({ "uri": uri_of(&path) }));
            // The tool gives up first.
            let limit = LIMIT + Duration::from_secs(1);
            let answer = self.0.call_with_timeout("editor/getDiagnostics", params, limit);
            let answer: Option<Answer> = answer.await.map_err(|error| error.to_string())?;
            Ok(answer.unwrap_or_default().diagnostics())
        }
        .boxed()
    }
}

/// The answer of an editor. Entries are read one by one, so an invalid one does not affect the others.
#[derive(Debug, Default, Deserialize)]
struct Answer {
    diagnostics: Option<Vec<Value>>,
}

#[derive(Debug, Deserialize)]
struct WireDiagnostic {
    uri: String,
    severity: Option<String>,
    source: Option<String>,
    range: Option<Range>,
    /// A text, or a number.
    code: Option<Value>,
    message: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Range {
    start: Place,
}

#[derive(Debug, Deserialize)]
struct Place {
    line: i64,
    character: i64,
}

impl Answer {
    fn diagnostics(self) -> Vec<Diagnostic> {
        let all = self.diagnostics.unwrap_or_default().into_iter();
        let known = all.filter_map(|value| {
            serde_json::from_value::<WireDiagnostic>(value)
                .inspect_err(|error| tracing::info!(%error, "a diagnostic was skipped"))
                .ok()
        });
        known.map(Diagnostic::from).collect()
    }
}

impl From<WireDiagnostic> for Diagnostic {
    fn from(one: WireDiagnostic) -> Self {
        let code = match one.code {
            Some(Value::String(code)) => Some(code),
            Some(Value::Number(code)) => Some(code.to_string()),
            _ => None,
        };
        Self {
            path: path_of(&one.uri),
            at: one.range.map(|range| (range.start.line, range.start.character)),
            severity: one.severity,
            origin: one.source.into_iter().chain(code).collect(),
            message: one.message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_entry_by_entry() {
        let place =
            |line, character| json!({ "start": { "line": line, "character": character }, "end": null });
        let answer: Answer = serde_json::from_value(json!({ "diagnostics": [
            { "uri": "file:///srv/tea/src/my%20spout.rs", "severity": "error", "source": "rustc", "code": "E0308",
              "range": place(3, 7), "message": "mismatched types" },
            { "uri": "file:///etc/tea", "severity": "odd", "source": null, "code": 12, "range": place(0, 0),
              "message": "cold" },
            7,
            { "uri": "file:///srv/tea/x", "severity": "hint", "source": null, "code": null, "message": "m" },
        ]}))
        .unwrap();
        let all = answer.diagnostics();
        assert_eq!(all.len(), 3);
        assert_eq!(all[0].path, PathBuf::from("/srv/tea/src/my spout.rs"));
        assert_eq!(
            (all[0].at, &*all[0].origin),
            (Some((3, 7)), &["rustc".to_owned(), "E0308".to_owned()][..])
        );
        assert_eq!(
            (all[1].at, &*all[1].origin),
            (Some((0, 0)), &["12".to_owned()][..])
        );
        assert_eq!((all[2].at, all[2].severity.as_deref()), (None, Some("hint")));
        for nothing in ["{}", r#"{"diagnostics":null}"#, r#"{"diagnostics":[]}"#] {
            let answer: Answer = serde_json::from_str(nothing).unwrap();
            assert!(answer.diagnostics().is_empty(), "{nothing}");
        }
    }
}
