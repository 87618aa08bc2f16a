//! An action of a program: the type of its payload and result, and its handlers.
//!
//! Types end here: the rest of the crate sees JSON and functions on it.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::call::{Call, RawCall};
use crate::{Json, schema};

/// The result of an action.
pub trait ActionResult: Serialize + DeserializeOwned + Send + 'static {
    /// Adds what another handler, or another partial result, has found.
    fn merge(&mut self, other: Self);

    /// Returns it as text for the user.
    fn text(&self) -> String;

    /// Returns 0 if all is well.
    fn return_code(&self) -> i64 {
        0
    }
}

/// What a handler has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done<R> {
    /// It returns this result.
    Result(R),
    /// It has sent everything as partial results, or has none.
    Nothing,
    /// It ends the whole run with this result.
    Stop(R),
}

/// Why a handler failed: a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(pub String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

pub(crate) type RawHandler =
    Arc<dyn Fn(RawCall) -> BoxFuture<'static, Result<Done<Json>, Failure>> + Send + Sync>;

/// An action without its types.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) canonical: String,
    pub(crate) aliases: Vec<String>,
    pub(crate) concurrent: bool,
    pub(crate) parent: Option<(String, String)>,
    pub(crate) schema: Value,
    pub(crate) handlers: HashMap<String, RawHandler>,
    /// Merges results; `None` for none.
    pub(crate) merge: fn(&[&RawValue]) -> Result<Option<Json>, Failure>,
    /// Returns the text and the return code of a result.
    pub(crate) render: fn(&RawValue) -> Result<(String, i64), Failure>,
}

/// An action with payload `P` and result `R`.
pub struct Action<P, R> {
    pub(crate) entry: Entry,
    types: PhantomData<fn(P) -> R>,
}

impl<P, R> Action<P, R>
where
    P: DeserializeOwned + JsonSchema + Send + 'static,
    R: ActionResult,
{
    /// Returns an action without handlers. `canonical` is its import path.
    pub fn new(canonical: &str) -> Self {
        let entry = Entry {
            canonical: canonical.to_owned(),
            aliases: Vec::new(),
            concurrent: false,
            parent: None,
            schema: schema::of::<P>(),
            handlers: HashMap::new(),
            merge: merge::<R>,
            render: render::<R>,
        };
        Self {
            entry,
            types: PhantomData,
        }
    }

    /// Adds another import path.
    #[must_use]
    pub fn alias(mut self, source: &str) -> Self {
        self.entry.aliases.push(source.to_owned());
        self
    }

    /// Has the handlers run side by side; their results are merged.
    #[must_use]
    pub fn concurrent(mut self) -> Self {
        self.entry.concurrent = true;
        self
    }

    /// Makes it the variant for a language of another action.
    #[must_use]
    pub fn for_language(mut self, parent: &str, language: &str) -> Self {
        self.entry.parent = Some((parent.to_owned(), language.to_owned()));
        self
    }

    /// Adds a handler. `source` is its import path.
    #[must_use]
    pub fn handler<F, Fut>(mut self, source: &str, handler: F) -> Self
    where
        F: Fn(Call<P, R>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Done<R>, Failure>> + Send + 'static,
    {
        let raw: RawHandler = Arc::new(move |call| {
            let done = handler(Call::new(call));
            async move {
                Ok(match done.await? {
                    Done::Result(result) => Done::Result(to_raw_value(&result)?),
                    Done::Nothing => Done::Nothing,
                    Done::Stop(result) => Done::Stop(to_raw_value(&result)?),
                })
            }
            .boxed()
        });
        self.entry.handlers.insert(source.to_owned(), raw);
        self
    }
}

fn merge<R: ActionResult>(results: &[&RawValue]) -> Result<Option<Json>, Failure> {
    let mut merged: Option<R> = None;
    for result in results {
        let next = serde_json::from_str(result.get())?;
        match &mut merged {
            Some(merged) => merged.merge(next),
            None => merged = Some(next),
        }
    }
    Ok(merged.map(|merged| to_raw_value(&merged)).transpose()?)
}

fn render<R: ActionResult>(result: &RawValue) -> Result<(String, i64), Failure> {
    let result: R = serde_json::from_str(result.get())?;
    Ok((result.text(), result.return_code()))
}
