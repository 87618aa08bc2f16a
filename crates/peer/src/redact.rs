//! Messages as a log may show them: what is secret in one depends on the method it belongs to, and a batch holds many.
//!
//! Works on the text of one message at a time and only where something is to be blanked at all. A batch that holds more than may
//! be looked at is not shown.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::envelope::{Parsed, parse};
use crate::log::Redaction;

/// What a message of ours belongs to, where the log needs to know.
#[derive(Debug, Clone, Default)]
pub(crate) enum Methods {
    /// To what it says itself: it was encoded by someone else, or nothing is to be blanked.
    #[default]
    Own,
    /// To this method, whether it names it or answers it.
    One(Arc<str>),
    /// It is a batch: to these, in the order of its elements.
    Each(Box<[Option<Arc<str>>]>),
}

impl Methods {
    /// Of a batch of messages; a batch that is not to be blanked anywhere needs none.
    pub(crate) fn each(all: impl IntoIterator<Item = Option<Arc<str>>>) -> Self {
        Self::Each(all.into_iter().collect())
    }
}

const HIDDEN: &str = "redacted";

impl Redaction {
    /// The text to log for a message of ours.
    pub(crate) fn outgoing<'t>(&self, methods: &Methods, text: &'t str, max_batch: usize) -> Cow<'t, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        match methods {
            Methods::One(method) => self.apply(Some(method), text),
            Methods::Own => self.message(text, max_batch, |_| None),
            Methods::Each(all) => {
                let Ok(Parsed::Array(elements)) = parse(text, all.len()) else {
                    return Cow::Borrowed(HIDDEN);
                };
                let methods = all.iter().map(|method| method.as_deref().map(Cow::Borrowed));
                self.elements(text, &elements, methods)
            }
        }
    }

    /// The text to log for a message whose elements say what they belong to, or whose ids do.
    pub(crate) fn message<'t>(
        &self,
        text: &'t str,
        max_batch: usize,
        answered: impl Fn(&str) -> Option<String>,
    ) -> Cow<'t, str> {
        match parse(text, max_batch.saturating_add(1)) {
            Ok(Parsed::Array(elements)) => self.batch(text, &elements, max_batch, answered),
            Ok(Parsed::Object(_)) => self.apply(method_of(text, &answered).as_deref(), text),
            Ok(Parsed::Scalar) => Cow::Borrowed(text),
            Err(_) => Cow::Borrowed(HIDDEN),
        }
    }

    /// As [`message`](Self::message), of a batch that has been taken apart already.
    pub(crate) fn batch<'t>(
        &self,
        text: &'t str,
        elements: &[&RawValue],
        max_batch: usize,
        answered: impl Fn(&str) -> Option<String>,
    ) -> Cow<'t, str> {
        // Nobody has looked at the elements of a batch that is refused.
        if elements.len() > max_batch {
            return Cow::Borrowed(HIDDEN);
        }
        let methods = elements.iter().map(|raw| method_of(raw.get(), &answered));
        self.elements(text, elements, methods)
    }

    fn elements<'t, 'm>(
        &self,
        text: &'t str,
        elements: &[&RawValue],
        methods: impl Iterator<Item = Option<Cow<'m, str>>>,
    ) -> Cow<'t, str> {
        let shown: Vec<_> = elements
            .iter()
            .zip(methods)
            .map(|(raw, method)| self.apply(method.as_deref(), raw.get()))
            .collect();
        if shown.len() == elements.len()
            && shown
                .iter()
                .all(|shown| matches!(shown, Cow::Borrowed(text) if *text != HIDDEN))
        {
            return Cow::Borrowed(text);
        }
        Cow::Owned(format!("[{}]", shown.join(",")))
    }
}

/// The method a message belongs to: its own, or that of the call it answers.
fn method_of<'t>(text: &'t str, answered: &impl Fn(&str) -> Option<String>) -> Option<Cow<'t, str>> {
    let Ok(Parsed::Object(envelope)) = parse(text, 0) else {
        return None;
    };
    if let Some(method) = envelope.method() {
        return Some(Cow::Owned(method.into_owned()));
    }
    answered(envelope.id()?).map(Cow::Owned)
}
