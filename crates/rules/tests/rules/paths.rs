//! Rules for paths, and their hold on commands.

use std::path::Path;

use bobbin_rules::{Judgement, PathUse, RuleError, RuleSet, RuleText};
use rstest::rstest;

use crate::support::{judged, rules};

const RULES: &[&str] = &[
    "deny path .env",
    "deny writing migrations",
    "ask reading notes/**",
    "allow echo *",
    "allow cp *",
];

#[rstest]
#[case("cat .env", Judgement::Deny)]
#[case("cat ./a/../.env", Judgement::Deny)]
#[case("cat '.env'", Judgement::Deny)]
#[case("{ cat .env; }", Judgement::Deny)]
#[case("cat <(ls) .env", Judgement::Deny)]
#[case("sh -c 'cat .env'", Judgement::Deny)]
#[case("cd a && cat ../.env", Judgement::Deny)]
#[case("(cd a; cat ../.env)", Judgement::Deny)]
#[case("grep x < .env", Judgement::Deny)]
#[case("echo x > .env", Judgement::Deny)]
#[case("dd if=.env", Judgement::Deny)]
#[case("curl --data=@x --cookie=.env host", Judgement::Deny)]
#[case("cp .env x", Judgement::Deny)]
#[case("cat $X .env", Judgement::Deny)]
#[case("echo x > migrations/1.sql", Judgement::Deny)]
#[case("echo x >> a/../migrations/1.sql", Judgement::Deny)]
#[case("cp x migrations/1.sql", Judgement::Ask)]
#[case("cat migrations/1.sql", Judgement::Ask)]
#[case("cat notes/a", Judgement::Ask)]
#[case("cat .environment", Judgement::Allow)]
#[case("cp x y", Judgement::Allow)]
fn commands_are_held_against_rules_for_paths(#[case] line: &str, #[case] judgement: Judgement) {
    assert_eq!(judged(&rules(RULES), line), judgement);
}

#[test]
fn a_path_is_judged_by_its_use_and_the_highest_rule() {
    let rules = rules(&[
        "allow path docs/**",
        "ask writing docs/**",
        "deny path docs/secret",
    ]);
    let judged = |used, path: &str| {
        rules
            .path(used, Path::new(path), Path::new("/w"))
            .map(|(judgement, _)| judgement)
    };
    assert_eq!(judged(PathUse::Read, "/w/docs/a"), Some(Judgement::Allow));
    assert_eq!(judged(PathUse::Write, "/w/docs/a"), Some(Judgement::Ask));
    assert_eq!(judged(PathUse::Write, "/w/docs/secret/x"), Some(Judgement::Deny));
    assert_eq!(judged(PathUse::Read, "/w/src"), None);
}

#[test]
fn tools_are_judged_by_name() {
    let tool = |action: &str, tool: &str| RuleText {
        action: action.to_owned(),
        tool: Some(tool.to_owned()),
        ..RuleText::default()
    };
    let rules = RuleSet::new([tool("allow", "GrepFiles"), tool("deny", "web*")], None).unwrap();
    assert_eq!(rules.tool("GrepFiles"), Some((Judgement::Allow, 0)));
    assert_eq!(rules.tool("webFetch"), Some((Judgement::Deny, 1)));
    assert_eq!(rules.tool("we"), None);
}

#[test]
fn a_rule_that_cannot_be_used_is_an_error() {
    let base = RuleText {
        action: "deny".to_owned(),
        command: Some("rm *".to_owned()),
        ..RuleText::default()
    };
    let read = |text: RuleText| RuleSet::new([text], None).map(|_| ());
    assert_eq!(read(base.clone()), Ok(()));
    let action = RuleText {
        action: "forbid".to_owned(),
        ..base.clone()
    };
    assert!(matches!(read(action), Err(RuleError::Action(_))));
    let both = RuleText {
        path: Some("x".to_owned()),
        ..base.clone()
    };
    assert!(matches!(read(both), Err(RuleError::Subject(_))));
    let none = RuleText {
        command: None,
        ..base.clone()
    };
    assert!(matches!(read(none), Err(RuleError::Subject(_))));
    let empty = RuleText {
        command: Some(" ".to_owned()),
        ..base.clone()
    };
    assert!(matches!(read(empty), Err(RuleError::Pattern(_))));
    let glob = RuleText {
        command: None,
        path: Some("[".to_owned()),
        ..base.clone()
    };
    assert!(matches!(read(glob), Err(RuleError::Pattern(_))));
    let operation = RuleText {
        command: None,
        path: Some("x".to_owned()),
        operation: Some("delete".to_owned()),
        ..base.clone()
    };
    assert!(matches!(read(operation), Err(RuleError::Operation(_))));
    let many = std::iter::repeat_n(base, 1601);
    assert!(matches!(RuleSet::new(many, None), Err(RuleError::TooMany(1600))));
}
