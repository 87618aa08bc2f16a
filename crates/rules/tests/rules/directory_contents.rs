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
    "allow tar *",
    "allow zip *",
    "allow rsync *",
    "allow rga *",
    "allow ug *",
    "allow pcre2grep *",
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
#[case("git grep key HEAD", Ask)]
#[case("git grep key HEAD src", Ask)]
#[case("git grep key src HEAD:", Ask)]
#[case("git grep key HEAD -- '*'", Ask)]
#[case("git grep -- key HEAD", Ask)]
#[case("git grep key -- ':(top)'", Ask)]
#[case("git -C app grep key HEAD", Ask)]
#[case("git grep key app", Ask)]
#[case("rg -r x key", Ask)]
#[case("rg -nr x secrets/key", Deny)]
#[case("rg --hidden -E utf-8 key", Ask)]
#[case("rg --hidden -e key", Ask)]
#[case("rg --hidden key -e src", Ask)]
#[case("rg --hidden key $src", Ask)]
#[case("rg --hidden -- key", Ask)]
#[case("rg --regexp=key --hidden", Ask)]
#[case("rga key secrets", Ask)]
#[case("ug key", Ask)]
#[case("pcre2grep -r key docs sub", Ask)]
#[case("pcre2grep --recursive key sub", Ask)]
#[case("rg -g '#x' key secrets", Ask)]
#[case("grep -R key sub", Ask)]
#[case("cp -rL sub out", Ask)]
#[case("cp -r --dereference sub out", Ask)]
#[case("tar -chf out.tar sub", Ask)]
#[case("tar chf out.tar sub", Ask)]
#[case("rsync -aL sub out", Ask)]
#[case("rsync -a --copy-links sub out", Ask)]
#[case("zip -r out.zip sub", Ask)]
#[case("cp -r . /tmp/x", Ask)]
#[case("git add .", Ask)]
#[case("lint .", Ask)]
#[case("lint --root=.", Ask)]
#[case("sh -c 'grep -r key .'", Ask)]
#[case("grep -r key .env", Deny)]
#[case("grep -r key secrets/key", Deny)]
#[case("cat app/.*", Deny)]
#[case("shopt -s dotglob; cat app/*", Deny)]
// Nothing that is kept back lies there.
#[case("grep -r key src", Allow)]
#[case("grep -rn key src docs", Allow)]
#[case("cd docs && grep -r key", Allow)]
#[case("rg -n key src", Allow)]
#[case("ag key docs", Allow)]
#[case("rg -. -r x key docs", Allow)]
#[case("rg -A3 -m1 --color=never key src", Allow)]
#[case("rg -S key src", Allow)]
#[case("grep -rn -e key src", Allow)]
#[case("grep -rn -C2 --include='*.rs' key src", Allow)]
#[case("grep -rn -5 key src", Allow)]
#[case("grep -rn -- key src", Allow)]
#[case("grep -rf patterns docs sub", Allow)]
#[case("git grep key src", Allow)]
#[case("git grep -n key -- src docs/plan.md", Allow)]
#[case("cp -r sub out", Allow)]
#[case("tar -cf out.tar sub", Allow)]
#[case("tar --exclude=x -cf out.tar sub", Allow)]
#[case("rsync -a sub out", Allow)]
#[case("zip -ry out.zip sub", Allow)]
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
    let rules = rules(&["deny path **/.env", "allow rg *", "allow ag *", "allow grep *"]);
    for (line, judgement) in [
        ("rg key", Allow),
        ("rg key app", Allow),
        ("rg --no-ignore key", Ask),
        ("rg -u key", Ask),
        ("rg -L key sub", Ask),
        ("grep -r key", Ask),
        // What fits a glob or a type is read although it is hidden.
        ("rg -tsh key", Ask),
        ("rg -t sh key", Ask),
        ("rg -ntsh key", Ask),
        ("rg --type=sh key", Ask),
        ("rg --type sh key", Ask),
        ("rg -g '*' key", Ask),
        ("rg -g'*' key", Ask),
        ("rg --glob '.e*' key", Ask),
        ("rg --glob='.en?' key", Ask),
        ("rg --iglob '.E*' key", Ask),
        ("rg -g '*.rs' -g '*.ENV' key", Ask),
        ("rg -g '*.{rs,env}' key", Ask),
        ("rg -g '.env*/' key", Ask),
        ("rg --regexp '--glob=*.rs' -tsh key", Ask),
        ("rg -g '.env ' key", Ask),
        ("rg --ignore-file lift key", Ask),
        ("rg -Tsh key", Allow),
        ("rg --type-not=sh key", Allow),
        ("rg -g '!*.lock' key", Allow),
        ("rg '--glob=!target' key", Allow),
        ("rg -g '*.rs' key", Allow),
        ("rg -g 'src/**/*.rs' -g '!x' key", Allow),
        ("rg -. -g '*.rs' key", Allow),
        ("ag key", Allow),
        ("ag -S key", Allow),
        ("ag -U key", Ask),
        ("ag -u key", Ask),
        ("ag -a key", Ask),
        ("ag --hid key", Ask),
        ("ag --hi key", Ask),
        ("ag --unr key", Ask),
        ("ag --skip-v key", Ask),
        ("ag -f key sub", Ask),
    ] {
        assert_eq!(judged(&rules, line), judgement, "{line}");
    }
}

#[test]
fn a_link_may_lead_to_what_lies_elsewhere() {
    let rules = rules(&["deny reading secrets/**", "allow rg *", "allow cp *"]);
    for (line, judgement) in [
        ("rg key sub", Allow),
        ("rg -L key sub", Ask),
        ("cp -rL sub out", Ask),
        ("cp -rL docs out", Allow),
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
