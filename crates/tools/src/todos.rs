//! `TodoWrite` and `UpdateTodos`: the steps of the Thread's plan without its texts (AppServer protocol 03 §8; clients
//! know the names). They change nothing on disk, so plan mode has them too.
//!
//! A change is checked against the plan at the time of the call, and applied to the plan at the time of its record.

use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_model::plan::{MAX_TODOS, StepChange, TodoPriority, TodoStatus};
use bobbin_model::{Json, Plan, PlanChange};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;

use super::arguments::{decode, done, failed, spec};
use super::create_plan::{Step, step_schema, todos};

/// One of the two tools.
#[derive(Debug)]
pub(super) struct Todos {
    spec: ToolSpec,
    read: fn(&Json) -> Result<PlanChange, ToolRefusal>,
}

#[derive(Debug, Deserialize)]
struct Written {
    todos: Vec<Step>,
}

#[derive(Debug, Deserialize)]
struct Updated {
    updates: Vec<Update>,
}

#[derive(Debug, Deserialize)]
struct Update {
    id: String,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    priority: Option<TodoPriority>,
    #[serde(default)]
    status: Option<TodoStatus>,
}

impl Todos {
    /// Returns `TodoWrite`.
    pub(super) fn write() -> Self {
        let description = "Shows the user the steps of your work. Send all of them every time. Use it for work of three steps or more: \
                           one step is in_progress at a time, and becomes completed as soon as it is done.";
        Self {
            spec: of("TodoWrite", "todos", description, &["content"]),
            read: written,
        }
    }

    /// Returns `UpdateTodos`.
    pub(super) fn update() -> Self {
        let description = "Changes steps that the user is shown, by their ids: what is left out stays as it is. An id \
                           that is not there yet adds a step at the end, and needs its content.";
        Self {
            spec: of("UpdateTodos", "updates", description, &["id"]),
            read: updated,
        }
    }
}

fn of(name: &'static str, member: &'static str, description: &str, required: &[&str]) -> ToolSpec {
    let properties = serde_json::json!({
        member: { "type": "array", "items": step_schema(required) },
    });
    spec(name, Effect::Reads, description, &[member], &properties)
}

fn written(arguments: &Json) -> Result<PlanChange, ToolRefusal> {
    let Written { todos: steps } = decode(arguments)?;
    todos(steps).map(PlanChange::Todos)
}

fn updated(arguments: &Json) -> Result<PlanChange, ToolRefusal> {
    let Updated { updates } = decode(arguments)?;
    if updates.len() > MAX_TODOS {
        return Err(ToolRefusal::Unusable(format!(
            "a plan has at most {MAX_TODOS} steps"
        )));
    }
    let change = |update: Update| {
        let blank = |text: &str| text.trim().is_empty();
        if blank(&update.id) || update.content.as_deref().is_some_and(blank) {
            return Err(ToolRefusal::Unusable(
                "a step has an id, and its content is not empty".to_owned(),
            ));
        }
        Ok(StepChange {
            id: update.id,
            content: update.content,
            priority: update.priority,
            status: update.status,
        })
    };
    let steps: Result<_, _> = updates.into_iter().map(change).collect();
    steps.map(PlanChange::Steps)
}

impl Tool for Todos {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        arguments: &Json,
        _environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        (self.read)(arguments).map(|change| Box::new(Prepared(change)) as _)
    }
}

struct Prepared(PlanChange);

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        Permission::Free
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            let before = context.plan.plan().await.unwrap_or_default();
            match before.changed(&self.0) {
                Ok(after) => {
                    let mut output = done(result_of(&after));
                    output.plan = Some(self.0);
                    output
                }
                Err(refusal) => failed(refusal.to_string()),
            }
        }
        .boxed()
    }
}

/// Returns the result for the model: its steps with their ids, which the model needs for the next update.
fn result_of(plan: &Plan) -> String {
    let word = |status: TodoStatus| match status {
        TodoStatus::Pending => "pending",
        TodoStatus::InProgress => "in_progress",
        TodoStatus::Completed => "completed",
        TodoStatus::Cancelled => "cancelled",
    };
    let steps = plan.todos.iter();
    let lines: Vec<String> = steps
        .map(|todo| format!("{} [{}] {}", todo.id, word(todo.status), todo.content))
        .collect();
    format!("the steps are shown:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bobbin_agent_api::tool::PlanNow;
    use bobbin_model::Todo;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::Workspace;

    struct Tea;

    impl PlanNow for Tea {
        fn plan(&self) -> BoxFuture<'_, Option<Plan>> {
            let todo = Todo {
                id: "fill".to_owned(),
                content: "Fill the kettle".to_owned(),
                priority: TodoPriority::High,
                status: TodoStatus::Pending,
            };
            let plan = Plan {
                title: "Tea".to_owned(),
                todos: vec![todo],
                ..Plan::default()
            };
            std::future::ready(Some(plan)).boxed()
        }
    }

    async fn call(tool: &Todos, arguments: &Value) -> ToolOutput {
        let workspace = Workspace::new();
        let prepared = tool.prepare(&Workspace::json(arguments), &workspace.environment());
        let context = CallContext {
            plan: Arc::new(Tea),
            ..Workspace::context()
        };
        prepared.unwrap().run(context).await
    }

    #[tokio::test]
    async fn steps_are_replaced_or_changed_by_their_ids() {
        let list = json!({ "todos": [{ "content": "Boil" }, { "id": "pour", "content": "Pour", "status": "completed" }] });
        let output = call(&Todos::write(), &list).await;
        assert_eq!(
            output.text,
            "the steps are shown:\n1 [pending] Boil\npour [completed] Pour"
        );
        assert!(matches!(output.plan, Some(PlanChange::Todos(todos)) if todos.len() == 2));
        let change = json!({ "updates": [{ "id": "fill", "status": "in_progress" }, { "id": "boil", "content": "Boil" }] });
        let output = call(&Todos::update(), &change).await;
        assert_eq!(
            output.text,
            "the steps are shown:\nfill [in_progress] Fill the kettle\nboil [pending] Boil"
        );
        assert!(output.success && output.plan.is_some());
    }

    #[tokio::test]
    async fn a_step_that_is_not_there_is_named_and_nothing_changes() {
        let change = json!({ "updates": [{ "id": "drink", "status": "completed" }] });
        let output = call(&Todos::update(), &change).await;
        assert_eq!(
            output.text,
            "the plan has no step \"drink\"; to add it, say its content"
        );
        assert!(!output.success && output.plan.is_none());
    }

    #[test]
    fn steps_without_id_or_content_are_refused() {
        let workspace = Workspace::new();
        for (tool, todos) in [
            (Todos::write(), json!([{ "content": " " }])),
            (
                Todos::write(),
                json!([{ "content": "a", "id": "2" }, { "content": "b" }]),
            ),
            (Todos::update(), json!([{ "id": "" }])),
            (Todos::update(), json!([{ "id": "a", "content": "" }])),
            (Todos::update(), json!([{ "content": "a" }])),
        ] {
            let arguments = Workspace::json(&json!({ "todos": todos, "updates": todos }));
            assert!(
                tool.prepare(&arguments, &workspace.environment()).is_err(),
                "{todos}"
            );
        }
    }
}
