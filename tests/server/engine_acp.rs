//! Threads whose engine is another agent, over the real binary. The agent is a shell script that speaks the protocol.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use bobbin_testkit::{Client, ModelServer, Part, Reply, Script, ScriptedCall};
use serde_json::{Value, json};

use crate::held_place::{Place, STRICT};
use crate::support::{Process, Workspace, agent_text};
use crate::{acp, eca};

/// An agent. Its prompts and how its sessions were opened are in files beside it. A prompt chooses what it does.
const AGENT: &str = r#"#!/bin/sh
say() { printf '%s\n' "$1"; }
answer() { say "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":$2}"; }
update() { say "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s-1\",\"update\":$1}}"; }
text() { update "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$1\"}}"; }
ask() { say "{\"jsonrpc\":\"2.0\",\"id\":$1,\"method\":\"$2\",\"params\":{\"sessionId\":\"s-1\",$3}}"; }
note() { printf '%s\n' "$line" >> answers; }
done_with() { text "$1"; answer "$prompt" '{"stopReason":"end_turn"}'; }
say 'a banner that is no JSON'
echo $$ >> started
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case "$line" in
  *'"method":"initialize"'*)
    deletes=; [ -e deletes ] && deletes='"sessionCapabilities":{"delete":{}},'
    answer "$id" '{"protocolVersion":1,"agentCapabilities":{'"$deletes"'"loadSession":true},"authMethods":[{"id":"key","name":"A key"}]}' ;;
  *'"method":"session/delete"'*) printf '%s\n' "$line" >> deleted; answer "$id" '{}' ;;
  *'"method":"session/new"'*)
    echo new >> opened
    if [ -e login ]; then say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32000,\"message\":\"login\"}}"
    elif [ -e options ]; then answer "$id" "{\"sessionId\":\"s-1\",$(cat options)}"
    else answer "$id" '{"sessionId":"s-1"}'; fi
    [ -e commands ] && update "{\"sessionUpdate\":\"available_commands_update\",\"availableCommands\":$(cat commands)}" ;;
  *'"method":"session/set_'*) printf '%s\n' "$line" >> chosen; answer "$id" '{}' ;;
  *'"method":"session/load"'*)
    echo load >> opened
    if [ -e forgets ]; then say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32603,\"message\":\"gone\"}}"
    else text replayed; answer "$id" '{}'; fi ;;
  *'"method":"session/prompt"'*)
    printf '%s\n' "$line" >> prompts
    prompt=$id
    case "$line" in
    *die*) text 'before the end'; echo 'out of tea' >&2; exit 3 ;;
    *wait*) text brewing ;;
    *files*) ask 20 fs/read_text_file '"path":"'"$PWD"'/new.txt"' ;;
    *outside*) ask 24 fs/read_text_file '"path":"/etc/passwd"' ;;
    *command*) ask 30 terminal/create '"command":"touch brewed; echo tea; echo hot","outputByteLimit":6' ;;
    *leave*) ask 35 terminal/create '"command":"sleep 60"' ;;
    *form*) ask 40 elicitation/create '"mode":"form","message":"Which leaf?","requestedSchema":{"type":"object","required":["leaf"],"properties":{"leaf":{"type":"string"}}}' ;;
    *title*)
      update '{"sessionUpdate":"session_info_update","title":"A pot of tea"}'
      done_with named. ;;
    *reach*) perl reach.pl > reached 2>&1; done_with 'tried.' ;;
    *round*)
      update "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"r-$$-$id\",\"kind\":\"execute\",\"title\":\"Stir\",\"status\":\"in_progress\"}"
      for turn in 1 2 3 4 5 6 7 8; do text "$turn "; sleep 0.02; done
      update "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"r-$$-$id\",\"status\":\"completed\"}"
      done_with stirred. ;;
    *flood*) while :; do text 'more and more and more and more and more and more and more and more'; done ;;
    *swap*)
      update '{"sessionUpdate":"tool_call","toolCallId":"c-3","kind":"execute","title":"Run it","rawInput":{"command":"touch brewed"}}'
      ask 51 session/request_permission '"toolCall":{"toolCallId":"c-3"},"options":[{"optionId":"b","name":"Once","kind":"allow_once"}]' ;;
    *shell*)
      update '{"sessionUpdate":"tool_call","toolCallId":"c-2","kind":"execute","title":"Run it","rawInput":{"command":"touch brewed"}}'
      ask 50 session/request_permission '"toolCall":{"toolCallId":"c-2"},"options":[{"optionId":"a","name":"Always","kind":"allow_always"},{"optionId":"b","name":"Once","kind":"allow_once"}]' ;;
    *)
      update '{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}'
      text 'I '; text edit.
      update '{"sessionUpdate":"plan","entries":[{"content":"boil","priority":"high","status":"in_progress"}]}'
      update '{"sessionUpdate":"usage_update","used":70,"size":1000,"cost":{"amount":0.5,"currency":"USD"}}'
      say '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"c-1","kind":"edit","title":"Edit tea.txt","content":[{"type":"diff","path":"tea.txt","oldText":null,"newText":"hot\n"}]},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}}' ;;
    esac ;;
  *'"id":20,'*)
    note
    ask 21 fs/write_text_file '"path":"'"$PWD"'/new.txt","content":"one\ntwo\nthree\n"' ;;
  *'"id":21,'*)
    note
    ask 22 fs/read_text_file '"path":"'"$PWD"'/new.txt","line":2,"limit":1' ;;
  *'"id":22,'*) note; done_with 'files done.' ;;
  *'"id":24,'*) note; done_with looked. ;;
  *'"id":30,'*)
    note
    case "$line" in
    *'"error"'*) done_with 'not run.' ;;
    *) terminal=${line#*\"terminalId\":\"}; terminal=${terminal%%\"*}
      ask 31 terminal/wait_for_exit '"terminalId":"'"$terminal"'"' ;;
    esac ;;
  *'"id":31,'*) note; ask 32 terminal/output '"terminalId":"'"$terminal"'"' ;;
  *'"id":32,'*) note; ask 33 terminal/release '"terminalId":"'"$terminal"'"' ;;
  *'"id":33,'*) note; ask 34 terminal/output '"terminalId":"'"$terminal"'"' ;;
  *'"id":34,'*) note; done_with run. ;;
  *'"id":35,'*) note; done_with left. ;;
  *'"id":40,'*) note; done_with asked. ;;
  *'"id":51,'*)
    note
    update '{"sessionUpdate":"tool_call_update","toolCallId":"c-3","rawInput":{"command":"touch other"}}'
    ask 30 terminal/create '"command":"touch other"' ;;
  *'"id":50,'*)
    note
    case "$line" in
    *cancelled*) done_with 'not run.' ;;
    *) ask 30 terminal/create '"command":"/bin/sh","args":["-c","touch brewed"]' ;;
    esac ;;
  *'"method":"session/cancel"'*) [ -e deaf ] || answer "$prompt" '{"stopReason":"cancelled"}' ;;
  *'"optionId":"y"'*)
    echo hot > tea.txt
    update '{"sessionUpdate":"tool_call_update","toolCallId":"c-1","status":"completed"}'
    text Done.
    answer "$prompt" '{"stopReason":"end_turn"}' ;;
  *'"outcome"'*)
    text 'Not done.'
    answer "$prompt" '{"stopReason":"end_turn"}' ;;
  esac
done
[ -e deaf ] && sleep 60
"#;

/// Asks the proxy for hosts, and connects to the port in `port` without the proxy.
const REACH: &str = r#"
use IO::Socket::INET;
open(my $file, "<", "port"); chomp(my $port = <$file>);
my ($proxy) = $ENV{HTTPS_PROXY} =~ m{^http://(.*)$} or die "no proxy";
for my $host ("coffee.example.com:443", "localhost:$port") {
    my $socket = IO::Socket::INET->new(PeerAddr => $proxy, Timeout => 10) or die "the proxy is not there";
    print $socket "CONNECT $host HTTP/1.1\r\n\r\n";
    print "$host: ", scalar <$socket>;
}
my $direct = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port", Timeout => 10);
print "direct: ", $direct ? "connected" : "nobody", "\n";
"#;

/// Returns a workspace with the program of an agent.
fn workspace_of_agent() -> Workspace {
    let workspace = Workspace::new();
    let path = workspace.path().join("agent.sh");
    std::fs::write(&path, AGENT).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    workspace
}

/// Returns a workspace with the engine `tea`.
pub(crate) fn workspace() -> Workspace {
    let workspace = workspace_of_agent();
    workspace.configure(&json!({
        "Permissions": { "DefaultApprovalPolicy": "default" }, "Titles": { "Enabled": false },
        "Engines": {
            "tea": { "acp": ["./agent.sh"] },
            "none": { "acp": ["./no-such-agent"] },
            "mute": { "acp": ["/bin/sh", "-c", "echo no tea here >&2; exit 4"] },
        },
        "Sandbox": { "Profile": "full" },
    }));
    workspace
}

async fn thread(client: &mut Client, engine: &str) -> String {
    let identity = json!({ "channelName": "test" });
    let params = json!({ "identity": identity, "config": { "engine": engine } });
    let started = client.call("thread/start", params).await;
    started["thread"]["id"].as_str().unwrap().to_owned()
}

/// Starts a Turn, answers its question if there is one, and returns the ended Turn.
async fn turn(client: &mut Client, thread: &str, text: &str, decision: Option<&str>) -> Value {
    client.start_turn(thread, text).await;
    if let Some(decision) = decision {
        let asked = client.wait_for("item/approval/request").await;
        client.reply(&asked, json!({ "decision": decision })).await;
    }
    ended(client).await
}

/// Returns a client of another server that follows a Thread.
async fn subscribed(server: &Process, thread: &str) -> Client {
    let mut client = server.client("me").await;
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    client
}

async fn ended(client: &mut Client) -> Value {
    let ended = client
        .find("the turn ends", |message| {
            let method = message["method"].as_str().unwrap_or_default();
            ["turn/completed", "turn/failed", "turn/cancelled"].contains(&method)
        })
        .await;
    ended["params"]["turn"].clone()
}

/// Reads the first Turn of a Thread.
async fn first_turn(client: &mut Client, thread: &str) -> Value {
    let params = json!({ "threadId": thread, "includeTurns": true });
    client.call("thread/read", params).await["thread"]["turns"][0].clone()
}

fn error(turn: &Value) -> String {
    turn["error"].to_string()
}

pub(crate) fn read(workspace: &Workspace, name: &str) -> String {
    std::fs::read_to_string(workspace.path().join(name)).unwrap_or_default()
}

fn items<'a>(turn: &'a Value, kind: &str) -> Vec<&'a Value> {
    let items = turn["items"].as_array().unwrap().iter();
    items
        .filter(|item| item["type"] == kind)
        .map(|item| &item["payload"])
        .collect()
}

#[tokio::test]
async fn updates_become_items_and_a_permission_becomes_an_approval() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    client.start_turn(&thread, "Boil.").await;
    let asked = client.wait_for("item/approval/request").await;
    assert_eq!(asked["params"]["operation"], "Edit tea.txt", "{asked}");
    assert_eq!(
        read(&workspace, "tea.txt"),
        "",
        "nothing happens before the answer"
    );
    client.reply(&asked, json!({ "decision": "accept" })).await;
    let turn = ended(&mut client).await;
    assert_eq!(turn["status"], "completed", "{turn}");
    assert_eq!(agent_text(&turn), "I edit.Done.");
    assert_eq!(items(&turn, "reasoningContent")[0]["text"], "hm", "{turn}");
    let call = items(&turn, "toolCall")[0];
    assert_eq!(
        (&call["toolName"], &call["arguments"]["title"]),
        (&json!("edit"), &json!("Edit tea.txt"))
    );
    let result = items(&turn, "toolResult")[0];
    assert_eq!(result["success"], true, "{result}");
    assert_eq!(read(&workspace, "tea.txt"), "hot\n");

    // The next Turn of another server loads the session: nothing of its replay is shown, and no prompt comes twice.
    server.kill().await;
    let server = workspace.web_socket();
    let mut client = subscribed(&server, &thread).await;
    let again = self::turn(&mut client, &thread, "Again.", Some("decline")).await;
    assert_eq!(agent_text(&again), "I edit.Not done.");
    let result = items(&again, "toolResult")[0];
    assert_eq!(
        result["success"], false,
        "a call without an end gets one: {result}"
    );
    assert_eq!(read(&workspace, "opened"), "new\nload\n");
    assert_eq!(read(&workspace, "prompts").lines().count(), 2);
}

#[tokio::test]
async fn a_session_that_is_gone_is_replaced_and_gets_the_conversation() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    turn(&mut client, &thread, "The pot is blue.", Some("accept")).await;
    server.kill().await;
    let server = workspace.web_socket();
    let mut client = subscribed(&server, &thread).await;
    std::fs::write(workspace.path().join("forgets"), "").unwrap();
    let second = turn(&mut client, &thread, "Which pot?", Some("accept")).await;
    assert_eq!(read(&workspace, "opened"), "new\nload\nnew\n");
    let prompts = read(&workspace, "prompts");
    let last = prompts.lines().last().unwrap();
    assert!(
        last.contains("The pot is blue.") && last.contains("Which pot?"),
        "{last}"
    );
    let note = &items(&second, "error")[0]["message"];
    assert!(note.as_str().unwrap().contains("does not remember"), "{note}");
}

#[tokio::test]
async fn an_agent_waits_for_the_next_turn_and_is_started_again_once_it_is_gone() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    for round in 1..=2 {
        let turn = turn(&mut client, &thread, "Boil.", Some("accept")).await;
        assert_eq!(turn["status"], "completed", "{turn}");
        assert_eq!(read(&workspace, "started").lines().count(), 1, "round {round}");
    }
    assert_eq!(read(&workspace, "opened"), "new\n");
    // One that is stopped ends with everything that it has started, and one that died is replaced.
    let started = client.start_turn(&thread, "Please wait.").await;
    client
        .find("the agent speaks", |message| {
            message.to_string().contains("brewing")
        })
        .await;
    client
        .call("turn/interrupt", json!({ "threadId": thread, "turnId": started }))
        .await;
    ended(&mut client).await;
    let turn = turn(&mut client, &thread, "Boil.", Some("accept")).await;
    assert_eq!(turn["status"], "completed", "{turn}");
    assert_eq!(read(&workspace, "opened"), "new\nload\n");
    let agents = read(&workspace, "started");
    let waiting = agents.lines().last().unwrap();
    kill(waiting).await;
    let turn = self::turn(&mut client, &thread, "Boil.", Some("accept")).await;
    assert_eq!(turn["status"], "completed", "{turn}");
    assert_eq!(read(&workspace, "opened"), "new\nload\nload\n");
    assert_eq!(read(&workspace, "started").lines().count(), 3);
}

#[tokio::test]
async fn a_waiting_agent_is_started_again_when_there_is_more_to_hide_from_it() {
    if Place::new().held(STRICT).await.is_none() {
        // Only bubblewrap hides files of the workspace.
        return;
    }
    let workspace = workspace_of_agent();
    workspace.configure(&json!({
        "Permissions": { "Rules": [{ "Action": "deny", "Path": "vault/**", "Operation": "read" }] },
        "Titles": { "Enabled": false }, "Engines": { "tea": { "acp": ["./agent.sh"] } },
    }));
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    for (round, agents) in [(1, 1), (2, 1), (3, 2), (4, 2)] {
        if round == 3 {
            std::fs::create_dir(workspace.path().join("vault")).unwrap();
            std::fs::write(workspace.path().join("vault/key"), "").unwrap();
        }
        let turn = turn(&mut client, &thread, "A title, please.", None).await;
        assert_eq!(turn["status"], "completed", "{turn}");
        assert_eq!(
            read(&workspace, "started").lines().count(),
            agents,
            "round {round}"
        );
    }
    assert_eq!(read(&workspace, "opened"), "new\nload\n");
}

#[tokio::test]
async fn a_deleted_thread_takes_the_session_of_its_agent_along() {
    let workspace = workspace();
    std::fs::write(workspace.path().join("deletes"), "").unwrap();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    turn(&mut client, &thread, "Boil.", Some("accept")).await;
    let folder = workspace.state_folder().join("engines");
    let files = || std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(files(), 1);
    client.call("thread/delete", json!({ "threadId": thread })).await;
    while files() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let deleted = read(&workspace, "deleted");
    assert!(deleted.contains(r#""sessionId":"s-1""#), "{deleted}");
    let agent = read(&workspace, "started");
    assert!(!std::path::Path::new("/proc").join(agent.trim()).exists());
}

#[tokio::test]
async fn commands_of_an_agent_are_listed_and_reach_it_as_text() {
    let workspace = workspace();
    let commands = json!([
        { "name": "steep", "description": "Steeps a leaf.", "input": { "hint": "which leaf" } },
        { "name": "compact", "description": "Its own." }, { "name": "stop", "description": "Not this." },
    ]);
    std::fs::write(workspace.path().join("commands"), commands.to_string()).unwrap();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    let listed = async |client: &mut Client, params: Value| {
        let listed = client.call("command/list", params).await;
        let listed = listed["commands"].as_array().unwrap().clone();
        let all: Vec<(String, String)> = listed
            .iter()
            .map(|command| (command["name"].to_string(), command["description"].to_string()))
            .collect();
        all
    };
    let of_thread = json!({ "threadId": thread });
    let before = listed(&mut client, of_thread.clone()).await;
    assert_eq!(
        before,
        listed(&mut client, json!({})).await,
        "the agent has not worked yet"
    );
    turn(&mut client, &thread, "Boil.", Some("accept")).await;
    let after = listed(&mut client, of_thread.clone()).await;
    assert_eq!(after[0].0, "\"/steep\"");
    let descriptions = |name: &str| -> Vec<&str> {
        let named = after.iter().filter(|(own, _)| own == name);
        named.map(|(_, description)| description.as_str()).collect()
    };
    assert_eq!(descriptions("\"/compact\""), ["\"Its own.\""]);
    assert!(!descriptions("\"/stop\"").contains(&"\"Not this.\""));
    assert_eq!(listed(&mut client, json!({})).await, before);

    let input = json!([{ "type": "commandRef", "name": "/steep", "argsText": "oolong" }]);
    client
        .call("turn/start", json!({ "threadId": thread, "input": input }))
        .await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "decline" })).await;
    ended(&mut client).await;
    let execute = json!({ "threadId": thread, "command": "/steep", "arguments": ["green"] });
    let executed = client.call("command/execute", execute).await;
    assert_eq!(executed["expandedPrompt"], "/steep green", "{executed}");
    let prompts = read(&workspace, "prompts");
    assert!(
        prompts
            .lines()
            .last()
            .unwrap()
            .contains(r#""text":"/steep oolong""#),
        "{prompts}"
    );

    // Another server knows them without the agent.
    server.kill().await;
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    assert_eq!(listed(&mut client, of_thread).await, after);
    server.kill().await;

    // So do editors, by either protocol.
    let (_child, mut client) = acp::greeted(&workspace).await;
    let params = json!({ "sessionId": thread, "cwd": workspace.path(), "mcpServers": [] });
    client.call("session/load", params).await;
    let update = client
        .find("its commands", |message| {
            message["params"]["update"]["sessionUpdate"] == "available_commands_update"
        })
        .await;
    let commands = &update["params"]["update"]["availableCommands"];
    let steep =
        json!({ "name": "steep", "description": "Steeps a leaf.", "input": { "hint": "which leaf" } });
    assert_eq!(commands[0], steep, "{commands}");
    let (_child, mut client) = eca::start(&workspace, &["server"]);
    client.call("initialize", eca::hello(&workspace)).await;
    client.notify("initialized", json!([])).await;
    let query = json!({ "chatId": thread, "query": "leaf" });
    let found = client.call("chat/queryCommands", query).await;
    assert_eq!(found["commands"][0]["name"], "steep", "{found}");
    let prompt = json!({ "chatId": thread, "message": "/steep mint" });
    client.call("chat/prompt", prompt).await;
    client
        .find("its question", |message| eca::content(message, "toolCallRun"))
        .await;
    let prompts = read(&workspace, "prompts");
    assert!(
        prompts
            .lines()
            .last()
            .unwrap()
            .contains(r#""text":"/steep mint""#),
        "{prompts}"
    );
}

/// Kills an agent, and waits until its parent is gone, too.
async fn kill(agent: &str) {
    let stat = std::fs::read_to_string(format!("/proc/{agent}/stat")).unwrap();
    // The fourth field, behind a name in brackets.
    let parent = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap();
    let pid = nix::unistd::Pid::from_raw(agent.parse().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    let is_there = || std::path::Path::new("/proc").join(parent).exists();
    while is_there() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_turn_that_is_stopped_ends_with_what_was_shown() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    let started = client.start_turn(&thread, "Please wait.").await;
    client
        .find("the agent speaks", |message| {
            message.to_string().contains("brewing")
        })
        .await;
    client
        .call("turn/interrupt", json!({ "threadId": thread, "turnId": started }))
        .await;
    ended(&mut client).await;
    let turn = first_turn(&mut client, &thread).await;
    assert_eq!(turn["status"], "cancelled");
    assert!(turn.to_string().contains("brewing"), "{turn}");
}

#[tokio::test]
async fn a_server_that_is_killed_ends_the_turn_and_sends_nothing_again() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    client.start_turn(&thread, "Please wait.").await;
    client
        .find("the agent speaks", |message| {
            message.to_string().contains("brewing")
        })
        .await;
    server.kill().await;
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let mut first = first_turn(&mut client, &thread).await;
    while first["completedAt"].is_null() {
        first = first_turn(&mut client, &thread).await;
    }
    assert_eq!(first["status"], "failed", "{first}");
    assert!(first.to_string().contains("not sent again"), "{first}");
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    let next = turn(&mut client, &thread, "Go on.", Some("accept")).await;
    assert_eq!(next["status"], "completed", "{next}");
    let prompts = read(&workspace, "prompts");
    assert_eq!(prompts.matches("Please wait.").count(), 1, "{prompts}");
    assert_eq!(read(&workspace, "opened"), "new\nload\n");
}

#[tokio::test]
async fn an_agent_that_dies_or_cannot_be_used_says_why() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let tea = thread(&mut client, "tea").await;
    let died = turn(&mut client, &tea, "Please die.", None).await;
    assert_eq!(agent_text(&died), "before the end");
    assert!(error(&died).contains("out of tea"), "{died}");
    for (engine, words) in [
        ("none", "does not start"),
        ("mute", "no tea here"),
        ("nobody", "known are"),
    ] {
        let thread = thread(&mut client, engine).await;
        let failed = turn(&mut client, &thread, "Boil.", None).await;
        assert_eq!(failed["status"], "failed", "{engine}");
        assert!(error(&failed).contains(words), "{engine}: {failed}");
    }
    std::fs::write(workspace.path().join("login"), "").unwrap();
    let thread = thread(&mut client, "tea").await;
    let failed = turn(&mut client, &thread, "Boil.", None).await;
    assert!(
        error(&failed).contains("A key") && error(&failed).contains("agent.sh"),
        "{failed}"
    );
}

#[tokio::test]
async fn exec_runs_a_prompt_with_an_agent() {
    let workspace = workspace();
    let ran = workspace
        .run(&["exec", "--agent", "tea", "--approve", "Boil."])
        .await;
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(
        said.contains("Done."),
        "{said} {}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

/// Returns the results, or the errors, of the agent's requests, in order.
fn answers(workspace: &Workspace) -> Vec<Value> {
    let lines = read(workspace, "answers");
    let answers = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    answers
        .map(|answer| answer.get("result").or(answer.get("error")).unwrap().clone())
        .collect()
}

#[tokio::test]
async fn files_are_read_and_written_for_an_agent_and_can_be_undone() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    let turn = turn(&mut client, &thread, "The files.", None).await;
    assert_eq!(agent_text(&turn), "files done.", "{turn}");
    assert_eq!(
        answers(&workspace),
        [json!({ "content": "" }), json!({}), json!({ "content": "two\n" })],
        "a file that is not there is empty"
    );
    assert_eq!(read(&workspace, "new.txt"), "one\ntwo\nthree\n");
    let undone = client
        .call("turn/revert", json!({ "threadId": thread, "turnId": turn["id"] }))
        .await;
    assert!(!workspace.path().join("new.txt").exists(), "{undone}");
}

#[tokio::test]
async fn rules_and_the_workspace_bound_the_files_of_an_agent() {
    let workspace = workspace();
    workspace.configure(&json!({
        "Titles": { "Enabled": false }, "Sandbox": { "Profile": "full" },
        "Engines": { "tea": { "acp": ["./agent.sh"] } },
        "Permissions": { "Rules": [{ "Action": "deny", "Path": "new.txt", "Operation": "write" }] },
    }));
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    turn(&mut client, &thread, "The files.", None).await;
    let said = answers(&workspace);
    assert_eq!(said[1]["code"], -32602, "{said:?}");
    assert!(!workspace.path().join("new.txt").exists());
    turn(&mut client, &thread, "Look outside.", None).await;
    let last = answers(&workspace).pop().unwrap();
    assert_eq!(last["code"], -32602, "{last}");
    assert!(last["message"].as_str().unwrap().contains("outside"), "{last}");
}

#[tokio::test]
async fn a_command_of_an_agent_runs_here_after_its_question() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server
        .client_with(
            "me",
            json!({ "commandExecutionStreaming": true, "approvalSupport": true }),
        )
        .await;
    let thread = thread(&mut client, "tea").await;
    client.start_turn(&thread, "A command.").await;
    let asked = client.wait_for("item/approval/request").await;
    assert_eq!(asked["params"]["approvalType"], "shell", "{asked}");
    assert!(!workspace.path().join("brewed").exists());
    client.reply(&asked, json!({ "decision": "accept" })).await;
    let ran = ended(&mut client).await;
    assert_eq!(agent_text(&ran), "run.", "{ran}");
    let said = answers(&workspace);
    assert_eq!(said[1]["exitCode"], 0, "{said:?}");
    assert_eq!(
        (&said[2]["output"], &said[2]["truncated"]),
        (&json!("a\nhot\n"), &json!(true)),
        "the start is cut"
    );
    assert_eq!(
        said[4]["code"], -32002,
        "a terminal that was released is gone: {said:?}"
    );
    let execution = items(&ran, "commandExecution")[0];
    assert_eq!(
        (&execution["status"], &execution["aggregatedOutput"]),
        (&json!("completed"), &json!("tea\nhot\n")),
        "{execution}"
    );
    // A refusal is an error for the agent, and nothing runs.
    std::fs::remove_file(workspace.path().join("brewed")).unwrap();
    let refused = turn(&mut client, &thread, "A command.", Some("decline")).await;
    assert_eq!(agent_text(&refused), "not run.", "{refused}");
    assert!(!workspace.path().join("brewed").exists());
}

#[tokio::test]
async fn a_permission_covers_the_command_that_it_named() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    // One question, although the agent runs the command in a terminal of ours.
    let ran = turn(&mut client, &thread, "A shell.", Some("accept")).await;
    assert_eq!(agent_text(&ran), "run.", "{ran}");
    assert!(workspace.path().join("brewed").exists());
    let chosen = &answers(&workspace)[0]["outcome"]["optionId"];
    assert_eq!(chosen, "b", "the option for once");
    // Another command in its place is asked about.
    client.start_turn(&thread, "A swap.").await;
    for decision in ["accept", "decline"] {
        let asked = client.wait_for("item/approval/request").await;
        client.reply(&asked, json!({ "decision": decision })).await;
    }
    let swapped = ended(&mut client).await;
    assert_eq!(agent_text(&swapped), "not run.", "{swapped}");
    assert!(!workspace.path().join("other").exists());
}

#[tokio::test]
async fn an_answer_about_a_command_without_the_network_covers_no_other_one() {
    if Place::new().held(STRICT).await.is_none() {
        return;
    }
    let workspace = workspace_of_agent();
    workspace.configure(&json!({
        "Titles": { "Enabled": false }, "Sandbox": { "Network": true },
        "Engines": {
            "tea": { "acp": ["./agent.sh"], "hosts": ["tea.example.com"] },
            "coffee": { "acp": ["./agent.sh"] },
        },
    }));
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let with_hosts = thread(&mut client, "tea").await;
    client.start_turn(&with_hosts, "A command.").await;
    let asked = client.wait_for("item/approval/request").await;
    let reason = asked["params"]["reason"].as_str().unwrap();
    assert!(reason.contains(", no network ("), "{asked}");
    client.reply(&asked, json!({ "decision": "acceptAlways" })).await;
    assert_eq!(agent_text(&ended(&mut client).await), "run.");

    let usual = thread(&mut client, "coffee").await;
    client.start_turn(&usual, "A command.").await;
    let asked = client.wait_for("item/approval/request").await;
    let reason = asked["params"]["reason"].as_str().unwrap();
    assert!(reason.contains(", with network ("), "{asked}");
    client.reply(&asked, json!({ "decision": "decline" })).await;
    assert_eq!(agent_text(&ended(&mut client).await), "not run.");
    // The answer counts where it was given.
    let again = turn(&mut client, &with_hosts, "A command.", None).await;
    assert_eq!(agent_text(&again), "run.", "{again}");
}

#[tokio::test]
async fn what_an_agent_leaves_running_ends_with_its_turn() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    let ran = turn(&mut client, &thread, "Please leave one.", Some("accept")).await;
    assert_eq!(ran["status"], "completed", "{ran}");
    let result = items(&ran, "toolResult")[0];
    assert_eq!(result["success"], false, "{result}");
}

#[tokio::test]
async fn rules_answer_an_agent() {
    let workspace = workspace();
    for (action, said) in [("allow", "run."), ("deny", "not run.")] {
        workspace.configure(&json!({
            "Titles": { "Enabled": false }, "Sandbox": { "Profile": "full" },
            "Engines": { "tea": { "acp": ["./agent.sh"] } },
            "Permissions": { "Rules": [{ "Action": action, "Command": "touch brewed" }] },
        }));
        let server = workspace.web_socket();
        let mut client = server.client("me").await;
        let thread = thread(&mut client, "tea").await;
        let ran = turn(&mut client, &thread, "A shell.", None).await;
        assert_eq!(agent_text(&ran), said, "{action}: {ran}");
        server.kill().await;
    }
}

#[tokio::test]
async fn a_form_of_an_agent_is_filled_in_by_a_user() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let declared = json!({ "appBindingVersion": 1, "mcpElicitation": true, "approvalSupport": true });
    let mut client = server.client_with("me", declared).await;
    let thread = thread(&mut client, "tea").await;
    client.start_turn(&thread, "A form.").await;
    let asked = client.wait_for("mcpServer/elicitation/request").await;
    assert_eq!(asked["params"]["serverName"], "tea", "{asked}");
    let answer = json!({ "action": "accept", "content": { "leaf": "mint" } });
    client.reply(&asked, answer.clone()).await;
    ended(&mut client).await;
    assert_eq!(answers(&workspace), [answer]);
    // Without anybody to ask, the agent goes on.
    let mut other = server.client("other").await;
    let thread = self::thread(&mut other, "tea").await;
    client
        .call("thread/unsubscribe", json!({ "threadId": thread }))
        .await;
    turn(&mut other, &thread, "A form.", None).await;
    assert_eq!(answers(&workspace)[1]["action"], "cancel");
}

#[tokio::test]
async fn the_agent_names_the_thread_and_gets_its_model_and_mode() {
    let workspace = workspace();
    let options = r#""configOptions":[{"id":"m","name":"Model","category":"model","type":"select","currentValue":"a","options":[{"value":"a","name":"A"},{"value":"b","name":"B"}]}],"modes":{"currentModeId":"code","availableModes":[{"id":"code","name":"Code"},{"id":"plan","name":"Plan"}]}"#;
    std::fs::write(workspace.path().join("options"), options).unwrap();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let config = json!({ "engine": "tea", "model": "B", "mode": "plan" });
    let params = json!({ "identity": { "channelName": "test" }, "config": config });
    let started = client.call("thread/start", params).await;
    let thread = started["thread"]["id"].as_str().unwrap().to_owned();
    turn(&mut client, &thread, "A title.", None).await;
    let renamed = client.wait_for("thread/renamed").await;
    assert_eq!(renamed["params"]["displayName"], "A title.", "{renamed}");
    let renamed = client.wait_for("thread/renamed").await;
    assert_eq!(renamed["params"]["displayName"], "A pot of tea", "{renamed}");
    let chosen = read(&workspace, "chosen");
    assert!(
        chosen.contains(r#""sessionId":"s-1","configId":"m","value":"b""#)
            && chosen.contains(r#""modeId":"plan""#),
        "{chosen}"
    );
}

#[tokio::test]
async fn an_agent_that_floods_is_ended_and_one_that_is_deaf_is_killed() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    let flooded = turn(&mut client, &thread, "Please flood.", None).await;
    assert!(
        error(&flooded).contains("flood") || error(&flooded).contains("since it sent"),
        "{}",
        error(&flooded)
    );
    std::fs::write(workspace.path().join("deaf"), "").unwrap();
    let started = client.start_turn(&thread, "Please wait.").await;
    client
        .find("the agent speaks", |message| {
            message.to_string().contains("brewing")
        })
        .await;
    client
        .call("turn/interrupt", json!({ "threadId": thread, "turnId": started }))
        .await;
    let cancelled = ended(&mut client).await;
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
    // It stays after the end of its input, and the next Turn does not wait for it.
    std::fs::remove_file(workspace.path().join("deaf")).unwrap();
    let next = turn(&mut client, &thread, "Go on.", Some("accept")).await;
    assert_eq!(next["status"], "completed", "{next}");
}

#[tokio::test]
async fn the_plan_and_the_use_of_an_agent_are_recorded() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    let turn = turn(&mut client, &thread, "Boil.", Some("accept")).await;
    let plan = client.wait_for("plan/updated").await;
    assert_eq!(plan["params"]["todos"][0]["content"], "boil", "{plan}");
    assert_eq!(turn["cost"], 0.5, "{turn}");
}

#[tokio::test]
async fn clients_list_the_agents_that_can_run_threads() {
    let workspace = workspace();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let listed = client.call("engine/list", json!({})).await;
    let engines = listed["engines"].as_array().unwrap();
    let names: Vec<&str> = engines
        .iter()
        .map(|engine| engine["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["mute", "none", "tea"]);
    assert_eq!(
        engines[2],
        json!({ "name": "tea", "trusted": true, "network": false })
    );
}

#[tokio::test]
async fn a_subagent_can_be_another_agent() {
    let call = |tool: &str, arguments: Value| {
        Reply::of([Part::Call(ScriptedCall {
            id: format!("{tool}-1"),
            tool: tool.into(),
            arguments,
        })])
    };
    let spawn = json!({ "agentPrompt": "The files.", "profile": "second" });
    let model = ModelServer::start(Script::of([
        call("SpawnAgent", spawn),
        call("WaitAgent", json!({})),
        Reply::of([Part::Text("All done.".into())]),
    ]))
    .await
    .unwrap();
    let workspace = workspace();
    workspace.configure(&json!({
        "Permissions": { "DefaultApprovalPolicy": "default" }, "Titles": { "Enabled": false },
        "Providers": { "script": { "Wire": "chat", "BaseUrl": model.base_url() } },
        "Model": "script/scripted", "Sandbox": { "Profile": "full" },
        "Engines": { "tea": { "acp": ["./agent.sh"] } },
        "SubAgentProfiles": { "second": { "runtime": "acp", "engine": "tea" } },
    }));
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, "Go.").await;
    let turn = ended(&mut client).await;
    assert_eq!(turn["status"], "completed", "{turn}");
    assert!(turn.to_string().contains("files done."), "{turn}");
    assert_eq!(read(&workspace, "new.txt"), "one\ntwo\nthree\n");
}

#[tokio::test]
async fn an_agent_with_hosts_has_no_network_but_a_proxy_that_refuses_other_hosts() {
    let workspace = workspace_of_agent();
    std::fs::write(workspace.path().join("reach.pl"), REACH).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let number = port.local_addr().unwrap().port();
    std::fs::write(workspace.path().join("port"), number.to_string()).unwrap();
    workspace.configure(&json!({
        "Titles": { "Enabled": false },
        "Engines": { "tea": {
            "acp": ["./agent.sh"], "hosts": ["tea.example.com", format!("localhost:{number}")],
        } },
    }));
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = thread(&mut client, "tea").await;
    let turn = turn(&mut client, &thread, "Please reach out.", None).await;
    if Place::new().held(STRICT).await.is_none() {
        // Without bubblewrap there is no network of its own to put a proxy in.
        assert!(error(&turn).contains("needs bubblewrap"), "{turn}");
        return;
    }
    assert_eq!(turn["status"], "completed", "{turn}");
    let reached = read(&workspace, "reached");
    assert_eq!(
        reached.replace('\r', ""),
        format!(
            "coffee.example.com:443: HTTP/1.1 403 Forbidden\nlocalhost:{number}: HTTP/1.1 403 Forbidden\ndirect: nobody\n"
        )
    );
    let notes = items(&turn, "error");
    let notes: Vec<&str> = notes.iter().filter_map(|note| note["message"].as_str()).collect();
    assert_eq!(notes.len(), 2, "{turn}");
    assert!(
        notes[0].contains("coffee.example.com") && notes[0].contains("Engines.tea.Hosts"),
        "{notes:?}"
    );
    assert!(notes[1].contains("leads into this machine"), "{notes:?}");
}
