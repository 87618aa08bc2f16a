//! A workspace that exists in the mind only, and rules in one line each.

use std::path::{Component, Path, PathBuf};

use bobbin_rules::{Judgement, Place, Places, RuleSet, RuleText, Standing, Verdict};

/// `/w`, without symbolic links.
pub(crate) struct Mind;

impl Places for Mind {
    fn root(&self) -> &Path {
        Path::new("/w")
    }

    fn find(&self, directory: &Path, text: &str) -> Option<Place> {
        if text.is_empty() || text.contains('\0') {
            return None;
        }
        let mut path = PathBuf::new();
        for part in directory.join(text).components() {
            match part {
                Component::ParentDir => {
                    path.pop();
                }
                Component::CurDir => {}
                other => path.push(other),
            }
        }
        let standing = match path.strip_prefix("/w") {
            Err(_) => Standing::Outside,
            Ok(inside) if inside.starts_with(".git") || inside.starts_with(".craft") => Standing::Reserved,
            Ok(_) => Standing::Inside,
        };
        Some(Place { path, standing })
    }
}

/// Reads rules: `deny git push`, `deny path .env`, `ask writing docs/**`.
pub(crate) fn rules(lines: &[&str]) -> RuleSet {
    let texts = lines.iter().map(|line| {
        let (action, rest) = line.split_once(' ').unwrap();
        let mut text = RuleText {
            action: action.to_owned(),
            source: "test".to_owned(),
            ..RuleText::default()
        };
        for (start, operation) in [
            ("path ", None),
            ("reading ", Some("read")),
            ("writing ", Some("write")),
        ] {
            if let Some(path) = rest.strip_prefix(start) {
                text.path = Some(path.to_owned());
                text.operation = operation.map(str::to_owned);
                return text;
            }
        }
        text.command = Some(rest.to_owned());
        text
    });
    RuleSet::new(texts, Some(Path::new("/home/mika"))).unwrap()
}

pub(crate) fn verdict(rules: &RuleSet, line: &str) -> Verdict {
    rules.command(line, &Mind)
}

pub(crate) fn judged(rules: &RuleSet, line: &str) -> Judgement {
    verdict(rules, line).judgement
}
