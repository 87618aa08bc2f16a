//! Templates that come with a folder: `.craft/automations/templates/ID/template.md`, and tasks as other servers write them,
//! `.craft/tasks/ID/task.md` with `workflow.md` beside it (AppServer protocol 05 §12).
//!
//! Clients see them once the folder is trusted. A user makes a job from a template; no file makes one, schedules one or grants
//! it rights. Blocks on the disk, and reads the files anew each time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::job::{MAX_MESSAGE, MAX_NAME, cut};
use crate::prompt::{front_matter, read};
use crate::task::{WORKFLOW, is_id};
use crate::template::{MAX_TEMPLATES, Template, is_built_in};

const TEMPLATES: &str = ".craft/automations/templates";
const TASKS: &str = ".craft/tasks";

/// Returns the ids of a folder's templates.
pub fn folder_templates(root: &Path) -> impl Iterator<Item = String> {
    templates(root).into_iter().map(|template| template.id)
}

/// Returns the templates of a folder, by their ids. Leaves out files that cannot be read.
pub(crate) fn templates(root: &Path) -> Vec<Template> {
    let tasks = directories(&root.join(TASKS)).filter_map(|(id, path)| task(id, &path));
    let templates = directories(&root.join(TEMPLATES)).filter_map(|(id, path)| template(id, &path));
    let all = tasks.chain(templates);
    let by_id: BTreeMap<String, Template> = all.map(|template| (template.id.clone(), template)).collect();
    by_id.into_values().take(MAX_TEMPLATES).collect()
}

/// Returns the directories in `path` whose names are ids of templates; symbolic links are left out.
fn directories(path: &Path) -> impl Iterator<Item = (String, PathBuf)> + use<> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .filter(|(id, _)| is_id(id) && !is_built_in(id))
        .take(MAX_TEMPLATES)
}

fn template(id: String, path: &Path) -> Option<Template> {
    let text = read(&path.join("template.md")).ok()?;
    let (fields, workflow) = front_matter(&text);
    let field = |name| field(&fields, name);
    (!workflow.trim().is_empty()).then(|| Template {
        title: field("title").unwrap_or_else(|| id.clone()),
        description: field("description"),
        icon: field("icon"),
        category: field("category"),
        workflow: workflow.to_owned(),
        task_title: field("title"),
        id,
        ..Template::default()
    })
}

fn task(id: String, path: &Path) -> Option<Template> {
    let text = read(&path.join("task.md")).ok()?;
    let (fields, description) = front_matter(&text);
    let workflow = read(&path.join("workflow.md")).ok();
    let description = Some(cut(description.trim(), MAX_MESSAGE)).filter(|text| !text.is_empty());
    let title = field(&fields, "title");
    (workflow.is_some() || description.is_some()).then(|| Template {
        title: title.clone().unwrap_or_else(|| id.clone()),
        description: description.clone(),
        workflow: workflow.unwrap_or_else(|| WORKFLOW.to_owned()),
        task_title: title,
        task_description: description,
        id,
        ..Template::default()
    })
}

/// Returns a text field, cut to the length of a title.
fn field(fields: &BTreeMap<String, Value>, name: &str) -> Option<String> {
    let text = fields.get(name)?.as_str()?.trim();
    (!text.is_empty()).then(|| cut(text, MAX_NAME))
}
