//! Messages as a log may show them. The secret members depend on the message's method, and a batch has several
//! messages.
//!
//! Works on the text of one message at a time, and only if anything is to be blanked. A batch over the limit is not
//! shown.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::envelope::{Parsed, parse};
use crate::log::Redaction;

/// The method that an outgoing message belongs to, if the log needs it.
#[derive(Debug, Clone, Default)]
pub(crate) enum Methods {
    /// The message itself says it: the caller encoded it, or nothing is to be blanked.
    #[default]
    Own,
    /// This method, for a call or an answer.
    One(Arc<str>),
    /// A batch: these methods, in the order of its elements.
    Each(Box<[Option<Arc<str>>]>),
}

impl Methods {
    /// Returns the methods of a batch; a batch with nothing to blank needs none.
    pub(crate) fn each(all: impl IntoIterator<Item = Option<Arc<str>>>) -> Self {
        Self::Each(all.into_iter().collect())
    }
}

const HIDDEN: &str = "redacted";

impl Redaction {
    /// Returns the text to log for an outgoing message.
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

    /// Returns the text to log for a message whose elements or ids say their methods.
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

    /// As [`message`](Self::message), for a batch that is already split.
    pub(crate) fn batch<'t>(
        &self,
        text: &'t str,
        elements: &[&RawValue],
        max_batch: usize,
        answered: impl Fn(&str) -> Option<String>,
    ) -> Cow<'t, str> {
        // The elements of a refused batch were not read.
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

/// Returns the method of a message: its own, or that of the call it answers.
fn method_of<'t>(text: &'t str, answered: &impl Fn(&str) -> Option<String>) -> Option<Cow<'t, str>> {
    let Ok(Parsed::Object(envelope)) = parse(text, 0) else {
        return None;
    };
    if let Some(method) = envelope.method() {
        return Some(Cow::Owned(method.into_owned()));
    }
    answered(envelope.id()?).map(Cow::Owned)
}
