//! The paths of subagents: `/root` is the top of a tree, and each subagent adds its name (07 §6.10).
//!
//! A name follows from the nickname and from the older subagents of the same parent, so it never changes.

use bobbin_core::{Closed, CoreError, ThreadSummary, Threads};
use bobbin_model::{Refusal, ThreadHeader, ThreadId};

/// The path of the Thread that is no subagent.
const ROOT: &str = "/root";
/// The name of a subagent without a usable nickname.
const UNNAMED: &str = "agent";

/// Returns the names of a Thread's subagents, which must be all, the oldest first.
pub(super) fn names<'a>(children: impl IntoIterator<Item = &'a ThreadHeader>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for child in children {
        let nickname = child
            .source
            .sub_agent()
            .and_then(|source| source.nickname.as_deref());
        let name = name(nickname.unwrap_or_default());
        let is_free = |name: &String| !names.contains(name) && name != "root";
        let counted = (2..).map(|count| format!("{name}_{count}"));
        let mut all = std::iter::once(name.clone()).chain(counted);
        names.extend(all.find(is_free));
    }
    names
}

/// Returns a nickname in the letters of names: lower case, digits and `_`.
fn name(nickname: &str) -> String {
    let lower = nickname.to_lowercase();
    let parts = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let name = parts
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("_");
    if name.is_empty() { UNNAMED.to_owned() } else { name }
}

/// Returns the path of a Thread.
///
/// # Errors
/// [`CoreError::Store`], [`Refusal::ThreadNotFound`].
pub(super) async fn of(threads: &Threads, id: &ThreadId) -> Result<String, CoreError> {
    let mut path = Vec::new();
    let mut at = id.clone();
    while let Some(state) = threads.stored(&at).await?
        && let Some(source) = state.header.source.sub_agent()
    {
        let children = threads.children(&source.parent, Closed::Included).await?;
        let names = names(children.iter().map(|child| &child.header));
        let named = children
            .iter()
            .zip(names)
            .find(|(child, _)| child.header.id == at);
        path.extend(named.map(|(_, name)| name));
        at = source.parent.clone();
    }
    let path = path.into_iter().rev().map(|name| format!("/{name}"));
    Ok(ROOT.to_owned() + &path.collect::<String>())
}

/// A subagent and the way to it.
pub(super) struct Found {
    /// The subagent.
    pub(super) child: ThreadSummary,
    /// Its name.
    pub(super) name: String,
    /// Its path.
    pub(super) path: String,
}

/// Finds a subagent by its path, absolute or from `parent`, or by the id of its Thread.
///
/// # Errors
/// [`Refusal::Invalid`] for a blank target, for `parent` and for the top; [`Refusal::ThreadNotFound`];
/// [`CoreError::Store`].
pub(super) async fn find(threads: &Threads, parent: &ThreadId, target: &str) -> Result<Found, CoreError> {
    let target = target.trim();
    if target.is_empty() {
        return Err(Refusal::Invalid("'target' must not be blank.".into()).into());
    }
    let unknown = || CoreError::from(Refusal::ThreadNotFound(ThreadId::new(target)));
    let from = threads.stored(parent).await?;
    let from = from.ok_or_else(|| CoreError::from(Refusal::ThreadNotFound(parent.clone())))?;
    let own = of(threads, parent).await?;
    let by_id = threads.stored(&ThreadId::new(target)).await?;
    let path = match by_id {
        Some(state) if state.header.root() == from.header.root() => of(threads, &state.header.id).await?,
        _ if target.starts_with('/') => target.to_owned(),
        _ => format!("{own}/{target}"),
    };
    let mut names_left = path
        .strip_prefix(ROOT)
        .ok_or_else(unknown)?
        .split('/')
        .skip(1)
        .peekable();
    if path == own || names_left.peek().is_none() {
        return Err(
            Refusal::Invalid("'target' must be another agent than the top and the parent.".into()).into(),
        );
    }
    let mut at = from.header.root().clone();
    loop {
        let next = names_left.next().ok_or_else(unknown)?;
        let children = threads.children(&at, Closed::Included).await?;
        let names = names(children.iter().map(|child| &child.header));
        let found = children.into_iter().zip(names).find(|(_, name)| name == next);
        let (child, name) = found.ok_or_else(unknown)?;
        if names_left.peek().is_none() {
            return Ok(Found { child, name, path });
        }
        at = child.header.id;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nickname_becomes_a_name() {
        for (nickname, expected) in [
            ("scout", "scout"),
            ("The Tea-Taster 2", "the_tea_taster_2"),
            ("茶", "agent"),
            ("", "agent"),
        ] {
            assert_eq!(name(nickname), expected);
        }
    }
}
