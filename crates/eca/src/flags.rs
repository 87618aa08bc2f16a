//! Bookmarks in a chat (21.3): labels of its Thread, named by the content that they stand behind.
//!
//! A flag has an id of its own, so that it can be taken away and forked from; one content has one flag at most.

use std::collections::BTreeMap;

use bobbin_core::{Command, CoreError, Reply, ThreadHandle};
use tokio::sync::oneshot;

use crate::wire::content::{ChatContent, Content};

/// What a flag's label begins with.
const LABEL: &str = "eca.flag:";
/// What a flag's id begins with; the rest is the id of the content it stands behind.
const ID: &str = "flag:";

/// Returns the id of the content that an id means: a flag's is that of the content it stands behind.
pub(crate) fn content_of(id: &str) -> &str {
    id.strip_prefix(ID).unwrap_or(id)
}

/// Puts a flag behind a content, or (`None`) takes it away.
pub(crate) async fn put(handle: &ThreadHandle, content: &str, text: Option<String>) -> Result<(), CoreError> {
    let (done, put) = oneshot::channel();
    let reply: Reply<()> = Box::new(move |result| drop(done.send(result)));
    let name = format!("{LABEL}{}", content_of(content));
    let value = text;
    handle.send(Command::Label { name, value, reply }).await;
    put.await.unwrap_or(Err(CoreError::Stopping))
}

/// Puts a chat's flags into what is told of it, each behind the last that its content says.
pub(crate) fn placed(told: Vec<ChatContent>, labels: &BTreeMap<String, String>) -> Vec<ChatContent> {
    let mut behind: BTreeMap<usize, Vec<ChatContent>> = BTreeMap::new();
    for (label, text) in labels {
        let Some(content) = label.strip_prefix(LABEL) else {
            continue;
        };
        let is_its = |told: &ChatContent| matches!(told, ChatContent::Content(_, content_told) if content_told.id() == Some(content));
        if let Some(last) = told.iter().rposition(is_its) {
            let flag = Content::Flag {
                text: text.clone(),
                content_id: format!("{ID}{content}"),
            };
            behind.entry(last).or_default().push(flag.into());
        }
    }
    let mut out = Vec::with_capacity(told.len() + behind.len());
    for (index, one) in told.into_iter().enumerate() {
        out.push(one);
        out.extend(behind.remove(&index).into_iter().flatten());
    }
    out
}
