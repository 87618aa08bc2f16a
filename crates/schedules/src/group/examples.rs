//! Whole messages of every method of this crate, there and back.

use bobbin_native::group::Groups;

use super::wire::*;

const JOB: &str = r#"{"id":"5be0c1d2","name":"water plants","schedule":{"kind":"daily","dailyHour":7,"dailyMinute":30,"tz":"Europe/Oslo"},"enabled":true,"createdAtMs":1798000000000,"deleteAfterRun":false,"whenMissed":"run","whenRunning":"skip","state":{"nextRunAtMs":1798093800000,"lastRunAtMs":1798007400000,"lastStatus":"error","lastError":"No water.","lastThreadId":"thread_1","lastResult":"Dry.","running":true,"note":"Left out."}}"#;
const TASK: &str = r#""id":"scale-20270105080600","title":"Scale","status":"pending","threadId":"thread_1","description":"Look for lime","agentSummary":"None.","createdAt":"2027-01-05T08:06:00.000Z","updatedAt":"2027-01-05T08:06:00.000Z","approvalPolicy":"workspaceScope","schedule":{"kind":"every","everyMs":604800000,"initialDelayMs":60000},"threadBinding":{"threadId":"thread_2","mode":"run-in-thread"},"nextRunAt":"2027-01-12T08:06:00.000Z","note":"Left out.""#;
const TEMPLATE: &str = r#"{"id":"user-4f0a","title":"Scale check","description":"d","icon":"i","category":"c","workflowMarkdown":"Look for lime.","defaultSchedule":{"kind":"cron","expr":"0 9 * * 1","tz":"UTC"},"defaultWorkspaceMode":"project","defaultApprovalPolicy":"fullAuto","needsThreadBinding":true,"defaultTitle":"t","defaultDescription":"dd","isUser":true,"createdAt":"2027-01-05T08:06:00.000Z","updatedAt":"2027-01-05T08:06:00.000Z"}"#;

bobbin_testkit::examples! {
    bobbin_native::lenient::lenient;
    Groups::of(&[crate::GROUPS]);
    CronListParams: r#"{"includeDisabled":true}"#;
    CronListResult: format!(r#"{{"jobs":[{JOB}]}}"#);
    CronJobParams: r#"{"jobId":"5be0c1d2","clientRequestId":"c-1"}"#;
    CronRemoveResult: r#"{"removed":true}"#;
    CronEnableParams: r#"{"jobId":"5be0c1d2","enabled":true,"clientRequestId":"c-1"}"#;
    CronEnableResult: format!(r#"{{"job":{JOB}}}"#);
    CronRunResult: format!(r#"{{"queued":true,"job":{JOB}}}"#);
    CronStateChangedNotification: format!(r#"{{"job":{JOB},"removed":false}}"#);
    HeartbeatTriggerParams: r#"{"clientRequestId":"c-1"}"#;
    HeartbeatTriggerResult: r#"{"result":"Nothing to do."}"#;
    HeartbeatTriggerResult: r#"{"error":"No water."}"#;
    AutomationTaskListParams: r#"{"workspacePath":"/srv/tea"}"#;
    AutomationTaskListResult: format!(r#"{{"tasks":[{{{TASK}}}]}}"#);
    AutomationTaskReadParams: r#"{"taskId":"scale-20270105080600"}"#;
    AutomationTaskReadResult: format!(r#"{{{TASK},"task":{{{TASK}}}}}"#);
    AutomationTaskCreateParams: r#"{"title":"Scale","description":"Look for lime","workflowTemplate":"w","approvalPolicy":"fullAuto","workspaceMode":"project","schedule":{"kind":"at","atMs":1798093800000},"threadBinding":{"threadId":"thread_2"},"templateId":"user-4f0a","clientRequestId":"c-1"}"#;
    AutomationTaskCreateResult: format!(r#"{{"taskId":"scale-20270105080600","taskDirectory":"/srv/tea/.craft/tasks/scale-20270105080600","task":{{{TASK}}}}}"#);
    AutomationTaskParams: r#"{"taskId":"scale-20270105080600","clientRequestId":"c-1"}"#;
    AutomationTaskResult: format!(r#"{{"task":{{{TASK}}}}}"#);
    AutomationTaskUpdateBindingParams: r#"{"taskId":"t","threadBinding":{"threadId":"thread_2","mode":"run-in-thread"},"clientRequestId":"c-1"}"#;
    AutomationTaskUpdateBindingParams: r#"{"taskId":"t","threadBinding":null}"#;
    AutomationOkResult: r#"{"ok":true}"#;
    AutomationTaskUpdatedNotification: format!(r#"{{"workspacePath":"/srv/tea","task":{{{TASK}}}}}"#);
    AutomationTemplateListParams: r#"{"locale":"en"}"#;
    AutomationTemplateListResult: format!(r#"{{"templates":[{TEMPLATE}]}}"#);
    AutomationTemplateSaveParams: r#"{"id":"user-4f0a","title":"Scale check","description":"d","icon":"i","category":"c","workflowMarkdown":"Look for lime.","defaultSchedule":{"kind":"every","everyMs":60000},"defaultWorkspaceMode":"project","defaultApprovalPolicy":"fullAuto","needsThreadBinding":false,"defaultTitle":"t","defaultDescription":"dd","clientRequestId":"c-1"}"#;
    AutomationTemplateResult: format!(r#"{{"template":{TEMPLATE}}}"#);
    AutomationTemplateDeleteParams: r#"{"id":"user-4f0a","clientRequestId":"c-1"}"#;
}
