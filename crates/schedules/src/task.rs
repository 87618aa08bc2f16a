//! Makes automation tasks: their ids, rights and workflows.

use bobbin_model::{ApprovalPolicy, ThreadConfig, ThreadId, UnixMillis};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::book::Refused;
use crate::job::{Job, Kind, MAX_MESSAGE, MAX_NAME, Rights, State, Task};
use crate::schedule::Schedule;
use crate::template::{MAX_WORKFLOW, Template};

/// Works in the workspace and its sandbox without asking; calls that reach out of it are declined.
pub(crate) const WORKSPACE_SCOPE: &str = "workspaceScope";
/// Asks about nothing.
pub(crate) const FULL_AUTO: &str = "fullAuto";
/// Follows the workspace's own policy.
const DEFAULT: &str = "default";
/// The workflow of a task without one.
pub(crate) const WORKFLOW: &str = "{{ task.description }}";
/// Longest slug of a title in an id.
const SLUG: usize = 40;
/// Longest id of a task or template.
const MAX_ID: usize = 64;

/// Parameters of a new task.
#[derive(Debug, Default)]
pub(crate) struct NewTask {
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    pub(crate) workflow: Option<String>,
    pub(crate) approval_policy: Option<String>,
    pub(crate) workspace_mode: Option<String>,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) bound_to: Option<ThreadId>,
    pub(crate) template: Option<Template>,
}

impl NewTask {
    /// Returns the job; `workspace` is the workspace's approval policy.
    ///
    /// # Errors
    /// A parameter is invalid.
    pub(crate) fn job(self, workspace: ApprovalPolicy, now: UnixMillis) -> Result<Job, Refused> {
        let invalid = |why: &str| Err(Refused::Invalid(why.to_owned()));
        let title = self.title.trim().to_owned();
        if title.is_empty() || title.chars().count() > MAX_NAME {
            return invalid(&format!("'title' is needed, with at most {MAX_NAME} characters."));
        }
        let mode = self.workspace_mode.as_deref().map_or("project", str::trim);
        if !mode.eq_ignore_ascii_case("project") {
            return invalid("'workspaceMode' is \"project\": tasks of this server run in the workspace.");
        }
        let template = self.template.unwrap_or_default();
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let description = given(self.description)
            .or(template.task_description)
            .unwrap_or_default();
        if description.chars().count() > MAX_MESSAGE {
            return invalid(&format!("'description' has at most {MAX_MESSAGE} characters."));
        }
        let workflow = given(self.workflow).or(given(Some(template.workflow)));
        let workflow = workflow.unwrap_or_else(|| WORKFLOW.to_owned());
        if workflow.len() > MAX_WORKFLOW {
            return invalid(&format!("'workflowTemplate' has at most {MAX_WORKFLOW} bytes."));
        }
        if description.trim().is_empty() && workflow == WORKFLOW {
            return invalid("'description' is needed where there is no workflow.");
        }
        let policy = given(self.approval_policy).or(template.approval_policy);
        let (approval_policy, rights) = rights(policy.as_deref(), workspace)?;
        // A task without a time runs once, at once.
        let due = match &self.schedule {
            Some(schedule) => {
                schedule.check(now).map_err(|bad| Refused::Invalid(bad.0))?;
                schedule.first(now).map_err(|bad| Refused::Invalid(bad.0))?
            }
            None => now,
        };
        Ok(Job {
            kind: Kind::Task,
            id: task_id(&title, &template.id, now),
            name: title,
            schedule: self.schedule,
            prompt: workflow,
            rights,
            enabled: true,
            delete_after_run: false,
            when_missed: crate::due::MissedRun::Run,
            created_at: now,
            updated_at: now,
            changes: 0,
            deliver: None,
            task: Some(Task {
                description,
                approval_policy,
                bound_to: self.bound_to,
                starts_anew: false,
                notify: None,
                agent_profile: None,
            }),
            state: State {
                due: Some(due),
                set_at: now,
                ..State::default()
            },
        })
    }
}

/// Returns a policy's name and its rights.
///
/// # Errors
/// There is no such policy.
pub(crate) fn rights(policy: Option<&str>, workspace: ApprovalPolicy) -> Result<(String, Rights), Refused> {
    let word = policy.map_or(WORKSPACE_SCOPE, str::trim);
    let is = |known: &str| word.eq_ignore_ascii_case(known);
    let (word, own, outside) = if is(WORKSPACE_SCOPE) {
        (WORKSPACE_SCOPE, Some(ApprovalPolicy::Sandboxed), Some(false))
    } else if is(FULL_AUTO) || is("autoApprove") {
        (FULL_AUTO, Some(ApprovalPolicy::AutoApprove), None)
    } else if is(DEFAULT) {
        (DEFAULT, None, None)
    } else {
        return Err(Refused::Invalid(format!(
            "'approvalPolicy' is \"{WORKSPACE_SCOPE}\", \"{FULL_AUTO}\" or \"{DEFAULT}\"."
        )));
    };
    let rights = Rights {
        config: ThreadConfig {
            approval_policy: own,
            require_approval_outside_workspace: outside,
            ..ThreadConfig::default()
        },
        approvals: own.unwrap_or(workspace),
    };
    Ok((word.to_owned(), rights))
}

/// Returns an id made of the time and the title, or else the template's id.
fn task_id(title: &str, template: &str, now: UnixMillis) -> String {
    let words = [slug(title), slug(template), "task".to_owned()];
    let slug = words
        .into_iter()
        .find(|slug| !slug.is_empty())
        .unwrap_or_default();
    let at = Timestamp::from_millisecond(now.0).unwrap_or_default();
    let at = at.to_zoned(TimeZone::UTC).strftime("%Y%m%d%H%M%S").to_string();
    format!("{slug}-{at}")
}

fn slug(text: &str) -> String {
    let mut slug = String::new();
    for letter in text.to_lowercase().chars() {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(SLUG);
    slug.trim_end_matches('-').to_owned()
}

/// Whether a text is an id of a task or template. Such an id is also a safe name of a directory.
pub(crate) fn is_id(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphanumeric())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-')
        && text.len() <= MAX_ID
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_slugs_with_the_time() {
        let now = UnixMillis(1_799_057_700_000);
        let table = [
            ("Weekly scale check", "", "weekly-scale-check-20270104101500"),
            ("  Æ! ", "scale", "scale-20270104101500"),
            ("Æ", "", "task-20270104101500"),
            (
                "a b c d e f g h i j k l m n o p q r s t u v w x",
                "",
                "a-b-c-d-e-f-g-h-i-j-k-l-m-n-o-p-q-r-s-t-20270104101500",
            ),
        ];
        for (title, template, id) in table {
            assert_eq!(task_id(title, template, now), id);
            assert!(is_id(id));
        }
        for bad in ["", "-a", "a/b", "..", "a.b", &"a".repeat(65)] {
            assert!(!is_id(bad), "{bad}");
        }
    }

    #[test]
    fn a_job_has_no_more_rights_than_its_author() {
        use ApprovalPolicy::{Ask, AskWrites, AutoApprove, Default, Refuse, Sandboxed};
        // The author's own policy and the one in force then; the workspace's now; the run's.
        let table = [
            (None, Default, Default, Default),
            (None, Default, AskWrites, AskWrites),
            (None, Default, AutoApprove, Ask),
            (Some(Ask), Default, AutoApprove, Ask),
            (None, AutoApprove, Default, Default),
            (None, AutoApprove, AutoApprove, AutoApprove),
            (Some(Default), Sandboxed, Refuse, Refuse),
            (Some(AutoApprove), AutoApprove, Default, AutoApprove),
            (Some(Refuse), Refuse, AutoApprove, Refuse),
        ];
        for (approval_policy, approvals, workspace, run) in table {
            let rights = Rights {
                config: ThreadConfig {
                    approval_policy,
                    ..ThreadConfig::default()
                },
                approvals,
            };
            let config = rights.configuration(workspace);
            assert_eq!(
                config.approval_policy,
                Some(run),
                "{approval_policy:?} {workspace:?}"
            );
            assert!(!config.offers("Cron"));
        }
    }
}
