//! Table of prompts and their instructions.

use bobbin_model::plan::TodoStatus;
use rstest::rstest;

use super::*;
use crate::instruction::Search;

fn run(command: &str) -> Instruction {
    Instruction::Run {
        command: command.to_owned(),
    }
}

fn start(command: &str) -> Instruction {
    Instruction::Start {
        command: command.to_owned(),
    }
}

fn hosted(tool: &str, arguments: &str) -> Instruction {
    Instruction::Call {
        tool: tool.to_owned(),
        arguments: serde_json::from_str(arguments).unwrap(),
    }
}

fn list(path: &str) -> Instruction {
    Instruction::List {
        path: Some(path).filter(|path| !path.is_empty()).map(Into::into),
        glob: None,
    }
}

fn glob(glob: &str) -> Instruction {
    Instruction::List {
        path: None,
        glob: Some(glob.to_owned()),
    }
}

fn read(path: &str) -> Instruction {
    Instruction::Read {
        path: path.to_owned(),
    }
}

fn text(pattern: &str, path: &str) -> Instruction {
    let path = Some(path).filter(|path| !path.is_empty()).map(Into::into);
    Instruction::Search(Search {
        pattern: pattern.to_owned(),
        path,
        literal: true,
        ..Search::default()
    })
}

fn regex(pattern: &str, path: &str) -> Instruction {
    let path = Some(path).filter(|path| !path.is_empty()).map(Into::into);
    Instruction::Search(Search {
        pattern: pattern.to_owned(),
        path,
        ..Search::default()
    })
}

fn write(path: &str, content: &str) -> Instruction {
    Instruction::Write {
        path: path.to_owned(),
        content: content.to_owned(),
    }
}

fn replace(old: &str, new: &str, path: &str, all: bool) -> Instruction {
    Instruction::Replace {
        path: path.to_owned(),
        old: old.to_owned(),
        new: new.to_owned(),
        all,
    }
}

fn plan(title: &str, steps: &[&str]) -> Instruction {
    let steps = steps
        .iter()
        .map(|step| ((*step).to_owned(), TodoStatus::Pending))
        .collect();
    Instruction::Plan {
        title: title.to_owned(),
        steps,
    }
}

fn say(text: &str) -> Instruction {
    Instruction::Say {
        text: text.to_owned(),
    }
}

#[rstest]
#[case("call mcp__tea__steep", hosted("mcp__tea__steep", "{}"))]
#[case("use the tool editor_diagnostics", hosted("editor_diagnostics", "{}"))]
#[case(
    "call `set_timer` with {\"minutes\": 4}",
    hosted("set_timer", "{\"minutes\":4}")
)]
#[case(
    "Please use the tool `mcp__tea__steep` with {\"minutes\": 3}",
    hosted("mcp__tea__steep", "{\"minutes\":3}")
)]
#[case(
    "call mcp__tea__steep with:\n```json\n{\"minutes\": 3}\n```",
    hosted("mcp__tea__steep", "{\"minutes\":3}")
)]
#[case("run `cargo test`", run("cargo test"))]
#[case("Run: cargo test", run("cargo test"))]
#[case("please run the command `ls -la; id`", run("ls -la; id"))]
#[case("run `echo a` && echo b", run("`echo a` && echo b"))]
#[case("run `make serve` in the background, please", start("make serve"))]
#[case("run ls ..", run("ls .."))]
#[case("$ echo a then b", run("echo a then b"))]
#[case("$ if true; then ls; fi", run("if true; then ls; fi"))]
#[case("run `if true; then ls; fi`", run("if true; then ls; fi"))]
#[case("run:\n```sh\nmake\nmake test\n```", run("make\nmake test"))]
#[case("list", list(""))]
#[case("ls", list(""))]
#[case("list files in src", list("src"))]
#[case("find *.rs", glob("*.rs"))]
#[case("read README.md", read("README.md"))]
#[case("read @docs/x.md", read("docs/x.md"))]
#[case("search for TODO", text("TODO", ""))]
#[case("search for TODO in src", text("TODO", "src"))]
#[case("search for foo in bar in src/", text("foo in bar", "src/"))]
#[case("Search for \"in here\" in this repository", text("in here", ""))]
#[case("search for /fn \\w+/ in src", regex("fn \\w+", "src"))]
#[case("find \"steam\"", text("steam", ""))]
#[case("write `notes.txt`: hello", write("notes.txt", "hello\n"))]
#[case("write notes.txt: hello world", write("notes.txt", "hello world\n"))]
#[case("write \"hello\" to notes.txt", write("notes.txt", "hello\n"))]
#[case(
    "write src/x.rs\n\n```rust\nfn main() {}\n```",
    write("src/x.rs", "fn main() {}\n")
)]
#[case("write notes.txt:\nfirst\n\nlast\n", write("notes.txt", "first\n\nlast\n"))]
#[case("write notes.txt: first\nsecond", write("notes.txt", "first\nsecond\n"))]
#[case("replace `a b` with `c` in src/x.rs", replace("a b", "c", "src/x.rs", false))]
#[case(
    "replace foo with bar in x.txt everywhere",
    replace("foo", "bar", "x.txt", true)
)]
#[case("plan:\n- a\n* b\n1. c", plan("", &["a", "b", "c"]))]
#[case("say Hello, World!", say("Hello, World!"))]
#[case("say hello then goodbye", say("hello then goodbye"))]
#[case("say:\n```\na\n\nb\n```", say("a\n\nb\n"))]
#[case("repeat 3 tick", Instruction::Repeat { times: 3, text: "tick".to_owned() })]
#[case("Summarize this repository.", Instruction::Summarize)]
#[case("help", Instruction::Help)]
#[case("Hello!", Instruction::Help)]
#[case("", Instruction::Help)]
fn a_prompt_is_understood(#[case] prompt: &str, #[case] expected: Instruction) {
    assert_eq!(instructions(prompt), Ok(vec![expected]), "{prompt}");
}

#[rstest]
#[case("list files, then read README.md", vec![list(""), read("README.md")])]
#[case("list files and read README.md", vec![list(""), read("README.md")])]
#[case("write a.txt: x; then run `cat a.txt` then say done", vec![write("a.txt", "x\n"), run("cat a.txt"), say("done")])]
#[case("1. list files\n2. run `make`\n\nThanks", vec![list(""), run("make")])]
#[case("plan:\n- [x] a\n\nread b.txt", vec![
    Instruction::Plan { title: String::new(), steps: vec![("a".to_owned(), TodoStatus::Completed)] },
    read("b.txt"),
])]
#[case("write a.txt:\n```\nx\n```\nread a.txt", vec![write("a.txt", "x\n"), read("a.txt")])]
#[case("$ make\nlist src", vec![run("make"), list("src")])]
fn several_instructions_are_understood(#[case] prompt: &str, #[case] expected: Vec<Instruction>) {
    assert_eq!(instructions(prompt), Ok(expected), "{prompt}");
}

#[rstest]
#[case("Why is the sky blue?")]
#[case("run the tests")]
#[case("run")]
#[case("write a poem")]
#[case("write notes.txt")]
#[case("make a plan")]
#[case("plan for success")]
#[case("read this")]
#[case("list files; rm -rf /")]
#[case("refactor the parser and run `rm -rf x`")]
#[case("list files\nrefactor the parser")]
#[case("run `make`\nand be careful")]
#[case("replace foo in x.txt")]
#[case("repeat many times")]
#[case("list files:\n```\nx\n```")]
#[case("```\nls\n```")]
fn a_prompt_with_anything_unclear_does_nothing(#[case] prompt: &str) {
    assert!(instructions(prompt).is_err(), "{:?}", instructions(prompt));
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_without_harm(prompt in "(?s)(write|run|say|plan:|list|search for|replace|`|\"|'|“| then | in |[ -~é\n]){0,12}") {
        drop(instructions(&prompt));
    }
}
