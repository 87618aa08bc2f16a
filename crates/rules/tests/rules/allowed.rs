//! What runs without a question, and what is asked about although it looks as if it could.

use bobbin_rules::{Ambiguity, Because, Judgement, RuleSet};
use rstest::rstest;

use crate::support::{judged, rules, verdict};

#[rstest]
#[case("ls")]
#[case("ls -la src")]
#[case("ls  -1  .")]
#[case("ls\tsrc")]
#[case("pwd")]
#[case("cat src/lib.rs")]
#[case("cat 'src/lib.rs' \"src/main.rs\"")]
#[case("cat -n src/lib.rs src/../src/lib.rs")]
#[case("head -5 src/lib.rs")]
#[case("head -n 5 src/lib.rs")]
#[case("tail -n +2 src/lib.rs")]
#[case("tail -n -2 src/lib.rs")]
#[case("head -c 4k src/lib.rs")]
#[case("head -c1M src/lib.rs")]
#[case("tail -c100 src/lib.rs")]
#[case("wc -lw src/lib.rs")]
#[case("wc -l < src/lib.rs")]
#[case("cat a=b")]
#[case("cat src/lib.rs | grep -n 'fn main' | head -5")]
#[case("ls src && cat src/lib.rs; pwd")]
#[case("cd src && cat lib.rs 2>/dev/null")]
#[case("cd src && cd .. && cat src/lib.rs")]
#[case("cat missing 2>&1 || pwd")]
#[case("nice -n 5 cat src/lib.rs")]
#[case("timeout 5 sh -c 'cat src/lib.rs'")]
#[case("command ls\n")]
#[case("ls *")]
#[case("ls ?")]
#[case("ls [a-z]")]
#[case("ls # x")]
fn plain_reads_run(#[case] line: &str) {
    let verdict = verdict(&RuleSet::default(), line);
    assert_eq!(verdict.judgement, Judgement::Allow, "{verdict:?}");
    assert_eq!(verdict.because, Because::PlainRead);
}

#[rstest]
#[case("")]
#[case(" ")]
#[case("cat")]
#[case("cat -")]
#[case("cat --")]
#[case("ls /")]
#[case("cat /etc/passwd")]
#[case("cat ../x")]
#[case("cat src/../../x")]
#[case("cd .. && cat w/x")]
#[case("cd src; cat ../../x")]
#[case("cd src && cat ../../x")]
#[case("cd missing; cat ../x")]
#[case("cd src || cd /etc; cat passwd")]
#[case("true || cd src && cat ../x")]
#[case("cd -")]
#[case("cd")]
#[case("cd .craft && ls")]
#[case("ls ~")]
#[case("cat ~root/x")]
#[case("cat $HOME/x")]
#[case("cat ${HOME}")]
#[case("cat `id`")]
#[case("cat $(id)")]
#[case("ls {a,b}")]
#[case("ls; make")]
#[case("ls & make")]
#[case("ls &")]
#[case("ls && make")]
#[case("ls | sh")]
#[case("ls || make")]
#[case("ls > x")]
#[case("ls >> x")]
#[case("ls &> /dev/null")]
#[case("ls |& cat")]
#[case("cat < /etc/passwd")]
#[case("cat <(id)")]
#[case("ls\nmake")]
#[case("ls\rmake")]
#[case("ls \\\n/etc")]
#[case("! ls")]
#[case("A=b ls")]
#[case("PATH=. ls")]
#[case("LD_PRELOAD=./x.so ls")]
#[case("env LD_PRELOAD=./x.so ls")]
#[case("./ls")]
#[case("/bin/ls")]
#[case("LS")]
#[case("cat .craft/bobbin.db")]
#[case("ls .craft")]
#[case("cat .git/config")]
#[case("tail -f src/lib.rs")]
#[case("tail -n src/lib.rs")]
#[case("head -n x src/lib.rs")]
#[case("head -n 5x src/lib.rs")]
#[case("head -n + src/lib.rs")]
#[case("head -n k src/lib.rs")]
#[case("head -c4G src/lib.rs")]
#[case("head -n '' src/lib.rs")]
#[case("tail --pid=1 src/lib.rs")]
#[case("wc --files0-from=list")]
#[case("grep -f list x")]
#[case("grep x /etc/passwd")]
#[case("grep x")]
#[case("cat =id")]
#[case("pwd -P")]
#[case("less src/lib.rs")]
#[case("rm src/lib.rs")]
#[case("сat src/lib.rs")] // a Cyrillic first letter
#[case("cat src/lib.rs\0")]
#[case("cat\u{a0}src/lib.rs")]
#[case("cat src/lib.rs\u{202e}")]
fn everything_else_is_asked_about(#[case] line: &str) {
    let verdict = verdict(&RuleSet::default(), line);
    assert_eq!(verdict.judgement, Judgement::Ask, "{verdict:?}");
}

#[test]
fn a_rule_allows_what_it_says_and_no_more() {
    let rules = rules(&[
        "allow cargo test *",
        "allow git log *",
        "allow git -C sub log *",
        "allow ./run.sh",
        "allow bash scripts/x.sh",
    ]);
    for line in [
        "cargo test",
        "cargo test -p a --all",
        "nice cargo test && git log -p",
        "cd sub && cargo test",
        "cargo test 2>&1 | head -50",
        "git -C sub log -1",
        "./run.sh",
        "bash scripts/x.sh",
        "bash -c 'cargo test'",
    ] {
        assert_eq!(judged(&rules, line), Judgement::Allow, "{line}");
    }
    for line in [
        "cargo build",
        "cargo",
        "Cargo test",
        "./cargo test",
        "/tmp/cargo test",
        "cargo --config x test",
        "cargo test --config=build.rustc-wrapper=x",
        "RUSTC_WRAPPER=./x cargo test",
        "cargo test; rm x",
        "cd /tmp/evil && cargo test",
        "git log --ext-diff",
        "git -c core.pager=./x log",
        "./run.sh x",
        "bash scripts/x.sh; y",
        "bash < scripts/x.sh",
        "bash -x scripts/x.sh",
    ] {
        assert_eq!(judged(&rules, line), Judgement::Ask, "{line}");
    }
}

#[test]
fn a_rule_does_not_allow_names_that_another_process_may_have_made() {
    let rules = rules(&["allow frob *"]);
    assert_eq!(judged(&rules, "frob src/lib.rs"), Judgement::Allow);
    // One name, several, and one that stays as it is beside others.
    for line in ["frob src/lib.*", "frob *", "frob -x docs/*.md src/lib.rs"] {
        let verdict = verdict(&rules, line);
        assert_eq!(verdict.judgement, Judgement::Ask, "{line}");
        assert_eq!(verdict.because, Because::Ambiguity(Ambiguity::Pattern), "{line}");
    }
}

#[test]
fn deny_beats_ask_beats_allow_in_any_order() {
    for order in [
        ["allow git *", "ask git push", "deny git push --force"],
        ["deny git push --force", "ask git push", "allow git *"],
    ] {
        let rules = rules(&order);
        assert_eq!(judged(&rules, "git status"), Judgement::Allow);
        assert_eq!(judged(&rules, "git push origin"), Judgement::Ask);
        assert_eq!(judged(&rules, "git push --force"), Judgement::Deny);
        assert_eq!(judged(&rules, "git status && git push --force"), Judgement::Deny);
    }
}

#[test]
fn the_rule_that_decides_is_told() {
    let rules = rules(&["allow cargo *", "deny cargo publish"]);
    let refused = verdict(&rules, "cargo test && cargo publish");
    assert_eq!(refused.because, Because::Rule(1));
    assert_eq!(rules.rules()[1].to_string(), "deny command `cargo publish`");
    let texts: Vec<_> = refused
        .parts
        .iter()
        .map(|part| (part.text.as_str(), part.judgement))
        .collect();
    assert_eq!(
        texts,
        [
            ("cargo test", Judgement::Allow),
            ("cargo publish", Judgement::Deny)
        ]
    );
    let allowed = verdict(&rules, "cargo test");
    assert_eq!(allowed.because, Because::Rule(0));
}
