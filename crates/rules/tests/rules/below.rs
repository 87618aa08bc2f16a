//! What lies below the directories that a command reads, held against rules for paths.

use bobbin_rules::Judgement::{self, Allow, Ask, Deny};
use rstest::rstest;

use crate::support::{judged, rules, verdict};

const RULES: &[&str] = &[
    "deny path **/.env",
    "deny reading secrets/**",
    "allow grep *",
    "allow rg *",
    "allow ag *",
    "allow git grep *",
    "allow git add *",
    "allow cp *",
    "allow ls *",
    "allow lint *",
    "allow cargo *",
];

#[rstest]
#[case("grep -r key .", Ask)]
#[case("grep -rn key .", Ask)]
#[case("grep key -r .", Ask)]
#[case("grep --recursive key .", Ask)]
#[case("grep --recurs key .", Ask)]
#[case("grep -d recurse key .", Ask)]
#[case("grep -r key", Ask)]
#[case("grep -rn key", Ask)]
#[case("grep -r -e key", Ask)]
#[case("grep -r -A 3 src", Ask)]
#[case("grep -r key app", Ask)]
#[case("grep -r key ./docs/../app", Ask)]
#[case("grep -r key docs app", Ask)]
#[case("grep -r key /w", Ask)]
#[case("grep -r key /", Ask)]
#[case("grep -r key $PWD", Ask)]
#[case("cd app && grep -r key", Ask)]
#[case("cd app && grep -r key .", Ask)]
#[case("cd docs; grep -r key ..", Ask)]
#[case("grep -R key docs sub", Ask)]
#[case("rg --hidden key", Ask)]
#[case("rg -uu key", Ask)]
#[case("rg -. key", Ask)]
#[case("rg key secrets", Ask)]
#[case("git grep key", Ask)]
#[case("git grep key -- .", Ask)]
#[case("cp -r . /tmp/x", Ask)]
#[case("git add .", Ask)]
#[case("lint .", Ask)]
#[case("lint --root=.", Ask)]
#[case("sh -c 'grep -r key .'", Ask)]
#[case("grep -r key .env", Deny)]
#[case("grep -r key secrets/key", Deny)]
#[case("cat app/*", Ask)]
// Nothing that is kept back lies there.
#[case("grep -r key src", Allow)]
#[case("grep -rn key src docs", Allow)]
#[case("cd docs && grep -r key", Allow)]
#[case("rg -n key src", Allow)]
#[case("ag key docs", Allow)]
#[case("lint src", Allow)]
#[case("cp -r src out", Allow)]
#[case("cargo test", Allow)]
// Names are no contents.
#[case("ls -R .", Allow)]
#[case("grep key src/lib.rs", Allow)]
fn a_directory_with_what_is_kept_back_is_asked_about(#[case] line: &str, #[case] judgement: Judgement) {
    let verdict = verdict(&rules(RULES), line);
    assert_eq!(verdict.judgement, judgement, "{line}: {verdict:#?}");
}

#[test]
fn a_searcher_that_leaves_out_hidden_files_is_taken_at_its_word() {
    let rules = rules(&["deny path **/.env", "allow rg *", "allow grep *"]);
    for (line, judgement) in [
        ("rg key", Allow),
        ("rg key app", Allow),
        ("rg --no-ignore key", Ask),
        ("rg -u key", Ask),
        ("rg -L key sub", Ask),
        ("grep -r key", Ask),
    ] {
        assert_eq!(judged(&rules, line), judgement, "{line}");
    }
}

/// Where nobody is asked, a line that may have passed by a rule is not run; others are (see `Policy::command`).
#[test]
fn what_shows_the_files_below_may_have_passed_by_a_rule() {
    let rules = rules(RULES);
    for line in ["grep -r key .", "rg --hidden key", "git grep key"] {
        assert!(!verdict(&rules, line).is_whole(), "{line}");
    }
    for line in ["lint .", "git add .", "grep -r key src", "rg key src"] {
        assert!(verdict(&rules, line).is_whole(), "{line}");
    }
}

#[test]
fn rules_against_writing_say_nothing_of_what_is_read() {
    let rules = rules(&["deny writing **/.env", "allow grep *"]);
    assert_eq!(judged(&rules, "grep -r key ."), Allow);
}
