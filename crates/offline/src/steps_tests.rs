//! Conversations, and the offline model's next step in them.

use super::*;

struct Talk(Vec<Message>);

impl Talk {
    fn new(prompt: &str) -> Self {
        Self(vec![Message::User {
            parts: vec![bobbin_model::InputPart::Text {
                text: prompt.to_owned(),
            }],
        }])
    }

    /// Expects a call and answers it.
    fn call(mut self, tool: &str, arguments: Value, result: &str, success: bool) -> Self {
        assert_eq!(
            self.next(),
            Step::Call {
                tool: tools(tool).into(),
                arguments
            }
        );
        let id = format!("call_{}", self.0.len());
        let call = Call {
            id: id.clone(),
            tool: tool.to_owned(),
            arguments: None,
            provider_state: None,
        };
        self.0.push(Message::Agent {
            text: String::new(),
            calls: vec![call],
        });
        self.0.push(Message::Result {
            call_id: id,
            text: result.to_owned(),
            success,
        });
        self
    }

    fn next(&self) -> Step {
        next_step(&self.0)
    }

    fn said(&self) -> String {
        let Step::Say(said) = self.next() else {
            panic!("{:?}", self.next())
        };
        said.iter()
            .map(|speech| speech.pieces().collect::<String>())
            .collect::<Vec<_>>()
            .join("\n\n")
    }
}

fn tools(name: &str) -> &'static str {
    [
        "Exec",
        "ReadFile",
        "WriteFile",
        "FindFiles",
        "GrepFiles",
        "CreatePlan",
        "EditFile",
    ]
    .into_iter()
    .find(|known| *known == name)
    .unwrap()
}

#[test]
fn a_command_is_run_and_told_with_its_output() {
    let talk = Talk::new("run `cargo test`").call(
        "Exec",
        json!({ "command": "cargo test" }),
        "exit code 101\n1 failed\n",
        false,
    );
    assert_eq!(
        talk.said(),
        "`cargo test` ended with exit code 101:\n\n```\n1 failed\n```"
    );
    let talk = Talk::new("$ true").call("Exec", json!({ "command": "true" }), "exit code 0\n", true);
    assert_eq!(talk.said(), "`true` ended with exit code 0 and printed nothing.");
}

#[test]
fn a_refused_command_is_not_told_as_done() {
    let refused = "refused: this call was not approved; it was not run";
    let talk = Talk::new("run `rm x`").call("Exec", json!({ "command": "rm x" }), refused, false);
    assert_eq!(talk.said(), format!("`rm x` was not run: {refused}"));
}

#[test]
fn a_failure_ends_the_sequence_and_says_what_is_left() {
    let talk = Talk::new("read a.txt then run `make` then say done").call(
        "ReadFile",
        json!({ "path": "a.txt" }),
        "cannot read a.txt: no such file",
        false,
    );
    assert_eq!(
        talk.said(),
        "I could not read `a.txt`: cannot read a.txt: no such file\n\nI stopped there. Not done: run `make`; say something."
    );
}

#[test]
fn instructions_follow_each_other() {
    let talk = Talk::new("write a.txt: hi then read a.txt then say done")
        .call(
            "WriteFile",
            json!({ "path": "a.txt", "content": "hi\n" }),
            "created a.txt (1 lines, 3 bytes)",
            true,
        )
        .call("ReadFile", json!({ "path": "a.txt" }), "1\thi\n", true);
    assert_eq!(
        talk.said(),
        "Created a.txt (1 lines, 3 bytes).\n\n`a.txt`:\n\n```txt\nhi\n```\n\ndone"
    );
}

#[test]
fn lists_and_searches_are_told_with_their_notes() {
    let talk = Talk::new("list src").call("FindFiles", json!({ "path": "src" }), "a.rs\n\n[1 entries]", true);
    assert_eq!(talk.said(), "Files in `src` (1 entries):\n\n```\na.rs\n```");
    let arguments = json!({ "pattern": "x", "literal": true });
    let talk = Talk::new("search for x").call("GrepFiles", arguments, "[no match]", true);
    assert_eq!(talk.said(), "`x`: no match.");
}

#[test]
fn a_summary_lists_and_reads() {
    let listed = "README.md\nsrc/\nsrc/a.rs\n\n[3 entries]";
    let talk = Talk::new("Summarize this repository.")
        .call("FindFiles", json!({ "recursive": true }), listed, true)
        .call(
            "ReadFile",
            json!({ "path": "README.md", "limit": 200 }),
            "1\t# K\n2\t\n3\tBoils water.\n",
            true,
        );
    assert!(
        talk.said()
            .starts_with("Boils water.\n\nThe workspace has 2 files"),
        "{}",
        talk.said()
    );
    let talk = Talk::new("summarize").call("FindFiles", json!({ "recursive": true }), "[no entries]", true);
    assert!(talk.said().contains("empty"));
}

#[test]
fn a_plan_is_made_of_its_steps() {
    let todos = json!([{ "content": "a", "status": "completed" }, { "content": "b", "status": "pending" }]);
    let talk = Talk::new("plan:\n- [x] a\n- b").call(
        "CreatePlan",
        json!({ "title": "", "todos": todos }),
        "the plan is shown (2 steps, 1 completed)",
        true,
    );
    assert_eq!(
        talk.said(),
        "Here is the plan: the plan is shown (2 steps, 1 completed)."
    );
}

#[test]
fn nothing_is_done_for_a_prompt_that_is_not_understood() {
    let next = Talk::new("list files\nthen make it nicer").next();
    assert_eq!(next, Step::NotUnderstood("make it nicer".to_owned()));
}

#[test]
fn repetitions_are_bounded() {
    let Step::Say(said) = Talk::new("repeat 100000 x").next() else {
        panic!()
    };
    assert_eq!(said[0].pieces().count(), 100_000);
    for prompt in [
        "repeat 100001 x",
        "repeat 0 x",
        &format!("repeat 100000 {}", "long".repeat(20)),
    ] {
        let Step::Say(said) = Talk::new(prompt).next() else {
            panic!()
        };
        assert!(matches!(said[0], Speech::Text(_)), "{prompt}");
    }
}

#[test]
fn only_the_last_prompt_counts() {
    let mut talk = Talk::new("list").call("FindFiles", json!({}), "[no entries]", true);
    talk.0.extend(Talk::new("say hi").0);
    assert_eq!(talk.said(), "hi");
}
