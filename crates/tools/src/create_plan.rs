//! `CreatePlan`: replaces the Thread's plan (AppServer protocol 02 §5.10, 03 §8; clients know the name). It changes
//! nothing on disk, so plan mode has it too.

use std::collections::HashSet;

use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_model::plan::{MAX_TODOS, Todo, TodoPriority, TodoStatus};
use bobbin_model::{Json, Plan, PlanChange};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;

use super::arguments::{decode, done, spec};

#[derive(Debug)]
pub(super) struct CreatePlan {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    #[serde(default)]
    title: String,
    #[serde(default)]
    overview: String,
    #[serde(default)]
    plan: String,
    todos: Vec<Step>,
}

/// A step as a model writes it.
#[derive(Debug, Deserialize)]
pub(super) struct Step {
    #[serde(default)]
    id: Option<String>,
    content: String,
    #[serde(default)]
    priority: TodoPriority,
    #[serde(default)]
    status: TodoStatus,
}

impl CreatePlan {
    pub(super) fn new() -> Self {
        let spec = spec(
            bobbin_model::plan::CREATE_PLAN,
            Effect::Reads,
            "Shows your plan to the user, who decides about it; it replaces the one before. Send it whole, when you \
             have explored enough to name the files to change and the steps.",
            &["todos"],
            &serde_json::json!({
                "title": { "type": "string" },
                "overview": { "type": "string", "description": "One paragraph." },
                "plan": { "type": "string", "description": "The plan itself, Markdown." },
                "todos": { "type": "array", "items": step_schema(&["content"]) },
            }),
        );
        Self { spec }
    }
}

impl Tool for CreatePlan {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        arguments: &Json,
        _environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        plan(decode(arguments)?).map(|plan| Box::new(Prepared(plan)) as _)
    }
}

fn plan(arguments: Arguments) -> Result<Plan, ToolRefusal> {
    Ok(Plan {
        todos: todos(arguments.todos)?,
        title: arguments.title,
        overview: arguments.overview,
        content: arguments.plan,
    })
}

/// Returns steps in the form of a plan.
///
/// # Errors
/// There are too many, one is empty, or two have one id; the text is for the model.
pub(super) fn todos(steps: Vec<Step>) -> Result<Vec<Todo>, ToolRefusal> {
    if steps.len() > MAX_TODOS {
        return Err(ToolRefusal::Unusable(format!(
            "a plan has at most {MAX_TODOS} steps"
        )));
    }
    let mut taken = HashSet::new();
    let mut todos = Vec::with_capacity(steps.len());
    for (index, step) in steps.into_iter().enumerate() {
        if step.content.trim().is_empty() {
            return Err(ToolRefusal::Unusable(format!(
                "step {} of the plan is empty",
                index + 1
            )));
        }
        let id = step
            .id
            .filter(|id| !id.is_empty())
            .unwrap_or_else(|| (index + 1).to_string());
        if !taken.insert(id.clone()) {
            return Err(ToolRefusal::Unusable(format!(
                "two steps of the plan have the id {id}"
            )));
        }
        todos.push(Todo {
            id,
            content: step.content,
            priority: step.priority,
            status: step.status,
        });
    }
    Ok(todos)
}

/// Returns the JSON Schema of one step.
pub(super) fn step_schema(required: &[&str]) -> serde_json::Value {
    serde_json::json!({
        "type": "object",
        "properties": {
            "id": { "type": "string" },
            "content": { "type": "string" },
            "priority": { "enum": ["high", "medium", "low"] },
            "status": { "enum": ["pending", "in_progress", "completed", "cancelled"] },
        },
        "required": required,
    })
}

struct Prepared(Plan);

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        Permission::Free
    }

    fn run(self: Box<Self>, _context: CallContext) -> BoxFuture<'static, ToolOutput> {
        let steps = self.0.todos.len();
        let is_done = |todo: &&Todo| todo.status == TodoStatus::Completed;
        let finished = self.0.todos.iter().filter(is_done).count();
        let mut output = done(format!("the plan is shown ({steps} steps, {finished} completed)"));
        output.plan = Some(PlanChange::Whole(self.0));
        std::future::ready(output).boxed()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Workspace;

    #[tokio::test]
    async fn steps_get_ids_and_defaults() {
        let arguments = json!({ "todos": [{ "content": "a" }, { "content": "b", "status": "completed" }] });
        let output = Workspace::new().call(&CreatePlan::new(), arguments).await;
        let Some(PlanChange::Whole(plan)) = output.plan else {
            panic!("no plan")
        };
        assert_eq!(plan.todos[0].id, "1");
        assert_eq!(plan.todos[1].status, TodoStatus::Completed);
        assert_eq!(output.text, "the plan is shown (2 steps, 1 completed)");
    }

    #[test]
    fn a_plan_with_equal_ids_or_empty_steps_is_refused() {
        let workspace = Workspace::new();
        for todos in [
            json!([{ "content": " " }]),
            json!([{ "content": "a", "id": "2" }, { "content": "b" }]),
            json!([{ "content": "a", "status": "someday" }]),
            json!("a"),
        ] {
            let arguments = Workspace::json(&json!({ "todos": todos }));
            assert!(
                CreatePlan::new()
                    .prepare(&arguments, &workspace.environment())
                    .is_err(),
                "{todos}"
            );
        }
    }
}
