//! Programs that are swapped for others, and answers that reach further than their question.

use std::os::unix::fs::PermissionsExt as _;

use bobbin_testkit::{Client, Link, ModelServer, Script};
use serde_json::{Value, json};

use crate::lab::{Bubblewrap, Lab};

/// What a program of the attacker leaves behind.
const TRACE: &str = "HIJACKED";

/// Makes a lab whose user has activated the workspace's virtual environment.
fn activated(bubblewrap: Bubblewrap) -> Lab {
    let mut lab = Lab::new(bubblewrap);
    lab.path_first = Some(lab.work().join(".venv/bin"));
    lab.write("readme", "tea\n");
    lab.write(".venv/bin/activate", "");
    lab
}

fn put_program(lab: &Lab, path: &str) {
    // Wherever it is started.
    let trace = lab.work().join(TRACE).display().to_string();
    lab.write(path, &format!("#!/bin/sh\ntouch '{trace}'\necho {TRACE}\n"));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(lab.work().join(path), mode).unwrap();
}

/// Starts a Turn and returns its first question, `None` where the Turn ends without one.
async fn question(client: &mut Client, thread: &str, prompt: &str) -> Option<Value> {
    client.start_turn(thread, prompt).await;
    loop {
        let message = client.next().await.expect("the connection stays");
        match message["method"].as_str() {
            Some("item/approval/request") => return Some(message),
            Some("turn/completed" | "turn/failed" | "turn/cancelled") => return None,
            _ => {}
        }
    }
}

/// Answers a question and returns whether another one came before the Turn ended.
async fn answer(client: &mut Client, question: &Value, decision: &str) {
    client.reply(question, json!({ "decision": decision })).await;
    client.until("turn/completed").await;
}

#[tokio::test]
async fn a_plain_read_does_not_run_what_the_workspace_has_under_its_name() {
    for bubblewrap in Bubblewrap::all() {
        let lab = activated(bubblewrap);
        put_program(&lab, ".venv/bin/cat");
        let server = lab.serve().await;
        let mut client = server.client().await;
        let thread = client.start_thread().await;
        let asked = question(&mut client, &thread, "run `cat readme`").await;
        let asked = asked.expect("what the workspace brings is asked about");
        let reason = asked["params"]["reason"].as_str().unwrap();
        let path = lab.work().join(".venv/bin/cat").display().to_string();
        assert!(reason.contains(&path), "{reason}");
        assert!(!lab.work().join(TRACE).exists());
        answer(&mut client, &asked, "acceptForSession").await;
        assert!(lab.work().join(TRACE).exists(), "the user has let it run");
        // The answer holds for this content.
        let asked = question(&mut client, &thread, "run `cat readme`").await;
        assert_eq!(asked, None);
        lab.write(
            ".venv/bin/cat",
            &format!("#!/bin/sh\n# another one\ntouch {TRACE}\n"),
        );
        std::fs::remove_file(lab.work().join(TRACE)).unwrap();
        let asked = question(&mut client, &thread, "run `cat readme`").await;
        answer(&mut client, &asked.expect("another content"), "decline").await;
        assert!(!lab.work().join(TRACE).exists());
        server.kill().await;
    }
}

#[tokio::test]
async fn an_allow_rule_does_not_run_what_the_workspace_has_under_the_name() {
    for bubblewrap in Bubblewrap::all() {
        let lab = activated(bubblewrap);
        let rules =
            json!([{ "Action": "allow", "Command": "touch *" }, { "Action": "allow", "Command": "./run *" }]);
        lab.configure(&json!({ "Permissions": { "Rules": rules } }));
        put_program(&lab, "run");
        let server = lab.serve().await;
        let mut client = server.client().await;
        let thread = client.start_thread().await;
        assert_eq!(question(&mut client, &thread, "run `touch one`").await, None);
        assert!(lab.work().join("one").exists());
        put_program(&lab, ".venv/bin/touch");
        for line in ["touch two", "nice touch two", "./run"] {
            let asked = question(&mut client, &thread, &format!("run `{line}`")).await;
            answer(&mut client, &asked.expect(line), "decline").await;
        }
        assert!(!lab.work().join(TRACE).exists());
        server.kill().await;
    }
}

#[tokio::test]
async fn a_program_that_is_swapped_while_the_user_thinks_is_not_run() {
    for bubblewrap in Bubblewrap::all() {
        let lab = activated(bubblewrap);
        put_program(&lab, "script");
        let server = lab.serve().await;
        let mut client = server.client().await;
        let thread = client.start_thread().await;
        let asked = question(&mut client, &thread, "run `touch one`").await.unwrap();
        put_program(&lab, ".venv/bin/touch");
        answer(&mut client, &asked, "accept").await;
        let asked = question(&mut client, &thread, "run `./script`").await.unwrap();
        lab.write("script", &format!("#!/bin/sh\n# another one\ntouch {TRACE}\n"));
        answer(&mut client, &asked, "accept").await;
        assert!(!lab.work().join(TRACE).exists());
        assert!(!lab.work().join("one").exists());
        server.kill().await;
    }
}

#[tokio::test]
async fn the_server_itself_runs_no_program_of_the_workspace() {
    for bubblewrap in Bubblewrap::all() {
        let lab = activated(bubblewrap);
        put_program(&lab, ".venv/bin/git");
        let server = lab.serve().await;
        let mut client = server.client().await;
        let thread = client.start_thread().await;
        let asked = question(&mut client, &thread, "write `x` to `notes.txt`").await;
        if let Some(asked) = asked {
            answer(&mut client, &asked, "accept").await;
        }
        assert!(!lab.work().join(TRACE).exists());
        server.kill().await;
    }
}

#[tokio::test]
async fn an_answer_for_the_session_covers_what_its_question_says() {
    for bubblewrap in Bubblewrap::all() {
        let lab = Lab::new(bubblewrap);
        lab.configure(&json!({ "Permissions": { "Rules": [{ "Action": "ask", "Command": "rm **" }] } }));
        lab.write("a", "");
        let server = lab.serve().await;
        let mut client = server.client().await;
        let thread = client.start_thread().await;
        let asked = question(&mut client, &thread, "run `touch one`").await.unwrap();
        assert_eq!(asked["params"]["scopeKey"], "shell:touch");
        assert!(
            asked["params"]["reason"]
                .as_str()
                .unwrap()
                .contains("every `touch …`")
        );
        answer(&mut client, &asked, "acceptForSession").await;
        assert_eq!(question(&mut client, &thread, "run `touch two`").await, None);
        let asked = question(&mut client, &thread, "run `echo one > o; true`")
            .await
            .unwrap();
        assert_eq!(asked["params"]["scopeKey"], "shell:echo one > o; true");
        answer(&mut client, &asked, "acceptForSession").await;
        assert_eq!(
            question(&mut client, &thread, "run `echo one > o; true`").await,
            None
        );
        for line in [
            "echo two > o; true",
            "touch b; rm a",
            "touch /tmp/x",
            "ssh h",
            "sudo touch x",
        ] {
            let asked = question(&mut client, &thread, &format!("run `{line}`")).await;
            answer(&mut client, &asked.expect(line), "decline").await;
        }
        // A rule that asks is not taken back by any answer.
        for decision in ["acceptForSession", "acceptAlways", "decline"] {
            lab.write("a", "");
            let asked = question(&mut client, &thread, "run `rm -f a`")
                .await
                .expect(decision);
            assert_eq!(
                asked["params"]["availableDecisions"],
                json!(["accept", "decline", "cancel"])
            );
            answer(&mut client, &asked, decision).await;
        }
        assert!(lab.work().join("a").exists());
        server.kill().await;
    }
}

#[tokio::test]
async fn an_answer_outside_of_the_sandbox_covers_one_command() {
    let provider = ModelServer::start(Script::default()).await.unwrap();
    for bubblewrap in Bubblewrap::all() {
        let lab = Lab::new(bubblewrap);
        lab.configure(&json!({
            "Model": "script/m",
            "Providers": { "script": { "Wire": "chat", "BaseUrl": provider.base_url() } },
        }));
        let server = lab.serve().await;
        let mut client = server.client().await;
        let thread = client.start_thread().await;
        let inside = r#"call Exec {"command":"true > made"}"#;
        let asked = question(&mut client, &thread, inside).await.unwrap();
        answer(&mut client, &asked, "acceptAlways").await;
        assert_eq!(question(&mut client, &thread, inside).await, None);
        for decision in ["acceptForSession", "acceptAlways", "decline"] {
            let outside = r#"call Exec {"command":"true > made","outsideSandbox":true}"#;
            let asked = question(&mut client, &thread, outside).await.expect(decision);
            assert_eq!(
                asked["params"]["availableDecisions"],
                json!(["accept", "decline", "cancel"])
            );
            answer(&mut client, &asked, decision).await;
        }
        server.kill().await;
    }
}

#[tokio::test]
async fn an_answer_for_ever_outside_of_the_sandbox_covers_one_line_there() {
    let provider = ModelServer::start(Script::default()).await.unwrap();
    for bubblewrap in Bubblewrap::all() {
        let lab = Lab::new(bubblewrap);
        lab.configure(&json!({
            "Model": "script/m",
            "Providers": { "script": { "Wire": "chat", "BaseUrl": provider.base_url() } },
        }));
        let server = lab.serve().await;
        let mut client = server.client().await;
        let thread = client.start_thread().await;
        let outside = r#"call Exec {"command":"mkdir -p made","outsideSandbox":true}"#;
        let asked = question(&mut client, &thread, outside).await.unwrap();
        answer(&mut client, &asked, "acceptAlways").await;
        // In every Thread, and nothing else: not the line in the sandbox, not another line, not a script that it names.
        let other = client.start_thread().await;
        assert_eq!(question(&mut client, &other, outside).await, None);
        for unlike in [
            r#"call Exec {"command":"mkdir -p made"}"#,
            r#"call Exec {"command":"mkdir -p made/more","outsideSandbox":true}"#,
            r#"call Exec {"command":"mkdir -p made; true","outsideSandbox":true}"#,
            r#"call Exec {"command":"sh -c 'mkdir -p made'","outsideSandbox":true}"#,
        ] {
            let asked = question(&mut client, &thread, unlike).await.expect(unlike);
            answer(&mut client, &asked, "decline").await;
        }
        let listed = client.call("approval/rules/list", json!({})).await;
        assert_eq!(
            listed["answers"][0]["conditions"],
            json!(["outside of the sandbox"])
        );
        client.call("approval/rules/remove", json!({})).await;
        let asked = question(&mut client, &thread, outside).await.expect("taken back");
        answer(&mut client, &asked, "decline").await;
        server.kill().await;
    }
}

#[tokio::test]
async fn under_the_policy_sandboxed_only_what_is_confined_runs_unasked() {
    for (bubblewrap, profile) in Bubblewrap::all()
        .into_iter()
        .flat_map(|bubblewrap| [(bubblewrap, "workspaceWrite"), (bubblewrap, "full")])
    {
        let mut lab = activated(bubblewrap);
        lab.path_first = None;
        lab.configure(&json!({
            "Permissions": {
                "DefaultApprovalPolicy": "sandboxed",
                "Rules": [{ "Action": "ask", "Command": "rm **" }, { "Action": "deny", "Command": "mkdir **" }],
            },
            "Sandbox": { "Profile": profile, "Network": profile == "full" },
        }));
        let server = lab.serve().await;
        let mut client = server.client().await;
        let thread = client.start_thread().await;
        let asked = question(&mut client, &thread, "run `touch one && sh -c 'echo x > two'`").await;
        let is_confined = profile != "full";
        assert_eq!(
            asked.is_none(),
            is_confined,
            "{bubblewrap:?} {profile}: {asked:?}"
        );
        if let Some(asked) = asked {
            answer(&mut client, &asked, "decline").await;
        }
        assert_eq!(lab.work().join("two").exists(), is_confined);
        let asked = question(&mut client, &thread, "run `touch a; rm a`").await;
        answer(&mut client, &asked.expect("a rule asks"), "decline").await;
        assert_eq!(
            question(&mut client, &thread, "run `touch b; mkdir c`").await,
            None
        );
        assert!(!lab.work().join("b").exists());
        server.kill().await;
    }
}

#[tokio::test]
async fn the_policy_sandboxed_is_shown_as_default_to_clients_that_do_not_know_it() {
    let lab = Lab::new(Bubblewrap::Off);
    let server = lab.serve().await;
    for (knows, shown) in [(false, "default"), (true, "sandboxed")] {
        let capabilities = json!({ "approvalSupport": true, "sandboxedPolicy": knows });
        let link = Link::web_socket(&server.with_token()).await;
        let mut client = Client::ready(link, "lab", capabilities).await;
        let thread = client.start_thread().await;
        let config = json!({ "threadId": thread, "config": { "approvalPolicy": "sandboxed" } });
        client.call("thread/config/update", config).await;
        let read = client.call("thread/read", json!({ "threadId": thread })).await;
        assert_eq!(read["thread"]["configuration"]["approvalPolicy"], shown);
        let config = json!({ "threadId": thread, "config": { "approvalPolicy": "ask" } });
        client.call("thread/config/update", config).await;
        let read = client.call("thread/read", json!({ "threadId": thread })).await;
        let shown = if knows { "ask" } else { "default" };
        assert_eq!(read["thread"]["configuration"]["approvalPolicy"], shown);
    }
    server.kill().await;
}

/// Runs `bobbin rules` with these arguments and returns what it printed.
async fn rules(lab: &Lab, arguments: &[&str]) -> String {
    let output = lab.run(&[&["rules"], arguments].concat()).await;
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn an_answer_for_ever_is_listed_and_taken_back_at_once() {
    for bubblewrap in Bubblewrap::all() {
        let lab = Lab::new(bubblewrap);
        let rule = json!([{ "Action": "deny", "Command": "rm **", "Reason": "nothing is lost" }]);
        lab.configure(&json!({ "Permissions": { "Rules": rule } }));
        let listed = rules(&lab, &[]).await;
        assert!(listed.contains("deny command `rm **`"), "{listed}");
        assert!(listed.contains(".craft/config.json"), "{listed}");
        assert!(listed.contains("Nothing is always allowed yet."), "{listed}");
        let server = lab.serve().await;
        let mut client = server.client().await;
        let thread = client.start_thread().await;
        for line in ["touch one", "touch two"] {
            let asked = question(&mut client, &thread, &format!("run `{line}`")).await;
            answer(&mut client, &asked.expect(line), "acceptAlways").await;
            assert_eq!(
                question(&mut client, &thread, &format!("run `{line}`")).await,
                None
            );
        }
        let listed = rules(&lab, &[]).await;
        let work = lab.work().display().to_string();
        assert!(
            listed.contains(&format!("1  run `touch one` in {work}")),
            "{listed}"
        );
        assert!(
            listed.contains(&format!("2  run `touch two` in {work}")),
            "{listed}"
        );
        let explained = rules(&lab, &["explain", "touch one"]).await;
        assert!(explained.contains("you always allow it"), "{explained}");
        let explained = rules(&lab, &["explain", "rm one"]).await;
        assert!(
            explained.contains("It is refused") && explained.contains("nothing is lost"),
            "{explained}"
        );
        // The server that runs asks again.
        assert!(
            rules(&lab, &["forget", "1"])
                .await
                .contains("Taken back: run `touch one`")
        );
        let asked = question(&mut client, &thread, "run `touch one`").await;
        answer(&mut client, &asked.expect("taken back"), "acceptAlways").await;
        assert_eq!(question(&mut client, &thread, "run `touch two`").await, None);
        assert!(!lab.run(&["rules", "forget", "3"]).await.status.success());
        server.kill().await;
        // Where none runs, the stored answers are taken back.
        assert!(rules(&lab, &["forget", "--all"]).await.contains("(2)"));
        let server = lab.serve().await;
        let mut client = server.client().await;
        let thread = client.start_thread().await;
        let asked = question(&mut client, &thread, "run `touch two`").await;
        answer(&mut client, &asked.expect("taken back"), "decline").await;
        server.kill().await;
    }
}
