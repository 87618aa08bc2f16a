//! The plan of a Thread: one current snapshot, replaced whole (AppServer protocol 02 §2.8).

use serde::{Deserialize, Serialize};

/// The tool that makes a plan, as clients know it. If it was the last call of a Turn in plan mode, the plan waits
/// for the user's confirmation (02 §2.6).
pub const CREATE_PLAN: &str = "CreatePlan";

/// Most steps of a plan (a guess: no user reads more).
pub const MAX_TODOS: usize = 200;

/// A plan with its to-do list. Empty texts mean "no such part".
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "PlanSnapshot")
)]
pub struct Plan {
    /// One line.
    #[serde(default)]
    pub title: String,
    /// A paragraph.
    #[serde(default)]
    pub overview: String,
    /// The plan itself, Markdown.
    #[serde(default)]
    pub content: String,
    /// The steps.
    #[serde(default)]
    pub todos: Vec<Todo>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "PlanTodo")
)]
pub struct Todo {
    /// Id, unique in the plan.
    pub id: String,
    /// What to do.
    pub content: String,
    /// Priority.
    #[serde(default)]
    pub priority: TodoPriority,
    /// Progress.
    #[serde(default)]
    pub status: TodoStatus,
}

/// Priority of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TodoPriority {
    /// Do it first.
    High,
    /// Ordinary.
    #[default]
    Medium,
    /// Do it when there is time.
    Low,
}

/// Progress of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not started.
    #[default]
    Pending,
    /// Started.
    InProgress,
    /// Done.
    Completed,
    /// Abandoned.
    Cancelled,
}

/// A change of a plan. It is applied to the plan that is current when the change is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanChange {
    /// Replaces the plan.
    Whole(Plan),
    /// Replaces its steps; the rest stays.
    Todos(Vec<Todo>),
    /// Changes some of its steps and appends new ones.
    Steps(Vec<StepChange>),
}

/// A change of one step. Absent members stay as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepChange {
    /// The step; an unknown id makes a new step.
    pub id: String,
    /// What to do; a new step needs it.
    pub content: Option<String>,
    /// Priority.
    pub priority: Option<TodoPriority>,
    /// Progress.
    pub status: Option<TodoStatus>,
}

/// Why a plan cannot be changed. The text is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanRefusal {
    /// A new step has no content.
    #[error("the plan has no step {0:?}; to add it, say its content")]
    NoStep(String),
    /// The plan would have too many steps.
    #[error("a plan has at most {MAX_TODOS} steps")]
    TooLong,
}

impl Plan {
    /// Returns the plan after a change.
    ///
    /// # Errors
    /// [`PlanRefusal`]; the plan stays unchanged.
    pub fn changed(&self, change: &PlanChange) -> Result<Self, PlanRefusal> {
        let plan = match change {
            PlanChange::Whole(plan) => plan.clone(),
            PlanChange::Todos(todos) => Self {
                todos: todos.clone(),
                ..self.clone()
            },
            PlanChange::Steps(steps) => {
                let mut plan = self.clone();
                for step in steps {
                    plan.step(step)?;
                }
                plan
            }
        };
        if plan.todos.len() > MAX_TODOS {
            return Err(PlanRefusal::TooLong);
        }
        Ok(plan)
    }

    fn step(&mut self, change: &StepChange) -> Result<(), PlanRefusal> {
        let known = self.todos.iter_mut().find(|todo| todo.id == change.id);
        match (known, &change.content) {
            (Some(todo), content) => {
                if let Some(content) = content {
                    todo.content.clone_from(content);
                }
                todo.priority = change.priority.unwrap_or(todo.priority);
                todo.status = change.status.unwrap_or(todo.status);
            }
            (None, Some(content)) => self.todos.push(Todo {
                id: change.id.clone(),
                content: content.clone(),
                priority: change.priority.unwrap_or_default(),
                status: change.status.unwrap_or_default(),
            }),
            (None, None) => return Err(PlanRefusal::NoStep(change.id.clone())),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn todo(id: &str, content: &str) -> Todo {
        Todo {
            id: id.to_owned(),
            content: content.to_owned(),
            priority: TodoPriority::High,
            status: TodoStatus::Pending,
        }
    }

    fn step(id: &str, content: Option<&str>, status: Option<TodoStatus>) -> StepChange {
        StepChange {
            id: id.to_owned(),
            content: content.map(ToOwned::to_owned),
            priority: None,
            status,
        }
    }

    #[test]
    fn steps_change_where_they_are_and_new_ones_come_last() {
        let plan = Plan {
            title: "Tea".to_owned(),
            todos: vec![todo("fill", "Fill"), todo("boil", "Boil")],
            ..Plan::default()
        };
        let change = PlanChange::Steps(vec![
            step("fill", None, Some(TodoStatus::Completed)),
            step("pour", Some("Pour"), None),
            step("boil", Some("Boil twice"), None),
        ]);
        let changed = plan.changed(&change).unwrap();
        assert_eq!(changed.title, "Tea");
        let steps: Vec<_> = changed
            .todos
            .iter()
            .map(|todo| (&*todo.id, &*todo.content, todo.status))
            .collect();
        let expected = [
            ("fill", "Fill", TodoStatus::Completed),
            ("boil", "Boil twice", TodoStatus::Pending),
            ("pour", "Pour", TodoStatus::Pending),
        ];
        assert_eq!(steps, expected);
        assert_eq!(changed.todos[0].priority, TodoPriority::High);
        let unknown = PlanChange::Steps(vec![step("drink", None, None)]);
        assert_eq!(
            plan.changed(&unknown),
            Err(PlanRefusal::NoStep("drink".to_owned()))
        );
        let list = PlanChange::Todos(vec![todo("a", "A")]);
        assert_eq!(plan.changed(&list).unwrap().title, "Tea");
        let first = StepChange {
            priority: Some(TodoPriority::Low),
            ..step("fill", None, None)
        };
        let changed = plan.changed(&PlanChange::Steps(vec![first])).unwrap();
        assert_eq!(changed.todos[0].priority, TodoPriority::Low);
        let full = PlanChange::Todos((0..MAX_TODOS).map(|n| todo(&n.to_string(), "x")).collect());
        assert!(plan.changed(&full).is_ok());
        let long = PlanChange::Todos((0..=MAX_TODOS).map(|n| todo(&n.to_string(), "x")).collect());
        assert_eq!(plan.changed(&long), Err(PlanRefusal::TooLong));
    }
}
