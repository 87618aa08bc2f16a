//! The plan of a Thread: one current snapshot, replaced whole (AppServer protocol 02 §2.8).

use serde::{Deserialize, Serialize};

/// The tool that makes a plan, as clients know it. Where it was the last call of a Turn in plan mode, the plan waits
/// for a word (02 §2.6).
pub const CREATE_PLAN: &str = "CreatePlan";

/// Most steps of a plan (guess: nobody reads more).
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
    /// Unique in its plan.
    pub id: String,
    /// What is to be done.
    pub content: String,
    /// How much it matters.
    #[serde(default)]
    pub priority: TodoPriority,
    /// How far it is.
    #[serde(default)]
    pub status: TodoStatus,
}

/// How much a step matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TodoPriority {
    /// First.
    High,
    /// Ordinary.
    #[default]
    Medium,
    /// When there is time.
    Low,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
}

/// What becomes of a plan. Applied to the plan there is when it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanChange {
    /// It is replaced.
    Whole(Plan),
    /// Its steps are replaced; what else it says stays.
    Todos(Vec<Todo>),
    /// Some of its steps change, and others are added behind them.
    Steps(Vec<StepChange>),
}

/// A change of one step: what is left out stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepChange {
    /// The step; an id that is not there yet makes a new one.
    pub id: String,
    /// What is to be done; a new step needs it.
    pub content: Option<String>,
    /// How much it matters.
    pub priority: Option<TodoPriority>,
    /// How far it is.
    pub status: Option<TodoStatus>,
}

/// Why a plan cannot be changed so. The text is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanRefusal {
    /// A new step says nothing.
    #[error("the plan has no step {0:?}; to add it, say its content")]
    NoStep(String),
    /// There would be too many steps.
    #[error("a plan has at most {MAX_TODOS} steps")]
    TooLong,
}

impl Plan {
    /// Returns the plan after a change.
    ///
    /// # Errors
    /// [`PlanRefusal`]; the plan stays as it is.
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
