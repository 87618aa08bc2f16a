//! Decides the calls of a run from the handlers of its action. Pure.

use crate::files::Action;

/// Handlers of one environment, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) env: String,
    pub(crate) handlers: Vec<String>,
}

/// The calls of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Plan {
    /// None: the action has no handlers.
    Nothing,
    /// One `actions/run` in this environment.
    Whole(String),
    /// One `actions/runHandlers` after the other.
    Sequence(Vec<Segment>),
    /// All side by side, then merged.
    Groups(Vec<Segment>),
}

/// Returns the environments that an action needs, in order.
pub(crate) fn envs(action: &Action) -> Vec<String> {
    let mut envs: Vec<String> = Vec::new();
    for handler in &action.handlers {
        if !envs.contains(&handler.env) {
            envs.push(handler.env.clone());
        }
    }
    envs
}

/// Returns the plan of a run.
pub(crate) fn plan(action: &Action, concurrent: bool) -> Plan {
    match envs(action).as_slice() {
        [] => Plan::Nothing,
        [env] => Plan::Whole(env.clone()),
        envs if concurrent => Plan::Groups(envs.iter().map(|env| group(action, env)).collect()),
        _ => Plan::Sequence(segments(action)),
    }
}

fn group(action: &Action, env: &str) -> Segment {
    let here = action.handlers.iter().filter(|handler| handler.env == env);
    Segment {
        env: env.to_owned(),
        handlers: here.map(|handler| handler.name.clone()).collect(),
    }
}

/// Returns neighbours of one environment together, in the declared order.
fn segments(action: &Action) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    for handler in &action.handlers {
        match segments.last_mut() {
            Some(last) if last.env == handler.env => last.handlers.push(handler.name.clone()),
            _ => segments.push(Segment {
                env: handler.env.clone(),
                handlers: vec![handler.name.clone()],
            }),
        }
    }
    segments
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::files::{Catalog, normalize};

    fn action(handlers: &[(&str, &str)]) -> Action {
        let handlers: Vec<_> = handlers
            .iter()
            .map(|(name, env)| json!({ "name": name, "env": env, "source": format!("x.{name}") }))
            .collect();
        let table =
            normalize(json!({ "action": { "spell": { "source": "x.Spell", "handlers": handlers } } }));
        let (catalog, problems) = Catalog::read(&table, &[]);
        assert_eq!(problems, []);
        catalog.actions[0].clone()
    }

    fn shown(plan: Plan) -> String {
        let segments = |segments: Vec<Segment>| {
            let texts = segments
                .iter()
                .map(|one| format!("({}: {})", one.env, one.handlers.join(", ")));
            texts.collect::<Vec<_>>().join(" ")
        };
        match plan {
            Plan::Nothing => "nothing".to_owned(),
            Plan::Whole(env) => format!("whole {env}"),
            Plan::Sequence(all) => format!("sequence {}", segments(all)),
            Plan::Groups(all) => format!("groups {}", segments(all)),
        }
    }

    type Layout = (
        &'static [(&'static str, &'static str)],
        &'static str,
        &'static str,
    );

    #[test]
    fn row_08_segments_and_groups_follow_the_layout_of_the_handlers() {
        let cases: [Layout; 5] = [
            (&[], "nothing", "nothing"),
            (&[("a", "tools"), ("b", "tools")], "whole tools", "whole tools"),
            (
                &[("a", "tools"), ("b", "tools"), ("c", "docs")],
                "sequence (tools: a, b) (docs: c)",
                "groups (tools: a, b) (docs: c)",
            ),
            (
                &[("a", "tools"), ("c", "docs"), ("b", "tools")],
                "sequence (tools: a) (docs: c) (tools: b)",
                "groups (tools: a, b) (docs: c)",
            ),
            (
                &[("c", "docs"), ("a", "tools")],
                "sequence (docs: c) (tools: a)",
                "groups (docs: c) (tools: a)",
            ),
        ];
        for (handlers, sequential, concurrent) in cases {
            let action = action(handlers);
            assert_eq!(shown(plan(&action, false)), sequential);
            assert_eq!(shown(plan(&action, true)), concurrent);
        }
    }
}
