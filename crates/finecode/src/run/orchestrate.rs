//! Carries out a plan: one call, segments one after the other, or groups side by side.

use std::collections::HashMap;
use std::sync::Arc;

use bobbin_finecode_wire::Json;
use serde_json::value::RawValue;

use super::call::{Call, SegmentCall, protocol};
use super::{Delivery, Outcome, Status, all_parts};
use crate::conn::Conn;
use crate::error::RunError;
use crate::files::Action;
use crate::host::Inner;
use crate::plan::{self, Plan, plan};
use crate::project::Project;
use crate::wire::RunAnswer;

/// The runners of a run, by environment.
type Runners = HashMap<String, Arc<Conn>>;

/// One run in one project.
struct Run<'a> {
    inner: &'a Inner,
    delivery: &'a Delivery<'a>,
    action: &'a Action,
    payload: &'a RawValue,
    runners: Runners,
}

impl Inner {
    /// Starts the runners of an action, all at once, and runs it as planned.
    pub(crate) async fn orchestrate(
        self: &Arc<Self>,
        delivery: &Delivery<'_>,
        project: &Arc<Project>,
        action: &Action,
        payload: &RawValue,
    ) -> Result<Outcome, RunError> {
        let envs = plan::envs(action);
        let started = all_parts(envs.iter().map(|env| self.runner(project, env))).await?;
        let run = Run {
            inner: self,
            delivery,
            action,
            payload,
            runners: envs.iter().cloned().zip(started).collect(),
        };
        // Unresolved counts as sequential.
        let concurrent = project.meta(action).is_some_and(|meta| meta.runs_concurrently);
        match plan(action, concurrent) {
            Plan::Nothing => Ok(Outcome {
                status: Status::NoHandlers,
                json: None,
                text: None,
                return_code: Some(0),
            }),
            Plan::Whole(env) => run.whole(&env).await,
            Plan::Sequence(segments) => run.sequence(&segments).await,
            Plan::Groups(groups) => run.groups(&groups).await,
        }
    }
}

impl Run<'_> {
    fn conn(&self, env: &str) -> Result<&Arc<Conn>, RunError> {
        let missing = || RunError::Configuration(format!("no runner of {env} was started"));
        self.runners.get(env).ok_or_else(missing)
    }

    async fn whole(&self, env: &str) -> Result<Outcome, RunError> {
        let conn = self.conn(env)?;
        let call = Call {
            conn,
            action: &self.action.name,
            payload: self.payload,
            formats: &self.delivery.context.formats,
            segment: None,
            progress: true,
        };
        let (answer, _) = self.inner.call(self.delivery, call).await?;
        self.outcome(conn, answer)
    }

    async fn sequence(&self, segments: &[plan::Segment]) -> Result<Outcome, RunError> {
        let (mut previous, mut context) = (None::<Json>, None::<Json>);
        for (at, segment) in segments.iter().enumerate() {
            let conn = self.conn(&segment.env)?;
            let last = at + 1 == segments.len();
            let call = Call {
                conn,
                action: &self.action.name,
                payload: self.payload,
                formats: if last { &self.delivery.context.formats } else { &[] },
                segment: Some(SegmentCall {
                    handlers: &segment.handlers,
                    previous: previous.as_deref(),
                    context: context.as_deref(),
                }),
                progress: last,
            };
            let (mut answer, partials) = self.inner.call(self.delivery, call).await?;
            if last || answer.status == "stopped" {
                return self.outcome(conn, answer);
            }
            context = answer.context.take();
            // A segment without a result of its own passes on what it got.
            previous = self.chained(conn, &mut answer, &partials).await?.or(previous);
        }
        Err(RunError::Configuration("the action has no handlers".to_owned()))
    }

    /// Returns the result of a segment. Published runners leave it out when they stream, so it is made of what they sent.
    async fn chained(
        &self,
        conn: &Conn,
        answer: &mut RunAnswer,
        partials: &[Json],
    ) -> Result<Option<Json>, RunError> {
        match answer.result.take() {
            Some(result) => Ok(Some(result)),
            None if partials.is_empty() => Ok(None),
            None => self
                .inner
                .merge(conn, &self.action.name, partials)
                .await
                .map(Some),
        }
    }

    async fn groups(&self, groups: &[plan::Segment]) -> Result<Outcome, RunError> {
        let group = |group: &'_ plan::Segment| {
            let (env, handlers) = (group.env.clone(), group.handlers.clone());
            async move {
                let conn = self.conn(&env)?;
                let call = Call {
                    conn,
                    action: &self.action.name,
                    payload: self.payload,
                    formats: &[],
                    segment: Some(SegmentCall {
                        handlers: &handlers,
                        ..SegmentCall::default()
                    }),
                    progress: true,
                };
                let (mut answer, partials) = self.inner.call(self.delivery, call).await?;
                let result = self.chained(conn, &mut answer, &partials).await?;
                Ok((conn, answer, result))
            }
        };
        let ended = all_parts(groups.iter().map(group)).await?;
        let stopped = ended.iter().any(|(_, answer, _)| answer.status == "stopped");
        let code = ended.iter().fold(0, |code, (_, answer, _)| code | answer.code);
        let (Some((first, _, _)), Some((last, _, _))) = (ended.first(), ended.last()) else {
            return Err(RunError::Configuration("the action has no handlers".to_owned()));
        };
        let (first, last) = ((*first).clone(), (*last).clone());
        let results: Vec<Json> = ended.into_iter().filter_map(|(_, _, result)| result).collect();
        if results.is_empty() {
            return Ok(Outcome {
                status: if stopped { Status::Stopped } else { Status::Success },
                json: None,
                text: None,
                return_code: Some(code),
            });
        }
        let merged = self.inner.merge(&first, &self.action.name, &results).await?;
        let mut outcome = self.formatted(&last, &merged).await?;
        outcome.return_code = outcome.return_code.map(|own| own | code);
        if stopped {
            outcome.status = Status::Stopped;
        } else if self.delivery.any() {
            outcome.status = Status::Streamed;
        }
        Ok(outcome)
    }

    /// Has a runner format a result: a segment without handlers.
    async fn formatted(&self, conn: &Arc<Conn>, result: &RawValue) -> Result<Outcome, RunError> {
        let call = Call {
            conn,
            action: &self.action.name,
            payload: self.payload,
            formats: &self.delivery.context.formats,
            segment: Some(SegmentCall {
                previous: Some(result),
                ..SegmentCall::default()
            }),
            progress: false,
        };
        let (answer, _) = self.inner.call(self.delivery, call).await?;
        self.outcome(conn, answer)
    }

    fn outcome(&self, conn: &Conn, answer: RunAnswer) -> Result<Outcome, RunError> {
        let RunAnswer {
            status,
            formats,
            code,
            result,
            ..
        } = answer;
        let streamed = self.delivery.any();
        let status = match status.as_str() {
            "stopped" => Status::Stopped,
            "streamed" => Status::Streamed,
            // Partial results of an earlier segment came, or the whole result comes beside the partial ones.
            "success" if streamed => Status::Streamed,
            "success" => Status::Success,
            other => {
                return Err(protocol(
                    conn,
                    format!("it ended a run with the status {other:?}"),
                ));
            }
        };
        if formats.is_empty() && result.is_none() && status == Status::Success {
            return Err(protocol(
                conn,
                "it answered with success and without a result".to_owned(),
            ));
        }
        // Published runners report 0 for whatever was streamed.
        let known = status != Status::Streamed || code != 0 || !formats.is_empty();
        Ok(Outcome {
            status,
            json: formats.json.or(result),
            text: formats.text,
            return_code: known.then_some(code),
        })
    }
}
