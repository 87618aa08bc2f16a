//! Twenty tasks of an agent in small repositories, with the real binary and a scripted model on one of the three wires.
//!
//! The model's words are given, so a task shows what the harness owns: what is sent and in which order, what is cut, what a
//! user is asked, and the files afterwards.

mod desk;

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use bobbin_testkit::{Part, Reply, Script};
use rstest::rstest;
use serde_json::{Value, json};

use desk::{ACCEPT, Before, Desk, Sent, User, WIRES, call, edit, one, read, run, say};

/// Most bytes of a result that a model with a window of 20,000 tokens is sent.
const CUT: usize = 50 << 10;

fn result_of(sent: &[Sent], number: usize) -> &str {
    let results = sent.iter().filter_map(|part| match part {
        Sent::Result(text) => Some(text.as_str()),
        _ => None,
    });
    results.into_iter().nth(number).unwrap()
}

#[rstest]
#[tokio::test]
async fn a_fault_is_fixed_and_tested(#[values(0, 1, 2)] wire: usize) {
    let files = [
        ("sum.sh", "echo $((1 + 2))\n"),
        ("test.sh", "test \"$(sh sum.sh)\" = 4\n"),
    ];
    let replies = [
        read("sum.sh"),
        run("sh test.sh"),
        edit("sum.sh", "1 + 2", "2 + 2"),
        run("sh test.sh"),
        say("It adds up."),
    ];
    let mut desk = Desk::new(WIRES[wire], &files, json!({}), replies).await;
    let done = desk.turn("The test fails. Mend it.").await;
    assert_eq!(done.turn["status"], "completed");
    assert_eq!(desk.file("sum.sh"), "echo $((2 + 2))\n");
    let ends: Vec<String> = [2, 4].map(|request| desk.last_result(request)).into();
    assert!(
        ends[0].starts_with("exit code 1") && ends[1].starts_with("exit code 0"),
        "{ends:?}"
    );
    // Each request begins as the one before it, so that a provider finds it in its cache.
    let whole = desk.sent(4);
    for request in 0..4 {
        let before = desk.sent(request);
        assert_eq!(whole[..before.len()], before, "request {request}");
        assert_eq!(desk.instructions(request), desk.instructions(4));
        assert_eq!(desk.body(request)["tools"], desk.body(4)["tools"]);
    }
    assert_eq!(desk.provider.asked_count(), 5);
}

#[tokio::test]
async fn files_read_at_once_come_back_in_the_order_of_the_calls() {
    let names = ["a", "b", "c", "d"];
    let files = names.map(|name| (name, name));
    let reads = names.map(|name| call("ReadFile", json!({ "path": name })));
    let mut desk = Desk::new(WIRES[1], &files, json!({}), [Reply::of(reads), say("Four.")]).await;
    desk.turn("Read them.").await;
    let sent = desk.sent(1);
    for (number, name) in names.iter().enumerate() {
        let result = result_of(&sent, number);
        assert!(result.trim_end().ends_with(name), "{number}: {result}");
    }
    assert_eq!(desk.provider.asked_count(), 2);
}

#[tokio::test]
async fn an_edit_that_nearly_fits_changes_nothing_and_says_what_is_there() {
    let files = [("kettle.rs", "fn boil() {\n    heat(90);\n    wait(4);\n}\n")];
    let replies = [
        read("kettle.rs"),
        edit(
            "kettle.rs",
            "    heat(95);\n    wait(4);\n",
            "    heat(100);\n    wait(4);\n",
        ),
        edit("kettle.rs", "heat(90)", "heat(100)"),
        say("Hot."),
    ];
    let mut desk = Desk::new(WIRES[2], &files, json!({}), replies).await;
    let done = desk.turn("Boil it.").await;
    let results = done.results();
    assert_eq!((results[1].0, results[2].0), (false, true), "{results:?}");
    assert!(results[1].1.contains("heat(90)"), "{}", results[1].1);
    assert!(desk.file("kettle.rs").contains("heat(100);\n    wait(4);"));
}

#[tokio::test]
async fn a_file_that_the_user_has_saved_meanwhile_is_read_again_before_it_is_changed() {
    let files = [("notes", "one\ntwo\n")];
    let replies = [
        read("notes"),
        run("touch mark"),
        edit("notes", "two", "three"),
        read("notes"),
        edit("notes", "zwei", "three"),
        say("So."),
    ];
    let mut desk = Desk::new(WIRES[0], &files, json!({}), replies).await;
    let user = User {
        decision: "accept",
        before: Before::Write("notes", "one\nzwei\n"),
    };
    let input = json!([{ "type": "text", "text": "Count." }]);
    let done = desk.turn_with(input, &user).await;
    let results = done.results();
    assert!(!results[2].0 && results[4].0, "{results:?}");
    assert_eq!(desk.file("notes"), "one\nthree\n");
}

#[tokio::test]
async fn line_ends_of_a_file_stay() {
    let files = [("menu.txt", "tea\r\nmilk\r\nhoney\r\n")];
    let replies = [
        read("menu.txt"),
        edit("menu.txt", "tea\nmilk\n", "tea\nlemon\nmilk\n"),
        say("So."),
    ];
    let mut desk = Desk::new(WIRES[1], &files, json!({}), replies).await;
    desk.turn("Add lemon.").await;
    assert_eq!(desk.file("menu.txt"), "tea\r\nlemon\r\nmilk\r\nhoney\r\n");
}

#[tokio::test]
async fn of_a_huge_file_and_a_huge_output_the_model_gets_a_part_and_the_place_of_the_rest() {
    let huge = "a line of tea\n".repeat(200_000);
    let files = [("huge.txt", huge.as_str())];
    let replies = [read("huge.txt"), run("seq 1 300000"), say("Much.")];
    let mut desk = Desk::new(WIRES[2], &files, json!({}), replies).await;
    let done = desk.turn("Read it.").await;
    assert_eq!(done.turn["status"], "completed");
    let (file, output) = (desk.last_result(1), desk.last_result(2));
    assert!(
        file.len() <= CUT && output.len() <= CUT,
        "{} {}",
        file.len(),
        output.len()
    );
    assert!(file.contains("offset"), "{}", &file[file.len() - 200..]);
    assert!(output.contains("\n1\n2\n") && output.contains("300000"));
    // All of the output is in a file that the result names.
    let path = output
        .split_whitespace()
        .find(|word| word.ends_with(".log,"))
        .unwrap();
    let whole = std::fs::read_to_string(path.trim_end_matches(',')).unwrap();
    assert_eq!(whole.lines().count(), 300_000);
}

#[tokio::test]
async fn a_refused_command_does_not_run_and_nobody_is_asked() {
    let rule = json!({ "Action": "deny", "Command": "rm **", "Reason": "cups are kept" });
    let config = json!({ "Permissions": { "Rules": [rule] } });
    let replies = [run("rm cup"), say("It stays.")];
    let mut desk = Desk::new(WIRES[0], &[("cup", "")], config, replies).await;
    let done = desk.turn("Remove it.").await;
    assert!(done.asked.is_empty() && desk.path("cup").exists());
    assert!(desk.last_result(1).contains("cups are kept"));
}

#[tokio::test]
async fn what_the_user_declines_does_not_happen_and_the_turn_goes_on() {
    let replies = [run("touch cup"), say("As you like.")];
    let mut desk = Desk::new(WIRES[1], &[], json!({}), replies).await;
    let user = User {
        decision: "decline",
        ..ACCEPT
    };
    let done = desk
        .turn_with(json!([{ "type": "text", "text": "Make one." }]), &user)
        .await;
    assert_eq!(
        (done.asked.len(), done.turn["status"].as_str()),
        (1, Some("completed"))
    );
    assert!(!desk.path("cup").exists() && !done.results()[0].0);
}

#[tokio::test]
async fn a_test_that_never_passes_ends_at_the_limit_of_rounds() {
    let config = json!({ "Limits": { "Rounds": 3 } });
    let mut desk = Desk::new(WIRES[2], &[], config, [run("sh -c 'exit 1'")]).await;
    let done = desk.turn("Try until it passes.").await;
    assert_eq!(done.turn["status"], "failed");
    assert!(
        done.turn["error"].to_string().contains("Limits.Rounds"),
        "{}",
        done.turn["error"]
    );
    assert_eq!((desk.provider.asked_count(), done.results().len()), (3, 3));
}

#[tokio::test]
async fn in_plan_mode_the_agent_can_only_look() {
    let replies = [
        Reply::of([
            call("ReadFile", json!({ "path": "cup" })),
            call("WriteFile", json!({ "path": "new", "content": "x" })),
        ]),
        say("The plan."),
        one("WriteFile", json!({ "path": "new", "content": "x" })),
        say("Done."),
    ];
    let mut desk = Desk::new(WIRES[0], &[("cup", "tea")], json!({}), replies).await;
    let mode = |mode: &str| json!({ "threadId": desk.thread, "mode": mode });
    let (plan, agent) = (mode("plan"), mode("agent"));
    desk.client.call("thread/mode/set", plan).await;
    let done = desk.turn("Plan.").await;
    assert!(
        done.results()[0].0 && !done.results()[1].0,
        "{:?}",
        done.results()
    );
    assert!(!desk.path("new").exists());
    let offered = |desk: &Desk, request| desk.tools(request).contains(&"WriteFile".to_owned());
    assert!(!offered(&desk, 0) && desk.tools(0).contains(&"ReadFile".to_owned()));
    desk.client.call("thread/mode/set", agent).await;
    desk.turn("Do it.").await;
    assert!(offered(&desk, 2) && desk.path("new").exists());
}

#[tokio::test]
async fn a_conversation_that_fills_the_window_goes_on_with_a_summary() {
    let long = "a cup of tea, and one more\n".repeat(250);
    let mut replies: Vec<Reply> = (0..14).map(|_| read("long.txt")).collect();
    replies.push(say("I read it all."));
    let files = [("long.txt", long.as_str())];
    let mut desk = Desk::new(WIRES[1], &files, json!({}), replies).await;
    let done = desk.turn("Read it again and again.").await;
    assert_eq!(done.turn["status"], "completed", "{}", done.turn["error"]);
    let asked = desk.provider.asked();
    let summed = asked
        .iter()
        .position(|asked| asked.body.to_string().contains("A summary: tea was made."));
    let summed = summed.expect("the summary goes on");
    // The user's request is repeated behind the summary, and the results before it are gone.
    let first = &desk.sent(summed)[0];
    assert!(
        matches!(first, Sent::User(text) if text.contains("A summary")),
        "{first:?}"
    );
    assert!(
        asked[summed]
            .body
            .to_string()
            .contains("Read it again and again.")
    );
    let bytes = |request: usize| asked[request].body["messages"].to_string().len();
    assert!(
        bytes(summed) < bytes(summed - 2),
        "{} {}",
        bytes(summed),
        bytes(summed - 2)
    );
}

#[tokio::test]
async fn a_picture_is_sent_as_it_is() {
    let picture = base64::engine::general_purpose::STANDARD
        .decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
        .unwrap();
    for wire in WIRES {
        let mut desk = Desk::new(wire, &[], json!({}), [say("A dot.")]).await;
        std::fs::write(desk.path("dot.png"), &picture).unwrap();
        let input = json!([
            { "type": "text", "text": "What is it?" },
            { "type": "localImage", "path": desk.path("dot.png") },
        ]);
        desk.turn_with(input, &ACCEPT).await;
        let encoded = base64::engine::general_purpose::STANDARD.encode(&picture);
        assert!(desk.body(0).to_string().contains(&encoded), "{wire}");
    }
}

#[tokio::test]
async fn instructions_bring_what_they_import_and_skills_are_read_when_they_are_needed() {
    let skill = "---\nname: brew\ndescription: How tea is made here\n---\nFour minutes, no more.\n";
    let files = [
        ("AGENTS.md", "Read this.\n@docs/style.md\n"),
        ("docs/style.md", "Write about tea in lower case.\n"),
        (".craft/skills/brew/SKILL.md", skill),
    ];
    let replies = [one("SkillView", json!({ "name": "brew" })), say("four minutes")];
    let mut desk = Desk::new(WIRES[2], &files, json!({}), replies).await;
    let trust = json!({ "trusted": true });
    desk.client.call("workspace/trust/set", trust).await;
    desk.turn("How long?").await;
    let instructions = desk.instructions(0);
    assert!(
        instructions.contains("Write about tea in lower case."),
        "{instructions}"
    );
    assert!(instructions.contains("How tea is made here") && !instructions.contains("Four minutes"));
    assert!(desk.last_result(1).contains("Four minutes, no more."));
}

#[tokio::test]
async fn a_subagent_answers_the_agent_that_started_it() {
    let start = call(
        "SpawnAgent",
        json!({ "agentPrompt": "Count the cups.", "agentNickname": "Cup" }),
    );
    let replies = [
        Reply::of([start, call("WaitAgent", json!({}))]),
        say("There are seven."),
        say("Seven, it says."),
    ];
    let mut desk = Desk::new(WIRES[0], &[], json!({}), replies).await;
    let done = desk.turn("How many cups?").await;
    assert_eq!(done.turn["status"], "completed", "{}", done.turn["error"]);
    // It knows its task and nothing of the conversation.
    assert_eq!(desk.sent(1), [Sent::User("Count the cups.".to_owned())]);
    assert!(desk.last_result(2).contains("There are seven."));
}

#[tokio::test]
async fn a_server_in_the_background_is_there_for_later_commands() {
    // The pipe is opened once, for both: opened anew for each line, it can meet the end of the writer before.
    let serve =
        "mkfifo ask; exec 3<>ask; echo up; while read what <&3; do echo \"poured $what\" >> poured; done";
    let replies = [
        one("Exec", json!({ "command": serve, "runInBackground": true })),
        run("echo tea > ask; while ! [ -s poured ]; do sleep 0.01; done; cat poured"),
        say("Poured."),
    ];
    let mut desk = Desk::new(WIRES[1], &[], json!({}), replies).await;
    let done = desk.turn("Serve tea.").await;
    assert_eq!(desk.last_result(2), "exit code 0\npoured tea\n");
    assert!(desk.last_result(1).contains("up"), "{:?}", done.results());
    let listed = desk
        .client
        .call("terminal/list", json!({ "threadId": desk.thread }))
        .await;
    assert_eq!(listed["terminals"][0]["status"], "running");
}

#[tokio::test]
async fn one_turn_is_undone_and_the_one_before_it_stays() {
    let write = |path: &str, content: &str| one("WriteFile", json!({ "path": path, "content": content }));
    let replies = [
        write("cup", "tea"),
        say("So."),
        Reply::of([
            call("ReadFile", json!({ "path": "cup" })),
            call(
                "EditFile",
                json!({ "path": "cup", "oldText": "tea", "newText": "milk" }),
            ),
            call("WriteFile", json!({ "path": "jug", "content": "milk" })),
        ]),
        say("And so."),
    ];
    let mut desk = Desk::new(WIRES[2], &[], json!({}), replies).await;
    desk.turn("Tea.").await;
    let second = desk.turn("Milk.").await;
    assert_eq!(
        (desk.file("cup"), desk.file("jug")),
        ("milk".into(), "milk".into())
    );
    let revert = json!({ "threadId": desk.thread, "turnId": second.id() });
    desk.client.call("turn/revert", revert).await;
    assert_eq!(
        (desk.file("cup"), desk.path("jug").exists()),
        ("tea".into(), false)
    );
}

#[tokio::test]
async fn a_page_of_the_web_is_text_for_the_model() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let read = stream.read(&mut request).unwrap();
        let page = "<html><head><title>Tea</title><script>let x</script></head><body><h1>Tea</h1><p>Four <b>minutes</b>.</p></body></html>";
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{page}", page.len()).unwrap();
        String::from_utf8_lossy(&request[..read]).into_owned()
    });
    let rule = json!({ "Action": "allow", "Tool": format!("WebFetch:{place}") });
    let config = json!({ "Permissions": { "Rules": [rule] } });
    let replies = [
        one("WebFetch", json!({ "url": format!("http://{place}/tea") })),
        say("Four."),
    ];
    let mut desk = Desk::new(WIRES[0], &[], config, replies).await;
    let done = desk.turn("How long?").await;
    let text = desk.last_result(1);
    assert!(
        text.contains("# Tea") && text.contains("minutes") && !text.contains("let x"),
        "{text}"
    );
    assert!(done.asked.is_empty() && serving.join().unwrap().starts_with("GET /tea "));
}

#[tokio::test]
async fn what_the_user_says_in_the_middle_is_sent_with_the_next_results() {
    let replies = [run("touch cup"), say("With milk.")];
    let mut desk = Desk::new(WIRES[1], &[], json!({}), replies).await;
    let user = User {
        before: Before::Steer("And milk."),
        ..ACCEPT
    };
    let done = desk
        .turn_with(json!([{ "type": "text", "text": "Tea." }]), &user)
        .await;
    assert_eq!(done.turn["status"], "completed");
    let sent = desk.sent(1);
    let Some([Sent::Result(result), Sent::User(said)]) = sent.last_chunk::<2>() else {
        panic!("{sent:?}");
    };
    assert!(
        result.starts_with("exit code 0") && said == "And milk.",
        "{sent:?}"
    );
    assert_eq!(desk.provider.asked_count(), 2);
}

#[tokio::test]
async fn a_call_without_sense_is_answered_and_the_turn_goes_on() {
    let replies = [
        Reply::of([
            call("Kettle", json!({ "path": "cup" })),
            call("ReadFile", Value::String("{\"path\": ".to_owned())),
            call("ReadFile", json!({ "path": "no such cup" })),
        ]),
        say("I see."),
    ];
    let mut desk = Desk::new(WIRES[2], &[], json!({}), replies).await;
    let done = desk.turn("Read.").await;
    assert_eq!(done.turn["status"], "completed");
    let results = done.results();
    assert!(
        results.len() == 3 && results.iter().all(|(success, _)| !success),
        "{results:?}"
    );
}

#[tokio::test]
async fn a_reply_that_breaks_off_is_asked_for_again_and_nothing_runs_twice() {
    let script = Script::of([
        run("echo once >> ran"),
        Reply::error(529, "overloaded_error", "later"),
        Reply::of([Part::Text("Ran".into()), Part::Text(" once.".into())]),
    ]);
    let mut desk = Desk::with(WIRES[1], &[], json!({}), script).await;
    let done = desk.turn("Run it.").await;
    assert_eq!(done.turn["status"], "completed", "{}", done.turn["error"]);
    assert_eq!(desk.file("ran"), "once\n");
    assert_eq!(desk.sent(1), desk.sent(2));
}
