//! The handlers of `automation/*`.

use std::sync::Arc;

use bobbin_model::{ThreadId, ThreadStatus};
use bobbin_native::client::{Client, refuse};
use bobbin_native::convert::time;
use bobbin_peer::Responder;

use super::{change, reply, schedule_in, schedule_out, wire_error};
use crate::book::{Book, Change, Refused};
use crate::group::types::{
    AutomationOkResult, AutomationTask, AutomationTaskCreateParams, AutomationTaskCreateResult,
    AutomationTaskListParams, AutomationTaskListResult, AutomationTaskParams, AutomationTaskReadParams,
    AutomationTaskReadResult, AutomationTaskResult, AutomationTaskStatus, AutomationTaskUpdateBindingParams,
    AutomationTemplate, AutomationTemplateDeleteParams, AutomationTemplateListParams,
    AutomationTemplateListResult, AutomationTemplateResult, AutomationTemplateSaveParams,
    AutomationThreadBinding,
};
use crate::job::{Job, Key, Kind, MAX_MESSAGE, MAX_NAME};
use crate::owner::Schedules;
use crate::task::{NewTask, is_id};
use crate::template::{MAX_WORKFLOW, Template, built_in, is_built_in};

/// The only mode of a task's binding.
const RUN_IN_THREAD: &str = "run-in-thread";
pub(super) fn list(
    client: &Client,
    schedules: &Schedules,
    _: AutomationTaskListParams,
    responder: Responder,
) {
    let list = |book: &Book| {
        Ok(AutomationTaskListResult {
            tasks: book.jobs(Kind::Task).iter().map(|job| task(job)).collect(),
        })
    };
    super::read(client, schedules, Kind::Task, responder, list);
}

pub(super) fn read(
    client: &Client,
    schedules: &Schedules,
    params: AutomationTaskReadParams,
    responder: Responder,
) {
    let read = move |book: &Book| {
        let job = book.job(Kind::Task, &params.task_id)?;
        Ok(AutomationTaskReadResult {
            bare: task(job),
            task: task(job),
        })
    };
    super::read(client, schedules, Kind::Task, responder, read);
}

pub(super) fn create(
    client: &Client,
    schedules: &Schedules,
    params: AutomationTaskCreateParams,
    responder: Responder,
) {
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let (schedules, task_client) = (schedules.clone(), client.clone());
    client.spawn(async move {
        let threads = task_client.threads();
        let workspace = threads.settings().approval_policy.get();
        let directory = threads.settings().workspace.join(".craft").join("tasks");
        let bound_to = match bound_to(&task_client, params.thread_binding.clone()).await {
            Ok(bound_to) => bound_to,
            Err(refused) => return first.err(wire_error(Kind::Task, &refused.into())),
        };
        let of_folder = match &params.template_id {
            Some(_) => of_folder(&schedules).await,
            None => Vec::new(),
        };
        let answer = move |job: Arc<Job>| AutomationTaskCreateResult {
            task_id: job.id.clone(),
            task_directory: directory.join(&job.id).to_string_lossy().into_owned(),
            task: task(&job),
        };
        let decide = move |book: &Book, now| {
            let template = params.template_id.as_deref().filter(|id| !id.trim().is_empty());
            let has_workflow = params.workflow_template.is_some();
            let template = template.map(|id| {
                let own = book.template(id).map(|template| (**template).clone());
                let mut others = built_in().into_iter().chain(of_folder);
                let found = own.or_else(|| others.find(|other| other.id == id));
                // If a request has its own workflow, an unknown template is no error.
                let found = found.or_else(|| has_workflow.then(Template::default));
                found.ok_or_else(|| Refused::Invalid(format!("There is no template '{id}'.")))
            });
            let task = NewTask {
                title: params.title,
                description: params.description,
                workflow: params.workflow_template,
                approval_policy: params.approval_policy,
                workspace_mode: params.workspace_mode,
                schedule: schedule_in(params.schedule)?,
                bound_to,
                template: template.transpose()?,
            };
            book.add_numbered(task.job(workspace, now)?)
        };
        schedules.submit(decide, reply(first, Kind::Task, answer)).await;
    });
}

pub(super) async fn run(
    client: &Client,
    schedules: &Schedules,
    AutomationTaskParams { task_id, .. }: AutomationTaskParams,
    responder: Responder,
) {
    let decide = |book: &Book, now| match book.run_now(&Key::new(Kind::Task, task_id), now)? {
        (changes, (job, true)) => Ok((changes, job)),
        (_, (_, false)) => Err(running()),
    };
    let answer = |job: Arc<Job>| AutomationTaskResult { task: task(&job) };
    change(client, schedules, Kind::Task, responder, decide, answer).await;
}

pub(super) async fn delete(
    client: &Client,
    schedules: &Schedules,
    AutomationTaskParams { task_id, .. }: AutomationTaskParams,
    responder: Responder,
) {
    let decide = |book: &Book, _| {
        if book.job(Kind::Task, &task_id)?.state.run.is_some() {
            return Err(running());
        }
        book.remove(Key::new(Kind::Task, task_id))
    };
    let answer = |()| AutomationOkResult { ok: true };
    change(client, schedules, Kind::Task, responder, decide, answer).await;
}

pub(super) fn bind(
    client: &Client,
    schedules: &Schedules,
    params: AutomationTaskUpdateBindingParams,
    responder: Responder,
) {
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let (schedules, task_client) = (schedules.clone(), client.clone());
    client.spawn(async move {
        let bound_to = match bound_to(&task_client, params.thread_binding).await {
            Ok(bound_to) => bound_to,
            Err(refused) => return first.err(wire_error(Kind::Task, &refused.into())),
        };
        let decide = move |book: &Book, now| {
            book.edit(&Key::new(Kind::Task, params.task_id), now, |job| {
                if job.state.run.is_some() {
                    return Err(running());
                }
                if let Some(task) = &mut job.task {
                    task.bound_to = bound_to;
                }
                // The next run must not go on in the Thread of earlier runs.
                job.state.thread = None;
                Ok(())
            })
        };
        let answer = |job: Arc<Job>| AutomationTaskResult { task: task(&job) };
        schedules.submit(decide, reply(first, Kind::Task, answer)).await;
    });
}

pub(super) fn running() -> Refused {
    Refused::NotNow("The task is running; stop the turn in its thread first, or wait for its end.".to_owned())
}

/// Returns the Thread that a task shall be bound to, if it exists and accepts Turns.
pub(super) async fn bound_to(
    client: &Client,
    binding: Option<AutomationThreadBinding>,
) -> Result<Option<ThreadId>, Refused> {
    let Some(binding) = binding.filter(|binding| !binding.thread_id.trim().is_empty()) else {
        return Ok(None);
    };
    let mode = binding.mode.as_deref().unwrap_or(RUN_IN_THREAD);
    if mode != RUN_IN_THREAD {
        return Err(Refused::Invalid(format!(
            "'threadBinding.mode' is \"{RUN_IN_THREAD}\"."
        )));
    }
    let id = ThreadId::new(binding.thread_id.as_str());
    let invalid = || Refused::Binding(binding.thread_id.clone());
    let handle = client.threads().thread(&id).await.map_err(|_| invalid())?;
    let snapshot = client.threads().snapshot(&handle).await.map_err(|_| invalid())?;
    if snapshot.state.header.status == ThreadStatus::Archived {
        return Err(invalid());
    }
    Ok(Some(id))
}

/// Returns the folder's templates, if the user trusts the folder.
async fn of_folder(schedules: &Schedules) -> Vec<Template> {
    let Some(around) = schedules.around() else {
        return Vec::new();
    };
    if !around.trusts_folder().await {
        return Vec::new();
    }
    let root = around.threads.settings().workspace.clone();
    let read = tokio::task::spawn_blocking(move || crate::folder::templates(&root)).await;
    read.unwrap_or_default()
}

pub(super) fn templates(
    client: &Client,
    schedules: &Schedules,
    _: AutomationTemplateListParams,
    responder: Responder,
) {
    let schedules = schedules.clone();
    client.spawn(async move {
        let own = schedules.ask(|book, _| Ok((Vec::new(), book.templates()))).await;
        match own {
            Ok(own) => {
                let mut others = built_in();
                others.extend(of_folder(&schedules).await);
                // A saved template of the user replaces the folder's template of the same id.
                others.retain(|other| own.iter().all(|own| own.id != other.id));
                let others = others.iter().map(|one| template(one, false));
                let own = own.iter().map(|one| template(one, true));
                responder.ok(AutomationTemplateListResult {
                    templates: others.chain(own).collect(),
                });
            }
            Err(error) => refuse(responder, wire_error(Kind::Task, &error)),
        }
    });
}

pub(super) async fn save(
    client: &Client,
    schedules: &Schedules,
    params: AutomationTemplateSaveParams,
    responder: Responder,
) {
    let answer = |saved: Arc<Template>| AutomationTemplateResult {
        template: template(&saved, true),
    };
    let decide = |book: &Book, now| {
        let mut saved = written(params)?;
        let before = book.template(&saved.id);
        saved.created_at = before.map_or(now, |before| before.created_at);
        saved.updated_at = now;
        if let Some(schedule) = &saved.schedule {
            schedule.check(now).map_err(|bad| Refused::Invalid(bad.0))?;
        }
        book.put_template(saved)
    };
    change(client, schedules, Kind::Task, responder, decide, answer).await;
}

pub(super) async fn delete_template(
    client: &Client,
    schedules: &Schedules,
    AutomationTemplateDeleteParams { id, .. }: AutomationTemplateDeleteParams,
    responder: Responder,
) {
    let decide = |_: &Book, _| {
        check_id(&id)?;
        Ok((vec![Change::RemoveTemplate(id)], ()))
    };
    let answer = |()| AutomationOkResult { ok: true };
    change(client, schedules, Kind::Task, responder, decide, answer).await;
}

/// Checks the id of a user's template.
fn check_id(id: &str) -> Result<(), Refused> {
    if !is_id(id) {
        return Err(Refused::Invalid(
            "'id' has letters, digits, '-' and '_', and at most 64 of them.".to_owned(),
        ));
    }
    if is_built_in(id) {
        return Err(Refused::Invalid(format!("'{id}' is a built-in template.")));
    }
    Ok(())
}

/// Converts a template from the wire.
fn written(params: AutomationTemplateSaveParams) -> Result<Template, Refused> {
    let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let id = match given(params.id) {
        Some(id) => id.trim().to_owned(),
        None => format!("user-{}", crate::tool::fresh_id().map_err(Refused::Invalid)?),
    };
    check_id(&id)?;
    let template = Template {
        id,
        title: params.title.trim().to_owned(),
        description: given(params.description),
        icon: given(params.icon),
        category: given(params.category),
        workflow: params.workflow_markdown,
        schedule: schedule_in(params.default_schedule)?,
        approval_policy: given(params.default_approval_policy),
        needs_thread: params.needs_thread_binding.unwrap_or(false),
        task_title: given(params.default_title),
        task_description: given(params.default_description),
        ..Template::default()
    };
    if template.title.is_empty() || template.workflow.trim().is_empty() {
        return Err(Refused::Invalid(
            "'title' and 'workflowMarkdown' are needed.".to_owned(),
        ));
    }
    let short = [
        Some(&template.title),
        template.icon.as_ref(),
        template.category.as_ref(),
        template.approval_policy.as_ref(),
        template.task_title.as_ref(),
    ];
    let long = [template.description.as_ref(), template.task_description.as_ref()];
    let longer = |texts: &[Option<&String>], most: usize| {
        texts.iter().flatten().any(|text| text.chars().count() > most)
    };
    if longer(&short, MAX_NAME) || longer(&long, MAX_MESSAGE) || template.workflow.len() > MAX_WORKFLOW {
        return Err(Refused::Invalid(format!(
            "A template has titles of at most {MAX_NAME} characters, descriptions of at most {MAX_MESSAGE} and a workflow of at \
             most {MAX_WORKFLOW} bytes."
        )));
    }
    Ok(template)
}

/// Converts a task for the wire.
pub(super) fn task(job: &Job) -> AutomationTask {
    let (state, task) = (&job.state, job.task.as_ref());
    let due = state.due.filter(|_| job.enabled);
    let status = match state.last_ok {
        _ if state.run.is_some() || state.wanted_now => AutomationTaskStatus::Running,
        Some(false) => AutomationTaskStatus::Failed,
        Some(true) if due.is_none() => AutomationTaskStatus::Completed,
        None | Some(true) => AutomationTaskStatus::Pending,
    };
    let run = state.run.as_ref().and_then(|run| run.thread.as_ref());
    AutomationTask {
        id: job.id.clone(),
        title: job.name.clone(),
        status,
        thread_id: run.or(state.thread.as_ref()).map(ToString::to_string),
        description: task.map(|task| task.description.clone()),
        agent_summary: state.last_result.clone().or_else(|| state.last_error.clone()),
        created_at: Some(time(job.created_at)),
        updated_at: Some(time(job.updated_at)),
        approval_policy: task.map(|task| task.approval_policy.clone()),
        schedule: job.schedule.as_ref().map(schedule_out),
        thread_binding: task
            .and_then(|task| task.bound_to.as_ref())
            .map(|bound| AutomationThreadBinding {
                thread_id: bound.to_string(),
                mode: Some(RUN_IN_THREAD.to_owned()),
            }),
        next_run_at: due.map(time),
        note: state.note.clone(),
    }
}

/// Converts a template for the wire.
fn template(template: &Template, is_user: bool) -> AutomationTemplate {
    AutomationTemplate {
        id: template.id.clone(),
        title: template.title.clone(),
        description: template.description.clone(),
        icon: template.icon.clone(),
        category: template.category.clone(),
        workflow_markdown: template.workflow.clone(),
        default_schedule: template.schedule.as_ref().map(schedule_out),
        default_workspace_mode: Some("project".to_owned()),
        default_approval_policy: template.approval_policy.clone(),
        needs_thread_binding: Some(template.needs_thread),
        default_title: template.task_title.clone(),
        default_description: template.task_description.clone(),
        is_user: is_user.then_some(true),
        created_at: is_user.then(|| time(template.created_at)),
        updated_at: is_user.then(|| time(template.updated_at)),
    }
}
