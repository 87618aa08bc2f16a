//! All rules of a workspace. Deny beats ask beats allow, whatever their order.

use std::path::{Path, PathBuf};

use crate::head::head;
use crate::pattern::{PathPattern, Reach, RefusedPlace};
use crate::rule::Kind;
use crate::single_program::is_single_program;
use crate::work::Work;
use crate::{Judgement, PathUse, Places, Rule, RuleError, RuleText, Verdict, judge, project};

/// Most rules in a set.
const MAX_RULES: usize = 1600;

/// The rules in force. Immutable.
#[derive(Debug, Default)]
pub struct RuleSet {
    rules: Vec<Rule>,
    home: Option<PathBuf>,
}

impl RuleSet {
    /// Parses rules; `home` replaces `~`.
    ///
    /// # Errors
    /// A rule cannot be used, or there are too many. No rule is left out: a typing error must not disable a
    /// refusing rule.
    pub fn new(rules: impl IntoIterator<Item = RuleText>, home: Option<&Path>) -> Result<Self, RuleError> {
        let mut read = Vec::new();
        for rule in rules {
            if read.len() == MAX_RULES {
                return Err(RuleError::TooMany(MAX_RULES));
            }
            read.push(Rule::new(rule, home)?);
        }
        Ok(Self {
            rules: read,
            home: home.map(Path::to_owned),
        })
    }

    /// Returns these rules with further ones that allow, as `--allow` takes them.
    ///
    /// # Errors
    /// As [`RuleSet::new`].
    pub fn allowing(&self, texts: &[String]) -> Result<Self, RuleError> {
        if self.rules.len() + texts.len() > MAX_RULES {
            return Err(RuleError::TooMany(MAX_RULES));
        }
        let mut rules = self.rules.clone();
        for text in texts {
            rules.push(Rule::new(RuleText::allowing(text), self.home())?);
        }
        Ok(Self {
            rules,
            home: self.home.clone(),
        })
    }

    /// Returns all rules; [`Because::Rule`](crate::Because::Rule) is an index into them.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns the home directory that `~` stands for.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Whether there is a rule that refuses commands or paths.
    pub fn refuses(&self) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| rule.judgement == Judgement::Deny && !matches!(rule.subject.0, Kind::Tool(_)))
    }

    /// Judges a command line that a shell would run in the workspace.
    pub fn command(&self, line: &str, places: &dyn Places) -> Verdict {
        let verdict = judge::line(self, line, places);
        Verdict {
            head: head(line, places).filter(|_| verdict.ambiguities.is_empty()),
            project_programs: (verdict.judgement == Judgement::Ask && !verdict.loses)
                .then(|| project::programs(line, places))
                .flatten(),
            single_program: verdict.ambiguities.is_empty() && is_single_program(line),
            ..verdict
        }
    }

    /// Returns the rules' judgement of a resolved path, and the deciding rule.
    pub fn path(&self, used: PathUse, path: &Path, root: &Path) -> Option<(Judgement, usize)> {
        self.highest(|kind| match kind {
            Kind::Path(operation, pattern) => {
                operation.is_none_or(|operation| operation == used) && pattern.covers(path, root)
            }
            _ => false,
        })
    }

    /// Returns the places that a rule refuses to have read.
    pub fn refused(&self, root: &Path) -> Vec<RefusedPlace> {
        self.unread().map(|pattern| pattern.place(root)).collect()
    }

    /// Returns whether a rule for this very path refuses to have it read. Rules for directories that contain it do not
    /// count: a search that goes down from there has met them.
    pub fn refuses_entry(&self, path: &Path, root: &Path) -> bool {
        self.unread().any(|pattern| pattern.fits(path, root))
    }

    /// Returns the patterns of paths that a rule refuses to have read.
    fn unread(&self) -> impl Iterator<Item = &PathPattern> {
        self.rules.iter().filter_map(|rule| match &rule.subject.0 {
            Kind::Path(used, pattern)
                if rule.judgement == Judgement::Deny && *used != Some(PathUse::Write) =>
            {
                Some(pattern)
            }
            _ => None,
        })
    }

    /// Returns the rules' judgement of a tool, and the deciding rule. `*` and `?` are ordinary characters in tool
    /// names, but a rule's name that ends with `*` covers all names with that prefix.
    pub fn tool(&self, name: &str) -> Option<(Judgement, usize)> {
        self.highest(|kind| match kind {
            Kind::Tool(wanted) => match wanted.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => name == wanted,
            },
            _ => false,
        })
    }

    /// Returns the first rule with this judgement that fits a command.
    pub(crate) fn command_rule(
        &self,
        judgement: Judgement,
        command: &[&str],
        reach: Reach,
        work: &Work,
    ) -> Option<usize> {
        self.rules.iter().position(|rule| {
            rule.judgement == judgement
                && matches!(&rule.subject.0, Kind::Command(pattern) if pattern.fits(command, reach, work))
        })
    }

    fn highest(&self, speaks: impl Fn(&Kind) -> bool) -> Option<(Judgement, usize)> {
        let found = self
            .rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| speaks(&rule.subject.0));
        // The first of the highest: `max_by_key` returns the last, so the order is reversed.
        found
            .rev()
            .max_by_key(|(_, rule)| rule.judgement)
            .map(|(at, rule)| (rule.judgement, at))
    }
}
