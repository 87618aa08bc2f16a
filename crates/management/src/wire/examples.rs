//! Whole messages of every method of this crate, there and back.

use bobbin_native::group::Groups;

use crate::wire::*;

const TERMINAL: &str = r#"{"sessionId":"term_51","threadId":"thread_20270301_ab12cd","turnId":"turn_003","callId":"call_8","command":"make serve","workingDirectory":"/srv/pots","source":"sandbox","status":"timedOut","output":"up\n","outputPath":"/srv/pots/out.log","exitCode":137,"startedAt":"2027-03-01T08:00:00.000Z","completedAt":"2027-03-01T08:30:00.000Z","wallTimeMs":1800000,"originalOutputChars":3,"truncated":false,"backgroundReason":"asked to"}"#;
const ANSWER: &str = r#"{"id":"9f","approvalType":"shell","operation":"./fire --hot","target":"/srv/pots","conditions":["/srv/pots/fire sha256:0a"]}"#;

bobbin_testkit::examples! {
    Groups::of(&[crate::GROUPS]);
    TerminalListParams: r#"{"threadId":"thread_20270301_ab12cd"}"#;
    TerminalListParams: "{}";
    TerminalsResult: format!(r#"{{"terminals":[{TERMINAL}]}}"#);
    TerminalReadParams: r#"{"sessionId":"term_51","waitMs":500,"maxOutputChars":4000}"#;
    TerminalResult: format!(r#"{{"terminal":{TERMINAL}}}"#);
    TerminalWriteParams: r#"{"sessionId":"term_51","input":"q\n","yieldTimeMs":200,"maxOutputChars":10,"clientRequestId":"c-6"}"#;
    TerminalStopParams: r#"{"sessionId":"term_51"}"#;
    TerminalCleanParams: r#"{"threadId":"thread_20270301_ab12cd","clientRequestId":"c-7"}"#;
    McpListResult: r#"{"servers":[{"name":"pantry","enabled":true,"transport":"stdio","command":"pantry-mcp","args":["--ro"],"env":{"SHELF":"2"},"envVars":["LANG"],"cwd":"/srv/pots","startupTimeoutSec":20,"toolTimeoutSec":1.5,"origin":{"kind":"workspace"},"readOnly":false}]}"#;
    McpGetParams: r#"{"name":"pantry"}"#;
    McpServerResult: r#"{"server":{"name":"cellar","enabled":false,"transport":"streamableHttp","url":"https://cellar.example/mcp","bearerTokenEnvVar":"CELLAR_TOKEN","httpHeaders":{"X-Shelf":"2"},"envHttpHeaders":{"X-Key":"CELLAR_KEY"},"origin":{"kind":"plugin","pluginId":"tea-log","pluginDisplayName":"Tea log","declaredName":"cellar"},"readOnly":true}}"#;
    McpUpsertParams: r#"{"server":{"name":"pantry","enabled":true,"command":"pantry-mcp"},"clientRequestId":"c-8"}"#;
    McpRemoveParams: r#"{"name":"pantry","clientRequestId":"c-9"}"#;
    McpRemoveResult: r#"{"removed":true}"#;
    McpStatusListResult: r#"{"servers":[{"name":"pantry","enabled":true,"startupState":"ready","toolCount":2,"resourceCount":0,"resourceTemplateCount":1,"transport":"stdio"}]}"#;
    SkillsListParams: r#"{"includeUnavailable":false}"#;
    SkillsListResult: r#"{"skills":[{"name":"descale","description":"How to descale","source":"workspace","available":true,"enabled":true,"path":"/srv/tea/.craft/skills/descale/SKILL.md","metadata":{"description":"How to descale"}},{"name":"pour","description":"pour","displayName":"Pouring","shortDescription":"Pour","defaultPrompt":"Pour it","source":"user","available":false,"unavailableReason":"It needs the program pot.","enabled":false,"path":"/home/ada/.craft/skills/pour/SKILL.md"}]}"#;
    SkillParams: r#"{"name":"descale"}"#;
    SkillsReadResult: r#"{"name":"descale","content":"---\ndescription: How to descale\n---\nUse vinegar.","metadata":{"description":"How to descale"}}"#;
    SkillsViewResult: r#"{"name":"descale","content":"Use vinegar."}"#;
    SkillsRestoreOriginalResult: r#"{"name":"descale","restored":false}"#;
    SkillsSetEnabledParams: r#"{"name":"descale","enabled":false}"#;
    SkillsSetEnabledResult: r#"{"skill":{"name":"pour","description":"pour","displayName":"Pouring","shortDescription":"Pour","defaultPrompt":"Pour it","source":"user","available":false,"unavailableReason":"It needs the program pot.","enabled":false,"path":"/home/ada/.craft/skills/pour/SKILL.md"}}"#;
    SkillsUninstallResult: r#"{"name":"descale","uninstalled":true,"source":"workspace","removedSourcePath":"/srv/tea/.craft/skills/descale","removedVariantCount":0}"#;
    CommandListParams: r#"{"language":"en","includeBuiltins":false}"#;
    CommandListResult: r#"{"commands":[{"name":"/audit","aliases":[],"description":"Audit the recipe","category":"custom","requiresAdmin":false}]}"#;
    CommandExecuteParams: r#"{"threadId":"thread_20270301_ab12cd","command":"/audit","arguments":["milk"],"sender":{"senderId":"u-1","senderName":"Ada","senderRole":"admin"},"clientRequestId":"c-1"}"#;
    CommandExecuteResult: r#"{"handled":true,"isMarkdown":false,"expandedPrompt":"Audit the recipe for milk."}"#;
    McpPageParams: r#"{"server":"pantry","cursor":"100","limit":50}"#;
    McpToolListResult: r#"{"tools":[{"server":"pantry","name":"pour","offeredAs":"mcp__pantry__pour","description":"Pours.","inputSchema":{"type":"object"},"annotations":{"title":"Pour","readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false}}],"nextCursor":"1"}"#;
    McpResourceListResult: r#"{"resources":[{"server":"pantry","uri":"tea://menu","name":"menu","description":"What there is.","mimeType":"text/plain"}]}"#;
    McpResourceReadParams: r#"{"server":"pantry","uri":"tea://menu"}"#;
    McpPromptListResult: r#"{"prompts":[{"server":"pantry","name":"brew","description":"Asks for a cup.","arguments":[{"name":"leaf","description":"Which.","required":true}]}]}"#;
    McpPromptGetParams: r#"{"server":"pantry","name":"brew","arguments":{"leaf":"green"}}"#;
    McpTextResult: r#"{"text":"green, oolong"}"#;
    McpLoginParams: r#"{"name":"cellar"}"#;
    McpLoginResult: r#"{"url":"https://login.example/authorize?state=x"}"#;
    McpLogoutResult: r#"{"removed":true}"#;
    McpLoginCompletedNotification: r#"{"name":"cellar","success":false,"errorMessage":"The server cellar refused the login (access_denied)."}"#;
    McpTestParams: r#"{"server":{"name":"x","enabled":true,"transport":"streamableHttp","url":"http://127.0.0.1:9/mcp"}}"#;
    McpTestResult: r#"{"success":true,"toolCount":3}"#;
    McpTestResult: r#"{"success":false,"errorCode":"McpServerTestFailed","errorMessage":"Connection refused"}"#;
    CommitMessageSuggestParams: r#"{"threadId":"thread_20270301_ab12cd","paths":["mug.obj"],"maxDiffChars":5000}"#;
    CommitMessageSuggestResult: r#"{"message":"Add a handle"}"#;
    WelcomeSuggestionsParams: r#"{"identity":{"channelName":"potter"},"maxItems":3}"#;
    WelcomeSuggestionsResult: r#"{"items":[{"title":"Glaze it","prompt":"Pick a glaze","reason":"Still raw"}],"source":"dynamic","generatedAt":"2027-03-01T08:00:00.000Z","fingerprint":"f00d"}"#;
    WelcomeSuggestionsResult: r#"{"items":[],"source":"none","generatedAt":"2027-03-01T08:00:00.000Z","fingerprint":""}"#;
    PolicyExplainParams: r#"{"command":"make mug","threadId":"thread_20270301_ab12cd"}"#;
    PolicyExplainResult: r#"{"judgement":"deny","outcome":"refused","reason":"the rule says so","rule":{"text":"deny command `make mug`","source":"~/.craft/config.json","reason":"The kiln is cold."},"commands":[{"command":"ls","judgement":"allow","reason":"it only reads in the workspace"},{"command":"make mug","judgement":"deny","reason":"the rule says so","rule":{"text":"deny command `make mug`","source":"~/.craft/config.json"}}],"concerns":["it sets variables"]}"#;
    ModelListResult: r#"{"success":true,"models":[{"id":"kiln/large","ownedBy":"potter","createdAt":"2027-03-01T08:00:00.000Z"}]}"#;
    ModelListResult: r#"{"success":false,"models":[],"errorCode":"Timeout","errorMessage":"The kiln is cold."}"#;
    ServerStatsResult: r#"{"connection":{"phase":"ShuttingDown","writeQueueLength":1,"writeQueueBytes":90,"pendingOutboundCallCount":2,"runningInboundRequestCount":3,"timerArmed":true,"recentlyTimedOutCallCount":1,"queuedInboundCount":0,"bytesRead":100,"bytesWritten":200,"messagesRead":10,"messagesWritten":20,"readErrors":1,"uptimeMs":4000},"liveThreads":3,"subscriptions":4,"log":{"frames":50,"bytes":6000},"store":{"writeQueueLength":1,"transactions":70,"eventsWritten":900},"version":"0.1.0","uptimeMs":5000,"connections":2,"memoryBytes":52428800}"#;
    McpStatusUpdatedNotification: r#"{"server":{"name":"pantry","enabled":true,"startupState":"error","lastError":"it ended","wantsLogin":true,"transport":"stdio","origin":{"kind":"user"},"readOnly":true}}"#;
    WorkspaceConfigChangedNotification: r#"{"source":"mcp/upsert","regions":["mcp"],"changedAt":"2027-03-01T08:00:00.000Z"}"#;
    ApprovalRulesListResult: format!(r#"{{"rules":[{{"text":"deny command `rm **`","source":"/home/mika/.craft/config.json","reason":"r"}}],"answers":[{ANSWER}]}}"#);
    ApprovalRulesRemoveParams: r#"{"ids":["9f"],"clientRequestId":"c-2"}"#;
    ApprovalRulesRemoveResult: format!(r#"{{"answers":[{ANSWER}]}}"#);
    WorkspaceTrustSetParams: r#"{"trusted":true,"fingerprints":["9f"],"clientRequestId":"c-2"}"#;
    WorkspaceTrustResult: r#"{"trusted":false,"waiting":[{"kind":"server","name":"the MCP server pantry","detail":"runs \"pantry\"","fingerprint":"9f"}],"counted":[{"kind":"text","name":"AGENTS.md"}],"restartNeeded":false}"#;
    WorkspaceTrustChangedNotification: r#"{"trusted":true}"#;
    TerminalNotification: format!(r#"{{"terminal":{TERMINAL}}}"#);
    TerminalOutputDeltaNotification: format!(r#"{{"terminal":{TERMINAL},"delta":"up\n"}}"#);
}
