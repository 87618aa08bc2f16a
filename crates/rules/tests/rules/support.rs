//! A workspace that exists in the mind only, and rules in one line each.

use std::path::{Component, Path, PathBuf};

use bobbin_rules::{
    Judgement, LeavesOut, Look, PathStatus, Places, ResolvedPath, RuleSet, RuleText, Verdict,
};

/// `/w`, with two symbolic links: one into the workspace and one out of it.
pub(crate) struct Mind;

/// Each file that lies somewhere below.
const FILES: &[&str] = &[
    "/w/.env",
    "/w/src/lib.rs",
    "/w/src/deep/.env.local",
    "/w/app/.env",
    "/w/docs/plan.md",
    "/w/secrets/key",
];

/// Each link and where it leads.
const LINKS: &[(&str, &str)] = &[
    ("/w/alias", "/w/sub/deep/er"),
    ("/w/sub/leak", "/etc/passwd"),
    ("/dev/fd", "/proc/self/fd"),
];

impl Places for Mind {
    fn root(&self) -> &Path {
        Path::new("/w")
    }

    fn find(&self, directory: &Path, text: &str) -> Option<ResolvedPath> {
        if text.is_empty() || text.contains('\0') {
            return None;
        }
        let mut path = PathBuf::new();
        let mut through_processes = false;
        for part in directory.join(text).components() {
            match part {
                Component::ParentDir => {
                    path.pop();
                }
                Component::CurDir => {}
                Component::Normal(part) if part == "cwd" && path.starts_with("/proc") => {
                    path = directory.to_owned();
                }
                other => path.push(other),
            }
            if let Some((_, to)) = LINKS.iter().find(|(from, _)| path == Path::new(from)) {
                path = PathBuf::from(to);
            }
            through_processes |= path.starts_with("/proc");
        }
        let status = match path.strip_prefix("/w") {
            _ if through_processes => PathStatus::Unknown,
            Err(_) => PathStatus::Outside,
            Ok(inside) if inside.starts_with(".git") || inside.starts_with(".craft") => PathStatus::Reserved,
            Ok(_) => PathStatus::Inside,
        };
        Some(ResolvedPath { path, status })
    }

    fn is_directory(&self, path: &Path) -> bool {
        let links = LINKS.iter().map(|(from, _)| from);
        FILES
            .iter()
            .chain(links)
            .any(|file| Path::new(file) != path && Path::new(file).starts_with(path))
    }

    fn names(&self, directory: &Path) -> Option<Vec<String>> {
        let links = LINKS.iter().map(|(from, _)| from);
        let inside = FILES.iter().chain(links).filter_map(|file| {
            let inside = Path::new(file).strip_prefix(directory).ok()?;
            Some(inside.iter().next()?.to_string_lossy().into_owned())
        });
        Some(inside.collect())
    }

    fn is_reserved(&self, path: &Path) -> bool {
        path.starts_with("/w/.git") || path.starts_with("/w/.craft")
    }

    fn is_plain_repository(&self) -> bool {
        true
    }

    fn contains(&self, directory: &Path, look: Look, fits: &dyn Fn(&Path) -> bool) -> bool {
        let links = || {
            LINKS
                .iter()
                .any(|(from, _)| Path::new(from).starts_with(directory))
        };
        let mut below = FILES
            .iter()
            .map(Path::new)
            .filter(|file| file.starts_with(directory));
        (look.links && links())
            || below.any(|file| {
                let is_hidden = file.to_string_lossy().contains("/.");
                fits(file) && (look.leaves_out == LeavesOut::Nothing || !is_hidden)
            })
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
