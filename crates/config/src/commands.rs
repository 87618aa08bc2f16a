//! `Commands` of both configuration files. A workspace's file can drop variables. Its other settings count only if
//! the user trusts exactly their content.

use anyhow::bail;
use bobbin_children::VariableRules;

use crate::file;
use crate::gate::Gate;

/// Adds the settings of one file. The user's file comes first.
///
/// # Errors
/// A variable has an invalid name or value.
pub(crate) fn add(
    rules: &mut VariableRules,
    said: file::CommandEnvironment,
    gate: &mut Gate<'_>,
) -> anyhow::Result<()> {
    for (name, value) in &said.set {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            bail!("Commands.Environment.Set has {name:?}, which cannot be a variable");
        }
    }
    if !said.set.is_empty() && gate.passes("Commands.Environment.Set") {
        rules.set.extend(said.set);
    }
    if !said.keep.is_empty() && gate.passes("Commands.Environment.Keep") {
        rules.keep.extend(said.keep);
    }
    rules.drop.extend(said.drop);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::check::{Checked, check};
    use bobbin_workspace::TrustRecord;

    fn added(rules: &mut VariableRules, said: &Value, record: Option<&TrustRecord>) -> anyhow::Result<usize> {
        let said = json!({ "Commands": { "Environment": said } });
        let Checked { file, value, .. } = check(said)?;
        let mut gate = match record {
            Some(record) => Gate::of_folder(&value, record),
            None => Gate::of_user(&value),
        };
        add(rules, file.commands.environment, &mut gate)?;
        Ok(gate.into_items().into_iter().filter(|item| !item.trusted).count())
    }

    #[test]
    fn a_folder_only_drops_variables() {
        let said = |name: &str| json!({ "Set": { name: "1" }, "Keep": [name], "Drop": [name] });
        let mut rules = VariableRules::default();
        assert_eq!(added(&mut rules, &said("A"), None).unwrap(), 0);
        let waiting = added(&mut rules, &said("B"), Some(&TrustRecord::default())).unwrap();
        let expected = VariableRules {
            set: [("A".to_owned(), "1".to_owned())].into(),
            keep: vec!["A".to_owned()],
            drop: vec!["A".to_owned(), "B".to_owned()],
        };
        assert_eq!((rules, waiting), (expected, 2));
    }

    #[test]
    fn values_that_mean_nothing_are_errors() {
        for said in [
            json!({ "Set": { "": "x" } }),
            json!({ "Set": { "A=B": "x" } }),
            json!({ "Drop": [""] }),
        ] {
            assert!(
                added(&mut VariableRules::default(), &said, None).is_err(),
                "{said}"
            );
        }
    }
}
