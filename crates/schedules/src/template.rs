//! Templates of automation tasks: the built-in templates and those of users.

use bobbin_model::UnixMillis;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::schedule::Schedule;

/// Most templates of a user.
pub(crate) const MAX_TEMPLATES: usize = 100;
/// Longest workflow, in bytes.
pub(crate) const MAX_WORKFLOW: usize = 64 << 10;

/// A template.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Template {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    pub(crate) icon: Option<String>,
    pub(crate) category: Option<String>,
    pub(crate) workflow: String,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) approval_policy: Option<String>,
    pub(crate) needs_thread: bool,
    pub(crate) task_title: Option<String>,
    pub(crate) task_description: Option<String>,
    pub(crate) created_at: UnixMillis,
    pub(crate) updated_at: UnixMillis,
}

/// A built-in template.
struct BuiltIn {
    id: &'static str,
    title: &'static str,
    icon: &'static str,
    category: &'static str,
    /// Description of its tasks.
    task: &'static str,
    when: When,
    needs_thread: bool,
}

#[derive(Clone, Copy)]
enum When {
    DailyAt(u8),
    EveryHours(i64),
    WeekdaysAt(u8),
}

const WORKFLOW: &str = "# {{ task.title }}\n\n{{ task.description }}\n\nLook first at what has changed since the last run of this \
                        task, if this conversation has one. Change no files unless the task asks for it.";

const BUILT_IN: [BuiltIn; 5] = [
    BuiltIn {
        id: "review-new-commits",
        title: "Review new commits",
        icon: "🔎",
        category: "review",
        task: "Read the commits since the last run, or of the last day. Name changes that look wrong, each with its file and \
               a minimal correction.",
        when: When::WeekdaysAt(9),
        needs_thread: false,
    },
    BuiltIn {
        id: "run-the-tests",
        title: "Run the tests",
        icon: "🧪",
        category: "review",
        task: "Run the project's tests. Group the failures by their cause, and say which commit brought each of them.",
        when: When::DailyAt(6),
        needs_thread: false,
    },
    BuiltIn {
        id: "summarize-the-week",
        title: "Summarize the week",
        icon: "📅",
        category: "digest",
        task: "Summarize the commits of the last seven days by area, in at most 300 words.",
        when: When::EveryHours(7 * 24),
        needs_thread: false,
    },
    BuiltIn {
        id: "check-dependencies",
        title: "Check the dependencies",
        icon: "📦",
        category: "review",
        task: "List the direct dependencies with newer versions or known weaknesses, the urgent ones first.",
        when: When::EveryHours(7 * 24),
        needs_thread: false,
    },
    BuiltIn {
        id: "follow-a-conversation",
        title: "Follow a conversation",
        icon: "💬",
        category: "watch",
        task: "Look whether this conversation has open questions or promised work that is not done, and go on with it. When \
               there is none, say so in one line.",
        when: When::EveryHours(1),
        needs_thread: true,
    },
];

/// Returns the built-in templates. Their times of day are in the server's time zone.
pub(crate) fn built_in() -> Vec<Template> {
    let tz = TimeZone::system().iana_name().map(str::to_owned);
    let schedule = |when: When| match when {
        When::DailyAt(daily_hour) => Schedule::Daily {
            daily_hour,
            daily_minute: 0,
            tz: tz.clone(),
        },
        When::WeekdaysAt(hour) => Schedule::Cron {
            expr: format!("0 {hour} * * MON-FRI"),
            tz: tz.clone(),
        },
        When::EveryHours(hours) => Schedule::Every {
            every_ms: hours * 3_600_000,
            initial_delay_ms: None,
        },
    };
    let template = |own: &BuiltIn| Template {
        id: own.id.to_owned(),
        title: own.title.to_owned(),
        description: Some(own.task.to_owned()),
        icon: Some(own.icon.to_owned()),
        category: Some(own.category.to_owned()),
        workflow: WORKFLOW.to_owned(),
        schedule: Some(schedule(own.when)),
        approval_policy: Some(crate::task::WORKSPACE_SCOPE.to_owned()),
        needs_thread: own.needs_thread,
        task_title: Some(own.title.to_owned()),
        task_description: Some(own.task.to_owned()),
        ..Template::default()
    };
    BUILT_IN.iter().map(template).collect()
}

/// Whether an id is that of a built-in template.
pub(crate) fn is_built_in(id: &str) -> bool {
    BUILT_IN.iter().any(|own| own.id == id)
}
