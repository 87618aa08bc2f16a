//! The rulings of a policy about a path that links lead to.

use std::path::Path;

use bobbin_agent_api::policy::{Judgement, PathAccess, Policy, Ruling};

use crate::Trace;

/// Returns a policy's ruling about a resolved path, or about a name that leads to it where that one is stricter: a link in
/// place of `.vscode` does not take the question away.
pub fn ruling(policy: &dyn Policy, access: PathAccess, trace: &Trace, root: &Path) -> Option<Ruling> {
    let names = trace
        .names
        .iter()
        .filter_map(|name| policy.path(access, name, root));
    // No name allows what it leads to.
    let strict = names.filter(|named| named.judgement != Judgement::Allow);
    let real = policy.path(access, &trace.path, root);
    strict.fold(real, |strictest, named| match strictest {
        Some(strictest) if rank(&strictest) >= rank(&named) => Some(strictest),
        _ => Some(named),
    })
}

/// A question of a rule is asked each time, so it comes before others.
fn rank(ruling: &Ruling) -> u8 {
    match ruling.judgement {
        Judgement::Allow => 0,
        Judgement::Ask if ruling.rule.is_none() => 1,
        Judgement::Ask => 2,
        Judgement::Deny => 3,
    }
}
