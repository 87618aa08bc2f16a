//! Bookmarks in a chat (21.3): labels of its Thread, named by the content that they follow.
//!
//! A flag has its own id, so that clients can remove it and fork from it. A content has at most one flag.

use std::collections::BTreeMap;

use bobbin_core::{Command, CoreError, Reply, ThreadHandle};
use tokio::sync::oneshot;

use crate::wire::content::{ChatContent, Content};

/// Prefix of a flag's label.
const LABEL: &str = "eca.flag:";
/// Prefix of a flag's id. The rest is the id of the content that it follows.
const ID: &str = "flag:";

/// Returns the id of the content that an id means. A flag's id means the content that it follows.
pub(crate) fn content_of(id: &str) -> &str {
    id.strip_prefix(ID).unwrap_or(id)
}

/// Sets the flag of a content, or removes it (`None`).
pub(crate) async fn put(handle: &ThreadHandle, content: &str, text: Option<String>) -> Result<(), CoreError> {
    let (done, put) = oneshot::channel();
    let reply: Reply<()> = Box::new(move |result| drop(done.send(result)));
    let name = format!("{LABEL}{}", content_of(content));
    let value = text;
    handle.send(Command::Label { name, value, reply }).await;
    put.await.unwrap_or(Err(CoreError::Stopping))
}

/// Inserts a chat's flags into its contents, each after the last message with its content's id.
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
