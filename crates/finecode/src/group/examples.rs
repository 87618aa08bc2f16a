//! Whole messages of every method of this crate, there and back.

use bobbin_native::group::Groups;

use crate::group::wire::*;

const RUNNER: &str = r#"{"projectPath":"/ws/shop","env":"tools","sandboxed":true,"status":"RUNNING","logFile":"/ws/shop/.venvs/tools/runner.log"}"#;

bobbin_testkit::examples! {
    bobbin_native::lenient::lenient;
    Groups::of(&[crate::group::GROUPS]);
    EmptyParams: "{}";
    FineCodeProjectListResult: r#"{"projects":[{"path":"/ws/shop","name":"shop","status":"valid","problems":["/ws/shop/pyproject.toml:14: action lost has no source; name its import path"]}]}"#;
    FineCodeActionListParams: r#"{"projectPath":"/ws/shop","loadPresets":true}"#;
    FineCodeActionListParams: "{}";
    FineCodeActionListResult: r#"{"actions":[{"projectPath":"/ws/shop","name":"spell","source":"shop_tools.SpellAction","canonicalSource":"shop_tools.actions.SpellAction","envs":["tools"],"handlers":["dictionary"]}]}"#;
    FineCodeActionRunParams: r#"{"action":"spell","payload":{"text":"teh","limit":1.0},"projectPaths":["/ws/shop"],"concurrently":false,"formats":["json"],"runId":"r-1","partialResults":true}"#;
    FineCodeActionRunResult: r#"{"results":[{"projectPath":"/ws/shop","status":"success","returnCode":1,"result":{"misses":["teh"]},"text":"1 miss"},{"projectPath":"/ws/b","status":"failed","error":"boom"}]}"#;
    FineCodeActionCancelParams: r#"{"runId":"r-1"}"#;
    FineCodeActionCancelResult: r#"{"cancelled":true}"#;
    FineCodeRunnerListResult: format!(r#"{{"runners":[{RUNNER}]}}"#);
    FineCodeRunnerParams: r#"{"projectPath":"/ws/shop","env":"tools"}"#;
    FineCodeRunnerResult: r#"{"found":true}"#;
    FineCodeRunnerLogsResult: r#"{"lines":["warming up"]}"#;
    FineCodeProgressNotification: r#"{"runId":"r-1","kind":"report","message":"a.py","percentage":50.0}"#;
    FineCodePartialResultNotification: r#"{"runId":"r-1","projectPath":"/ws/shop","result":{"misses":["teh"]}}"#;
    FineCodeRunnerUpdatedNotification: format!(r#"{{"runner":{RUNNER}}}"#);
    FineCodeApplyEditParams: r#"{"edit":{"documentChanges":[{"textDocument":{"uri":"file:///ws/shop/a.py","version":null},"edits":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":3}},"newText":"the"}]}]}}"#;
    FineCodeApplyEditResult: r#"{"applied":true}"#;
    FineCodeApplyEditResult: r#"{"applied":false,"failureReason":"a.py is not open"}"#;
    FineCodeMessageNotification: r#"{"projectPath":"/ws/shop","env":"tools","level":"warning","text":"no dictionary"}"#;
}
