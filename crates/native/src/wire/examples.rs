//! Examples: whole messages of every method of this crate, in both directions.

use crate::group::Groups;
use crate::wire::*;

const QUEUED: &str = r#"{"id":"queued_20270301080000000_zz00yy","threadId":"thread_20270301_ab12cd","nativeInputParts":[{"type":"skillRef","name":"glazing"}],"materializedInputParts":[{"type":"text","text":"How to glaze"}],"displayText":"$glazing","sender":{"senderId":"u-1","senderName":"Ada","groupId":"g-2"},"status":"guidancePending","createdAt":"2027-03-01T08:00:00.000Z","readyAfterTurnId":"turn_003"}"#;
const ITEM: &str = r#"{"id":"item_002","turnId":"turn_003","type":"toolCall","payloadKind":"toolCall","status":"completed","createdAt":"2027-03-01T08:00:00.000Z","completedAt":"2027-03-01T08:00:00.020Z","payload":{"toolName":"ListFiles","callId":"call_8","arguments":{"Path":".","depth":1.0}}}"#;
const RUNTIME: &str = r#"{"running":true,"waitingOnApproval":false,"waitingOnPlanConfirmation":true}"#;
const CONTEXT: &str = r#"{"tokens":1200,"contextWindow":180000,"autoCompactThreshold":167000,"warningThreshold":147000,"errorThreshold":157000,"percentLeft":0.99}"#;
const TODOS: &str = r#"[{"id":"clay","content":"Wedge the clay","priority":"high","status":"in_progress"},{"id":"kiln","content":"Fire it","priority":"low","status":"pending"}]"#;

fn turn(end: &str) -> String {
    format!(
        r#"{{"id":"turn_003","threadId":"thread_20270301_ab12cd","status":"running","items":[{ITEM}],"startedAt":"2027-03-01T08:00:00.000Z"{end}}}"#
    )
}

fn thread(end: &str) -> String {
    format!(
        r#"{{"id":"thread_20270301_ab12cd","workspacePath":"/srv/pots","userId":"u-1","originChannel":"potter","channelContext":"group:7","displayName":"Mugs","source":{{"kind":"user"}},"status":"active","createdAt":"2027-03-01T07:00:00.000Z","lastActiveAt":"2027-03-01T08:00:00.000Z","historyMode":"server","configuration":{{"mode":"plan","model":"clay-1","approvalPolicy":"interrupt","mcpServers":[{{"name":"kiln","Timeout":1.0}}],"temperature":1.50}},"metadata":{{"channelContext":"group:7"}},"runtime":{RUNTIME},"queuedInputs":[{QUEUED}],"turns":[],"contextUsage":{CONTEXT}{end}}}"#
    )
}

const CHILD: &str = r#"{"id":"thread_20270301_ch1ld0","workspacePath":"/srv/pots","originChannel":"potter","source":{"kind":"subagent","subAgent":{"parentThreadId":"thread_20270301_ab12cd","parentTurnId":"turn_003","rootThreadId":"thread_20270301_ab12cd","depth":1,"agentNickname":"scout","supportsSendInput":true,"supportsResume":false,"supportsClose":true}},"status":"archived","createdAt":"2027-03-01T07:00:00.000Z","lastActiveAt":"2027-03-01T08:00:00.000Z","turnCount":3,"metadata":{}}"#;

const TERMINAL: &str = r#"{"sessionId":"term_51","threadId":"thread_20270301_ab12cd","turnId":"turn_003","callId":"call_8","command":"make serve","workingDirectory":"/srv/pots","source":"sandbox","status":"timedOut","output":"up\n","outputPath":"/srv/pots/out.log","exitCode":137,"startedAt":"2027-03-01T08:00:00.000Z","completedAt":"2027-03-01T08:30:00.000Z","wallTimeMs":1800000,"originalOutputChars":3,"truncated":false,"backgroundReason":"asked to"}"#;
const FORWARD: &str = r#"{"forwardId":"forward_51","threadId":"thread_20270301_ab12cd","port":5173,"address":"127.0.0.1:8080","url":"http://thread-20270301-ab12cd.localhost:8080"}"#;
const ANSWER: &str = r#"{"id":"9f","approvalType":"shell","operation":"./fire --hot","target":"/srv/pots","conditions":["/srv/pots/fire sha256:0a"]}"#;

bobbin_testkit::examples! {
    crate::lenient::lenient;
    Groups::of(&[crate::GROUPS]);
    EmptyParams: "{}";
    EmptyResult: "{}";
    CancelRequestParams: r#"{"id":"a7"}"#;
    CancelRequestParams: r#"{"id":1.50}"#;
    InitializeParams: r#"{"clientInfo":{"name":"potter","title":"Potter","version":"2.0"},"capabilities":{"approvalSupport":true,"userInputSupport":true,"streamingSupport":false,"commandExecutionStreaming":true,"toolExecutionLifecycle":true,"backgroundTerminals":true,"configChange":false,"fileChangeItems":true,"eventCursors":true,"workspaceTrust":true,"sandboxedPolicy":true,"optOutNotificationMethods":["item/usage/delta"],"channelAdapter":{"channelName":"pigeon","X":1.0},"acpExtensions":{"fsReadTextFile":true,"fsWriteTextFile":false,"terminalCreate":true,"extensions":["unity"]},"nodeRepl":{"backend":"deno"},"browserUse":{"backend":"cdp","protocolVersion":1,"supportsCancel":true}}}"#;
    InitializeResult: r#"{"serverInfo":{"name":"bobbin","version":"0.1.0","protocolVersion":"1","extensions":["acp"]},"capabilities":{"threadManagement":true,"approvalFlow":true,"eventCursors":true,"extensions":{"welcomeSuggestions":true}},"dashboardUrl":"http://127.0.0.1:9100/"}"#;

    ThreadStartParams: r#"{"identity":{"channelName":"potter","userId":"u-1","channelContext":"group:7","workspacePath":"/srv/pots"},"config":{"toolDenyList":["Shell"],"agentControlToolAccess":"allowList","allowedAgentControlTools":["Spawn"]},"historyMode":"client","displayName":"Mugs","dynamicTools":[{"name":"set_timer","description":"Sets a timer.","inputSchema":{"type":"object","Properties":{}},"namespace":"kitchen","deferLoading":true,"approval":{"kind":"remoteResource","targetArgument":"minutes","operation":"set"}}],"clientRequestId":"c-1"}"#;
    ThreadStartParams: r#"{"identity":{"channelName":"potter"}}"#;
    ThreadResult: format!(r#"{{"thread":{}}}"#, thread(""));
    ThreadRollbackResult: format!(r#"{{"thread":{},"turnPage":{{"nextCursor":"turn_002"}}}}"#, thread(""));
    ThreadResumeParams: r#"{"threadId":"thread_20270301_ab12cd","dynamicTools":[{"name":"set_timer","description":"Sets a timer.","inputSchema":{"type":"object"}}],"clientRequestId":"c-2"}"#;
    ThreadTargetParams: r#"{"threadId":"thread_20270301_ab12cd","clientRequestId":"c-2"}"#;
    ThreadListParams: r#"{"identity":{"channelName":"potter"},"includeArchived":true,"includeSubAgents":false,"crossChannelOrigins":["cli"],"channelName":"cli","query":"mug","limit":20,"cursor":"x"}"#;
    ThreadListResult: format!(r#"{{"data":[{CHILD}],"nextCursor":"y"}}"#);
    ThreadReadParams: r#"{"threadId":"thread_20270301_ab12cd","includeTurns":true,"turnLimit":5,"cursor":"x"}"#;
    ThreadReadResult: format!(r#"{{"thread":{},"turnPage":{{"nextCursor":"y"}},"seq":88}}"#, thread(""));
    ThreadReadResult: format!(r#"{{"thread":{}}}"#, thread(&format!(r#","plan":{{"title":"Mugs","overview":"","content":"1. Clay","todos":{TODOS}}}"#)));
    ThreadSubscribeParams: r#"{"threadId":"thread_20270301_ab12cd","replayRecent":true,"afterSeq":0}"#;
    ThreadSubscribeResult: "{}";
    ThreadSubscribeResult: r#"{"seq":88,"mode":"snapshot"}"#;
    ThreadUnsubscribeParams: r#"{"threadId":"thread_20270301_ab12cd"}"#;
    ThreadRenameParams: r#"{"threadId":"thread_20270301_ab12cd","displayName":"Cups","clientRequestId":"c-3"}"#;
    ThreadModeSetParams: r#"{"threadId":"thread_20270301_ab12cd","mode":"plan"}"#;
    ThreadConfigUpdateParams: r#"{"threadId":"thread_20270301_ab12cd","config":{"requireApprovalOutsideWorkspace":false,"useToolProfileOnly":true,"seed":123456789012345678901}}"#;
    ThreadRollbackParams: r#"{"threadId":"thread_20270301_ab12cd","numTurns":2}"#;
    ChannelListResult: r#"{"channels":[{"name":"cli","category":"builtin"},{"name":"pigeon","category":"external"}]}"#;

    TurnStartParams: r#"{"threadId":"thread_20270301_ab12cd","input":[{"type":"text","text":"Make a mug"},{"type":"fileRef","path":"mug.obj","displayPath":"mug"}],"sender":{"senderId":"u-1","senderName":"Ada","senderRole":"owner"},"messages":[{"role":"user","Weight":1.0}],"clientRequestId":"c-4"}"#;
    TurnStartResult: format!(r#"{{"turn":{}}}"#, turn(""));
    TurnEnqueueParams: r#"{"threadId":"thread_20270301_ab12cd","input":[{"type":"commandRef","name":"fire","argsText":"hot"}]}"#;
    TurnEnqueueResult: format!(r#"{{"queuedInput":{QUEUED},"queuedInputs":[{QUEUED}]}}"#);
    TurnInterruptParams: r#"{"threadId":"thread_20270301_ab12cd","turnId":"turn_003"}"#;
    TurnQueueRemoveParams: r#"{"threadId":"thread_20270301_ab12cd","queuedInputId":"queued_20270301080000000_zz00yy"}"#;
    TurnQueueRemoveResult: r#"{"queuedInputs":[]}"#;
    TurnSteerParams: r#"{"threadId":"thread_20270301_ab12cd","expectedTurnId":"turn_003","queuedInputId":"queued_20270301080000000_zz00yy","sender":{"senderId":"u-2","senderName":"Bo"},"clientRequestId":"c-5"}"#;
    TurnSteerResult: format!(r#"{{"turnId":"turn_003","queuedInputs":[{QUEUED}]}}"#);

    ThreadStartedNotification: format!(r#"{{"thread":{},"seq":1}}"#, thread(""));
    ThreadResumedNotification: format!(r#"{{"thread":{},"resumedBy":"potter","seq":3}}"#, thread(""));
    ThreadRenamedNotification: r#"{"threadId":"thread_20270301_ab12cd","displayName":"Cups","seq":4}"#;
    ThreadDeletedNotification: r#"{"threadId":"thread_20270301_ab12cd","seq":96}"#;
    ThreadStatusChangedNotification: r#"{"threadId":"thread_20270301_ab12cd","previousStatus":"paused","newStatus":"active"}"#;
    ThreadRuntimeChangedNotification: format!(r#"{{"threadId":"thread_20270301_ab12cd","runtime":{RUNTIME}}}"#);
    ThreadQueueUpdatedNotification: format!(r#"{{"threadId":"thread_20270301_ab12cd","queuedInputs":[{QUEUED}],"seq":5}}"#);
    TurnWaitingNotification: r#"{"threadId":"thread_20270301_ab12cd","turnId":"turn_003","message":"Provider overloaded. Retrying in 1 s (2 of 4)","seq":90}"#;
    TurnRevertedNotification: r#"{"threadId":"thread_20270301_ab12cd","turnId":"turn_003","files":[{"path":"glaze.md","action":"restored"}],"seq":91}"#;
    ThreadConfiguredNotification: r#"{"threadId":"thread_20270301_ab12cd","seq":89}"#;
    ThreadRolledBackNotification: r#"{"threadId":"thread_20270301_ab12cd","firstTurnId":"turn_003","numTurns":2,"seq":90}"#;
    ThreadSyncedNotification: r#"{"threadId":"thread_20270301_ab12cd","seq":88}"#;
    TurnNotification: format!(r#"{{"threadId":"thread_20270301_ab12cd","turnId":"turn_003","turn":{},"seq":6}}"#, turn(r#","completedAt":"2027-03-01T08:01:00.000Z","tokenUsage":{"inputTokens":10,"outputTokens":2,"totalTokens":12,"cachedInputTokens":8,"reasoningOutputTokens":1},"cost":0.0125,"originChannel":"cli","initiator":{"channelName":"cli","userId":"u-1","userName":"Ada"}"#));
    TurnFailedNotification: format!(r#"{{"threadId":"thread_20270301_ab12cd","turnId":"turn_003","turn":{},"error":"The kiln is cold."}}"#, turn(r#","error":"The kiln is cold.""#));
    TurnCancelledNotification: format!(r#"{{"threadId":"thread_20270301_ab12cd","turnId":"turn_003","turn":{},"reason":"Cancelled by request"}}"#, turn(""));
    TurnDiffUpdatedNotification: r#"{"threadId":"thread_20270301_ab12cd","turnId":"turn_003","diff":"--- a/x\n+++ b/y\n","files":[{"path":"y","status":"renamed","oldPath":"x","additions":0,"deletions":0}],"truncated":true,"seq":7}"#;
    PlanUpdatedNotification: format!(r#"{{"threadId":"thread_20270301_ab12cd","title":"Mugs","overview":"Six","content":"1. Clay","todos":{TODOS},"seq":8}}"#);
    ItemNotification: format!(r#"{{"threadId":"thread_20270301_ab12cd","turnId":"turn_003","item":{ITEM},"seq":9}}"#);
    AgentMessageDeltaNotification: r#"{"threadId":"t","turnId":"turn_003","itemId":"item_004","deltaKind":"agentMessage","delta":"Six mugs","seq":10}"#;
    ReasoningDeltaNotification: r#"{"threadId":"t","turnId":"turn_003","itemId":"item_005","deltaKind":"reasoningContent","delta":"Clay "}"#;
    ToolCallArgumentsDeltaNotification: r#"{"threadId":"t","turnId":"turn_003","itemId":"item_006","deltaKind":"toolCallArguments","toolName":"ListFiles","callId":"call_8","delta":"{\"pa"}"#;
    CommandOutputDeltaNotification: r#"{"threadId":"t","turnId":"turn_003","itemId":"item_007","delta":"mug.obj\n"}"#;
    UsageDeltaNotification: format!(r#"{{"threadId":"t","turnId":"turn_003","inputTokens":10,"outputTokens":2,"cachedInputTokens":8,"reasoningOutputTokens":1,"cost":0.0125,"totalInputTokens":10,"totalOutputTokens":2,"contextUsage":{CONTEXT}}}"#);
    SystemEventNotification: r#"{"threadId":"t","turnId":"turn_003","kind":"compactSkipped","percentLeft":0.5,"tokenCount":90000}"#;
    SystemEventNotification: r#"{"kind":"channelRejected","message":"Not enabled.","channelName":"pigeon"}"#;
    JobResultNotification: r#"{"source":"heartbeat","jobId":"j","jobName":"fire","threadId":"t","result":"Done.","tokenUsage":{"inputTokens":3,"outputTokens":1}}"#;
    SubagentChildrenListParams: r#"{"parentThreadId":"t","includeClosed":true,"includeThreads":false}"#;
    SubagentChildrenListResult: format!(r#"{{"data":[{{"edge":{{"parentThreadId":"t","childThreadId":"u","parentTurnId":"turn_003","depth":1,"agentNickname":"scout","agentRole":"explorer","profileName":"native","runtimeType":"native","supportsSendInput":true,"supportsResume":true,"supportsClose":true,"status":"open","createdAt":"2027-03-01T07:00:00.000Z","updatedAt":"2027-03-01T08:00:00.000Z"}},"thread":{}}}]}}"#, thread(""));
    SubagentTargetParams: r#"{"parentThreadId":"t","childThreadId":"u","clientRequestId":"c-2"}"#;
    SubagentTargetResult: r#"{"childThreadId":"u","status":"closed","message":"m","agentNickname":"scout","agentRole":"worker","profileName":"native","runtimeType":"native","supportsSendInput":false,"supportsResume":true,"supportsClose":false}"#;
    SubagentProgressNotification: r#"{"threadId":"t","turnId":"turn_003","entries":[{"label":"scout","currentTool":null,"inputTokens":8,"outputTokens":0,"isCompleted":false},{"label":"mason","currentTool":"Shell","currentToolDisplay":"make","inputTokens":1,"outputTokens":1,"isCompleted":true}]}"#;
    SubagentGraphChangedNotification: r#"{"parentThreadId":"t","childThreadId":"u"}"#;

    ApprovalRequestParams: r#"{"threadId":"t","turnId":"turn_003","itemId":"item_008","requestId":"0123456789ab","approvalType":"shell","operation":"make mug","target":"/srv/pots","scopeKey":"shell:make","reason":"It wants to run a command.","availableDecisions":["accept","decline","cancel"],"callId":"call_a1"}"#;
    ApprovalRequestResult: r#"{"decision":"acceptForSession"}"#;
    RequestUserInputParams: r#"{"threadId":"t","turnId":"turn_003","callId":"call_8","requestId":"0123456789ab","questions":[{"id":"1","question":"Which glaze?","options":[{"label":"blue","description":"As last year."},{"label":"none"}],"isOther":true},{"id":"2","question":"Why?","isOther":true}]}"#;
    RequestUserInputResult: r#"{"answers":{"1":{"answers":["blue"]}}}"#;
    UserInputResolvedNotification: r#"{"threadId":"t","turnId":"turn_003","callId":"call_8","requestId":"0123456789ab"}"#;
    ToolCallParams: r#"{"threadId":"t","turnId":"turn_003","callId":"dyntool_2","namespace":"kitchen","tool":"set_timer","arguments":{"Minutes":4.0}}"#;
    ToolCallResult: r#"{"success":true,"contentItems":[{"type":"text","text":"Set."}],"structuredResult":{"T":1e1}}"#;
    AcpReadTextFileParams: r#"{"threadId":"t","path":"/srv/pots/a.md","offset":1,"limit":40}"#;
    AcpReadTextFileResult: r##"{"content":"# A\n"}"##;
    AcpWriteTextFileParams: r#"{"threadId":"t","path":"/srv/pots/a.md","content":"B\n"}"#;
    AcpWriteTextFileResult: r#"{"success":true}"#;
    AcpTerminalCreateParams: r#"{"threadId":"t","command":"make","cwd":"/srv/pots","env":{"Glaze":"blue"}}"#;
    AcpTerminalCreateResult: r#"{"terminalId":"t-9"}"#;
    AcpTerminalParams: r#"{"threadId":"t","terminalId":"t-9"}"#;
    AcpTerminalOutputResult: r#"{"output":"done\n","exitCode":0}"#;
    AcpTerminalWaitParams: r#"{"threadId":"t","terminalId":"t-9","timeout":20}"#;
    AcpTerminalWaitResult: "{}";
    NodeReplEvaluateParams: r#"{"threadId":"t","evaluationId":"node-repl-1","code":"2*3","timeoutMs":5000}"#;
    NodeReplEvaluateResult: r#"{"text":"","resultText":"6","images":[{"mediaType":"image/png","dataBase64":"AA=="}],"logs":["a",1.0]}"#;
    NodeReplCancelParams: r#"{"threadId":"t","evaluationId":"node-repl-1"}"#;
    NodeReplCancelResult: r#"{"ok":false}"#;

    ThreadSearchParams: r#"{"identity":{"channelName":"potter"},"query":"glaze \"cone 6\"","threadId":"thread_20270301_ab12cd","itemTypes":["agentMessage","title"],"includeArchived":true,"crossChannelOrigins":["cli"],"limit":20,"cursor":"871"}"#;
    ThreadSearchResult: r#"{"data":[{"threadId":"thread_20270301_ab12cd","displayName":"Mugs","turnId":"turn_003","itemId":"item_004","itemType":"agentMessage","createdAt":"2027-03-01T08:00:00.000Z","snippet":"a glaze that matures at cone 6","turnCursor":"turn_004"},{"threadId":"thread_20270301_ab12cd","itemType":"title","createdAt":"2027-03-01T08:00:00.000Z","snippet":"Glazes"}],"nextCursor":"802","complete":true}"#;
    ThreadResult: r#"{"thread":{"id":"thread_20270301_c0p1ed","workspacePath":"/srv/pots","userId":"u-1","originChannel":"potter","displayName":"Mugs (2)","source":{"kind":"user"},"status":"active","createdAt":"2027-03-01T07:00:00.000Z","lastActiveAt":"2027-03-01T08:00:00.000Z","historyMode":"server","metadata":{},"runtime":{"running":true,"waitingOnApproval":false,"waitingOnPlanConfirmation":true},"queuedInputs":[]}}"#;
    ThreadForkParams: r#"{"threadId":"thread_20270301_ab12cd","turnId":"turn_003","clientRequestId":"c-3"}"#;
    TurnRevertParams: r#"{"threadId":"thread_20270301_ab12cd","turnId":"turn_003","force":true,"clientRequestId":"r-1"}"#;
    TurnRevertResult: r#"{"turnId":"turn_003","files":[{"path":"glaze.md","action":"restored"},{"path":"kiln.log","action":"removed"}],"notes":["A command may have changed more."]}"#;
    TurnDiffReadParams: r#"{"threadId":"thread_20270301_ab12cd","turnId":"turn_003"}"#;
    TurnDiffReadResult: r#"{"diff":"--- a/x\n+++ b/y\n","files":[{"path":"y","status":"renamed","oldPath":"x","additions":0,"deletions":0}],"truncated":false}"#;
    TurnPictureReadParams: r#"{"threadId":"thread_20270301_ab12cd","path":"/srv/state/thread_20270301_ab12cd/picture_0a.png"}"#;
    TurnPictureReadResult: r#"{"mediaType":"image/png","dataBase64":"iVBORw0KGgo="}"#;
    TerminalListParams: r#"{"threadId":"thread_20270301_ab12cd"}"#;
    TerminalListParams: "{}";
    TerminalsResult: format!(r#"{{"terminals":[{TERMINAL}]}}"#);
    TerminalReadParams: r#"{"sessionId":"term_51","waitMs":500,"maxOutputChars":4000}"#;
    TerminalResult: format!(r#"{{"terminal":{TERMINAL}}}"#);
    TerminalWriteParams: r#"{"sessionId":"term_51","input":"q\n","yieldTimeMs":200,"maxOutputChars":10,"clientRequestId":"c-6"}"#;
    TerminalStopParams: r#"{"sessionId":"term_51"}"#;
    TerminalCleanParams: r#"{"threadId":"thread_20270301_ab12cd","clientRequestId":"c-7"}"#;
    WorkspaceFilesFindParams: r#"{"query":"lid","limit":20}"#;
    WorkspaceFilesFindResult: r#"{"files":[{"path":"src/kettle","isDirectory":true},{"path":"src/kettle/lid.rs","isDirectory":false}]}"#;
    DoctorRunResult: r#"{"findings":[{"level":"ok","subject":"workspace","message":"/srv/pots"},{"level":"warning","subject":"undo","message":"turns cannot be undone: there is no git","mend":"install git"}]}"#;
    ForwardStartParams: r#"{"threadId":"thread_20270301_ab12cd","port":5173,"to":8080}"#;
    ForwardStartParams: r#"{"threadId":"thread_20270301_ab12cd","port":5173}"#;
    ForwardResult: format!(r#"{{"forward":{FORWARD}}}"#);
    ForwardListParams: r#"{"threadId":"thread_20270301_ab12cd"}"#;
    ForwardListResult: format!(r#"{{"forwards":[{FORWARD}]}}"#);
    ForwardStopParams: r#"{"forwardId":"forward_51"}"#;
    ForwardStopResult: r#"{"stopped":true}"#;
    ForwardEndedNotification: format!(r#"{{"forward":{FORWARD}}}"#);
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
    WorkspaceDefaultsResult: r#"{"model":"kiln/large","modelSource":"key","keyVariable":"KILN_KEY","reasoningEfforts":["low"],"approvalPolicy":"sandboxed","approvalPolicySet":false,"notice":"No model is set: using kiln/large."}"#;
    ModelListResult: r#"{"success":false,"models":[],"errorCode":"Timeout","errorMessage":"The kiln is cold."}"#;
    ServerStatsResult: r#"{"connection":{"phase":"ShuttingDown","writeQueueLength":1,"writeQueueBytes":90,"pendingOutboundCallCount":2,"runningInboundRequestCount":3,"timerArmed":true,"recentlyTimedOutCallCount":1,"queuedInboundCount":0,"bytesRead":100,"bytesWritten":200,"messagesRead":10,"messagesWritten":20,"readErrors":1,"uptimeMs":4000},"liveThreads":3,"subscriptions":4,"log":{"frames":50,"bytes":6000},"store":{"writeQueueLength":1,"transactions":70,"eventsWritten":900},"version":"0.1.0","uptimeMs":5000,"connections":2,"memoryBytes":52428800}"#;
    McpStatusUpdatedNotification: r#"{"server":{"name":"pantry","enabled":true,"startupState":"error","lastError":"it ended","wantsLogin":true,"transport":"stdio","origin":{"kind":"user"},"readOnly":true}}"#;
    WorkspaceConfigChangedNotification: r#"{"source":"mcp/upsert","regions":["mcp"],"changedAt":"2027-03-01T08:00:00.000Z"}"#;
    ApprovalRulesListResult: format!(r#"{{"rules":[{{"text":"deny command `rm **`","source":"/home/mika/.craft/config.json","reason":"r"}}],"answers":[{ANSWER}]}}"#);
    ApprovalRulesRemoveParams: r#"{"ids":["9f"],"clientRequestId":"c-2"}"#;
    ApprovalRulesRemoveResult: format!(r#"{{"answers":[{ANSWER}]}}"#);
    WorkspaceConfigSchemaResult: r#"{"sections":[{"section":"Core","order":0,"fields":[{"key":"Durability","type":"select","sensitive":false,"options":["full","normal"],"hint":"What a commit waits for.","reload":"processRestart","defaultValue":"full"}]},{"section":"Limits","order":1,"path":"Limits","fields":[{"key":"Rounds","type":"number","sensitive":false,"min":1,"max":9,"reload":"hot"}]}]}"#;
    WorkspaceConfigUpdateParams: r#"{"model":"brew-large","apiKey":null,"endPoint":"https://tea.example/v1","welcomeSuggestionsEnabled":false,"skillsSelfLearningEnabled":null,"memoryAutoConsolidateEnabled":true,"defaultApprovalPolicy":"autoApprove","saveUserConfig":false}"#;
    WorkspaceConfigUpdateParams: r#"{"defaultApprovalPolicy":null,"saveUserConfig":false}"#;
    WorkspaceConfigUpdateParams: r#"{"provider":{"name":"kiln","wire":"messages","baseUrl":"https://kiln.example/v1","apiKey":"k"},"saveUserConfig":true}"#;
    WorkspaceConfigResult: r#"{"model":"brew-large","apiKey":null,"endPoint":null,"welcomeSuggestionsEnabled":true,"skillsSelfLearningEnabled":null,"memoryAutoConsolidateEnabled":null,"defaultApprovalPolicy":"autoApprove"}"#;
    WorkspaceTrustSetParams: r#"{"trusted":true,"fingerprints":["9f"],"clientRequestId":"c-2"}"#;
    WorkspaceTrustResult: r#"{"trusted":false,"waiting":[{"kind":"server","name":"the MCP server pantry","detail":"runs \"pantry\"","fingerprint":"9f"}],"counted":[{"kind":"text","name":"AGENTS.md"}],"restartNeeded":false}"#;
    WorkspaceTrustChangedNotification: r#"{"trusted":true}"#;
    TerminalNotification: format!(r#"{{"terminal":{TERMINAL}}}"#);
    TerminalOutputDeltaNotification: format!(r#"{{"terminal":{TERMINAL},"delta":"up\n"}}"#);
}

#[test]
fn no_plan_is_told_from_a_plan_that_is_not_part_of_the_message() {
    let read = |end: &str| serde_json::from_str::<Thread>(&thread(end)).unwrap();
    assert_eq!(read("").plan, None);
    assert_eq!(read(r#","plan":null"#).plan, Some(Nullable(None)));
    assert!(
        serde_json::to_string(&read(r#","plan":null"#))
            .unwrap()
            .ends_with(r#","plan":null}"#)
    );
}
