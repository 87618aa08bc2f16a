//! What holds for any line.

use std::time::{Duration, Instant};

use bobbin_rules::{Judgement, RuleSet};
use proptest::prelude::*;

use crate::support::{judged, rules, verdict};

/// Longest time for one line of a few thousand bytes: some hundred times what it takes here.
const SOON: Duration = Duration::from_secs(5);

fn some_rules() -> RuleSet {
    rules(&[
        "deny rm *",
        "deny git push --force",
        "ask cargo publish",
        "ask git commit *",
        "allow cargo *",
        "allow git *",
        "allow make *",
        "allow sudo *",
        "allow sh *",
        "allow env *",
        "deny path .env",
        "allow *x *",
    ])
}

/// Commands of every judgement.
fn command() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "ls",
        "cat src/a",
        "cat .env",
        "cat /etc/x",
        "cargo test",
        "cargo publish",
        "git status",
        "git push --force",
        "git commit -m x",
        "make",
        "rm -rf x",
        "python a",
        "unknown",
        "$X",
        "cat *",
        "/bin/rm",
        "A=b make",
        "echo hi",
        "x y",
        "find . -exec rm {} +",
        "r\"m\" x",
        "cd src",
        "cd /etc",
        "cat ../src",
        "eval make",
        "> out",
    ]);
    (name, prop::option::of("[a-z .=*$-]{0,6}('a b'|\"c\")?")).prop_map(|(name, more)| match more {
        Some(more) => format!("{name} {more}"),
        None => name.to_owned(),
    })
}

/// What can stand around a command without making it anything else.
fn wrapped(inner: &str) -> Vec<String> {
    let quoted = format!("'{}'", inner.replace('\'', "'\\''"));
    let mut wrapped = vec![
        format!("{inner}; ls"),
        format!("ls; {inner}"),
        format!("ls && {inner}"),
        format!("ls | {inner}"),
        format!("{inner} &"),
        format!("{inner} 2>/dev/null"),
        format!("({inner})"),
        format!("{{ {inner}; }}"),
        format!("! {inner}"),
        format!("if true; then {inner}; fi"),
        format!("for a in b; do {inner}; done"),
        format!("ls $({inner})"),
        format!("A=b {inner}"),
        format!("sh -c {quoted}"),
        format!("bash -lc {quoted}"),
        format!("eval {quoted}"),
        format!("sudo bash -c {quoted}"),
        format!("nice sh -c {quoted}"),
    ];
    for wrapper in [
        "nice",
        "nice -n 3",
        "nohup",
        "timeout 3",
        "stdbuf -o0",
        "command",
        "exec",
        "env",
        "env A=b",
        "sudo",
        "sudo -u a",
        "setsid",
        "xargs",
        "xargs -n 1",
        "strace -f",
        "time",
        "busybox",
        "ionice -c 3",
    ] {
        wrapped.push(format!("{wrapper} {inner}"));
    }
    wrapped
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn nothing_around_a_command_lowers_its_judgement(inner in command()) {
        let rules = some_rules();
        let alone = judged(&rules, &inner);
        for line in wrapped(&inner) {
            let around = judged(&rules, &line);
            prop_assert!(around >= alone, "{inner:?} is {alone}, {line:?} is {around}");
        }
    }

    #[test]
    fn another_rule_that_refuses_or_asks_never_lowers_a_judgement(inner in command(), more in "[a-z]{1,4}( \\*)?") {
        let base = ["allow cargo *", "allow git *", "allow make *"];
        let alone = judged(&rules(&base), &inner);
        for action in ["ask", "deny"] {
            let rule = format!("{action} {more}");
            let with: Vec<&str> = base.iter().copied().chain([rule.as_str()]).collect();
            prop_assert!(judged(&rules(&with), &inner) >= alone);
        }
    }

    #[test]
    fn any_text_is_judged_in_time(text in prop_oneof![
        "\\PC{0,400}",
        prop::collection::vec(any::<u8>(), 0..400).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        prop::collection::vec(0_u8..128, 0..400).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    ]) {
        let begun = Instant::now();
        let verdict = verdict(&some_rules(), &text);
        prop_assert!(verdict.parts.len() <= 512);
        prop_assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    }

    #[test]
    fn any_shell_like_text_is_judged_in_time(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "rm", " ", "-rf", "x", ";", "&&", "||", "|", "&", "\n", "(", ")", "{", "}", "$(", "`", "${", "$((", "))", "<<E\n", "\nE\n",
            "<<<", "<(", ">", ">>", "2>&1", "'", "\"", "\\", "#", "if ", "then ", "fi", "case ", "esac", ";;", "for ", "do ", "done", "!",
            "A=", "*", "[[", "]]", "$x", "é", "\0", "\u{1b}", "sh -c ", "eval ", "<<-", "\t", "function f ", "~",
        ]), 0..120),
    ) {
        let begun = Instant::now();
        let line = pieces.concat();
        let verdict = verdict(&some_rules(), &line);
        prop_assert!(begun.elapsed() < SOON, "{line:?} {:?}", begun.elapsed());
        // Whatever is allowed has none of what makes a line live.
        if verdict.judgement == Judgement::Allow {
            let bare = line.replace("2>&1", "");
            let live = bare.contains(['$', '`', '(', '*', '\0', '\u{1b}', '>']);
            prop_assert!(!live || line.contains(['\'', '"', '\\']), "{line:?}");
        }
    }
}

#[test]
fn characters_that_the_parser_cannot_take_are_kept_from_it() {
    for line in [
        "{\u{e0186}",
        "{\u{e0186}..\u{10ffff}}",
        "ls {1..\u{1f600}}",
        "<<\u{e0186}\n",
        "\u{0}{\u{7f}",
    ] {
        assert_eq!(judged(&some_rules(), line), Judgement::Ask, "{line:?}");
    }
}

#[test]
fn long_lines_take_time_in_proportion() {
    let rules = some_rules();
    let lines = [
        "ls a b c && ".repeat(250) + "ls",
        format!("ls {}", "'a b' ".repeat(4_000)),
        format!("ls {}", "$(ls ".repeat(1_000)),
        "{".repeat(30_000),
        "<<E\n".repeat(60),
        "<<E\n".repeat(2_000),
        "a; ".repeat(20_000),
        format!("ls {}", "a;".repeat(30_000)),
        format!("x {}", "rm ".repeat(20_000)),
        "a <b ".repeat(12_000),
        "$($(".repeat(15_000),
        "if a; then ".repeat(5_500),
        "é".repeat(30_000),
        "\"".repeat(60_001),
        "(a)".repeat(20_000),
        "a=(".repeat(20_000),
        "a\"$(".repeat(8_000),
        "((".repeat(10_000),
        "${a:-".repeat(5_000),
        "case a in ".repeat(3_000),
        format!("nice {}", "env ".repeat(3_000)),
        "`\\".repeat(10_000),
        "[[ a ".repeat(5_000),
        "\\\n".repeat(20_000),
        "sh -c '".repeat(5_000),
    ];
    for line in lines {
        let begun = Instant::now();
        let judgement = judged(&rules, &line);
        let took = begun.elapsed();
        assert!(
            took < SOON,
            "{} bytes of {:?} took {took:?}",
            line.len(),
            &line[..12]
        );
        println!(
            "{:>6} bytes of {:<14} {judgement} in {took:?}",
            line.len(),
            format!("{:?}", &line[..8])
        );
    }
}

#[test]
fn many_words_under_many_rules_are_judged_in_time_and_never_free() {
    let texts: Vec<String> = (0..450)
        .map(|number| format!("deny *{number}*a*b*c ** x"))
        .collect();
    let wild: Vec<&str> = texts.iter().map(String::as_str).chain(["allow *"]).collect();
    let wild = rules(&wild);
    let ordinary = some_rules();
    let words = "aabb ".repeat(12_000);
    for line in [
        words.clone(),
        format!("x {words}"),
        format!("sudo -Z {words}"),
        format!("'{words}"),
    ] {
        for rules in [&wild, &ordinary] {
            let begun = Instant::now();
            let verdict = verdict(rules, &line);
            let took = begun.elapsed();
            assert!(took < SOON, "{took:?}");
            assert!(
                verdict.judgement == Judgement::Ask && !verdict.is_whole(),
                "{}",
                &line[..20]
            );
            println!("{took:?}");
        }
    }
}
