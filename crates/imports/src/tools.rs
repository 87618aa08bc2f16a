//! Names of Claude Code's tools, and the tools of ours that do the same.

/// Their tools. A rule about one of theirs is about all of ours beside it.
const TOOLS: &[(&str, &[&str])] = &[
    ("Bash", &["Exec", "WriteTerminal"]),
    ("BashOutput", &["ReadTerminal"]),
    ("KillShell", &["StopTerminal"]),
    ("Read", &["ReadFile", "ViewImage"]),
    ("Write", &["WriteFile", "ApplyPatch"]),
    ("Edit", &["EditFile", "WriteFile", "ApplyPatch"]),
    ("MultiEdit", &["EditFile", "WriteFile", "ApplyPatch"]),
    ("Grep", &["GrepFiles"]),
    ("Glob", &["FindFiles"]),
    ("LS", &["FindFiles"]),
    ("WebFetch", &["WebFetch"]),
    ("WebSearch", &["WebSearch"]),
    ("Task", &["SpawnAgent"]),
    ("Agent", &["SpawnAgent"]),
    ("TodoWrite", &["TodoWrite", "UpdateTodos"]),
    ("AskUserQuestion", &["AskUser"]),
    ("Skill", &["SkillView"]),
];

/// Returns our tools for one of theirs; none if there is no such tool here.
pub(crate) fn ours(theirs: &str) -> &'static [&'static str] {
    let found = TOOLS.iter().find(|(name, _)| *name == theirs);
    found.map_or(&[], |(_, ours)| ours)
}
