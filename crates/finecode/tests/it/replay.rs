//! A runner that answers as a published one did: it replays recorded frames of one environment.
//!
//! A request is answered with what followed its recorded twin, up to the answer. Requests that were recorded in between,
//! in either direction, are waited for.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

struct Frame {
    from_runner: bool,
    message: Value,
    used: bool,
}

struct Replay {
    frames: Vec<Frame>,
    input: Box<dyn BufRead>,
    output: Box<dyn Write>,
    /// Ids of the manager by those that were recorded, and tokens likewise.
    ids: HashMap<String, Value>,
    tokens: HashMap<String, Value>,
}

pub(crate) fn serve(fixture: &str, arguments: &str, port: bool) {
    let env = arguments.split("--env-name=").nth(1).unwrap();
    let env = env.split(' ').next().unwrap();
    let text = std::fs::read_to_string(fixture).unwrap();
    let frames = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let frames = frames.filter(|frame| frame["env"] == env).map(|frame| Frame {
        from_runner: frame["from"] == "runner",
        message: frame["message"].clone(),
        used: false,
    });
    let (input, output): (Box<dyn Read>, Box<dyn Write>) = if port {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        println!(
            "Serving on ('127.0.0.1', {})",
            listener.local_addr().unwrap().port()
        );
        std::io::stdout().flush().unwrap();
        let (stream, _) = listener.accept().unwrap();
        (Box::new(stream.try_clone().unwrap()), Box::new(stream))
    } else {
        (Box::new(std::io::stdin()), Box::new(std::io::stdout()))
    };
    let mut replay = Replay {
        frames: frames.collect(),
        input: Box::new(BufReader::new(input)),
        output,
        ids: HashMap::new(),
        tokens: HashMap::new(),
    };
    while let Some(message) = replay.read() {
        if message["method"] == "exit" {
            return;
        }
        if let Some(at) = replay.matching(&message) {
            replay.follow(at, &message);
        } else if let Some(id) = message.get("id").filter(|_| message.get("method").is_some()) {
            let answer = match message["method"].as_str() {
                Some("shutdown" | "finecodeRunner/updateConfig") => json!({ "id": id, "result": {} }),
                _ => json!({ "id": id, "error": { "code": -32601, "message": "not recorded" } }),
            };
            replay.write(answer);
        }
    }
}

impl Replay {
    fn read(&mut self) -> Option<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.input.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.input.read_exact(&mut body).unwrap();
        Some(serde_json::from_slice(&body).unwrap())
    }

    fn write(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        let body = message.to_string();
        write!(self.output, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.output.flush().unwrap();
    }

    /// Returns the recorded twin of a message of the manager.
    fn matching(&self, message: &Value) -> Option<usize> {
        let same = |frame: &Frame| {
            let recorded = &frame.message;
            let part = |name: &str| recorded["params"][name] == message["params"][name];
            !frame.used
                && !frame.from_runner
                && message.get("method").is_some()
                && recorded["method"] == message["method"]
                && part("actionName")
                && part("handlerNames")
                && (message["method"] != "actions/run" || part("params"))
        };
        self.frames.iter().position(same)
    }

    /// Notes the ids and tokens of a message beside those of its twin.
    fn note(&mut self, at: usize, message: &Value) {
        self.frames[at].used = true;
        let recorded = self.frames[at].message.clone();
        if let Some(id) = message.get("id") {
            self.ids.insert(recorded["id"].to_string(), id.clone());
        }
        for name in [
            "partialResultToken",
            "progressToken",
            "partial_result_token",
            "progress_token",
        ] {
            let token = &message["params"]["options"][name];
            if !token.is_null() {
                self.tokens
                    .insert(recorded["params"]["options"][name].to_string(), token.clone());
            }
        }
    }

    /// Sends what followed a recorded request, until everything that was asked has its answer.
    fn follow(&mut self, at: usize, message: &Value) {
        self.note(at, message);
        let mut at = at + 1;
        while !self.ids.is_empty() && at < self.frames.len() {
            let recorded = self.frames[at].message.clone();
            let is_answer = recorded.get("method").is_none();
            match (self.frames[at].from_runner, is_answer) {
                (true, true) => {
                    if let Some(id) = self.ids.remove(&recorded["id"].to_string()) {
                        let mut answer = recorded;
                        answer["id"] = id;
                        self.write(answer);
                    }
                }
                (true, false) => {
                    let mut message = recorded;
                    if let Some(token) = self.tokens.get(&message["params"]["token"].to_string()) {
                        message["params"]["token"] = token.clone();
                    }
                    self.write(message);
                }
                // The answer to a request of the runner, or a request of its own: both have to come.
                (false, _) if !self.frames[at].used => {
                    let Some(message) = self.read() else { return };
                    if is_answer {
                        self.frames[at].used = true;
                    } else {
                        assert_eq!(message["method"], recorded["method"]);
                        if message.get("id").is_some() {
                            self.note(at, &message);
                        }
                    }
                }
                (false, _) => {}
            }
            at += 1;
        }
        self.ids.clear();
    }
}
