//! A native client made of plain JSON, as lean as it gets: it must not be what is measured.

use anyhow::bail;
use serde_json::{Value, json};

use crate::link::Link;

/// One client that has shaken hands.
pub(crate) struct Client {
    link: Link,
    next_id: u64,
}

/// Who the Threads of a run belong to.
pub(crate) fn identity() -> Value {
    json!({ "channelName": "bench" })
}

impl Client {
    /// Connects and shakes hands.
    pub(crate) async fn connect(address: &str) -> anyhow::Result<Self> {
        Self::ready(Link::web_socket(address).await?).await
    }

    /// Shakes hands over a link.
    pub(crate) async fn ready(link: Link) -> anyhow::Result<Self> {
        let mut client = Self { link, next_id: 1 };
        client.initialize().await?;
        Ok(client)
    }

    async fn initialize(&mut self) -> anyhow::Result<()> {
        let hello = json!({
            "clientInfo": { "name": "bench", "version": "1" },
            "capabilities": {
                "approvalSupport": true,
                "toolExecutionLifecycle": true,
                "extensions": { "hermesUi": { "dialogs": true } },
            },
        });
        self.call("initialize", &hello).await?;
        let ready = json!({ "jsonrpc": "2.0", "method": "initialized" });
        self.link.send(ready.to_string()).await
    }

    /// Sends a request and returns its id.
    pub(crate) async fn request(&mut self, method: &str, params: &Value) -> anyhow::Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.link.send(request.to_string()).await?;
        Ok(id)
    }

    /// Answers a request of the server.
    pub(crate) async fn reply(&mut self, id: &Value, result: &Value) -> anyhow::Result<()> {
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        self.link.send(answer.to_string()).await
    }

    /// Returns the next message, whatever it is.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&self.link.next().await?)?)
    }

    /// Returns the next message that is an answer, with its id.
    pub(crate) async fn answer(&mut self) -> anyhow::Result<(u64, Value)> {
        loop {
            let message = self.next().await?;
            if message.get("method").is_none()
                && let Some(id) = message["id"].as_u64()
            {
                return Ok((id, message));
            }
        }
    }

    /// Sends a request and returns its result, passing over everything else.
    pub(crate) async fn call(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        let id = self.request(method, params).await?;
        loop {
            let (answered, mut answer) = self.answer().await?;
            if answered == id {
                return match answer.get_mut("result") {
                    Some(result) => Ok(result.take()),
                    None => bail!("{method}: {answer}"),
                };
            }
        }
    }

    /// Waits for a notification or request of a method, passing over everything else.
    pub(crate) async fn wait_for(&mut self, method: &str) -> anyhow::Result<Value> {
        loop {
            let message = self.next().await?;
            match message["method"].as_str() {
                Some(found) if found == method => return Ok(message),
                Some("turn/failed" | "turn/cancelled") => bail!("{message}"),
                _ => {}
            }
        }
    }

    /// Starts a Thread and returns its id.
    pub(crate) async fn start_thread(&mut self) -> anyhow::Result<String> {
        let result = self
            .call("thread/start", &json!({ "identity": identity() }))
            .await?;
        thread_id(&result)
    }

    /// Asks for a Turn.
    pub(crate) async fn start_turn(&mut self, thread: &str, prompt: &str) -> anyhow::Result<u64> {
        let input = json!([{ "type": "text", "text": prompt }]);
        self.request("turn/start", &json!({ "threadId": thread, "input": input }))
            .await
    }

    /// Subscribes to a Thread.
    pub(crate) async fn subscribe(&mut self, thread: &str) -> anyhow::Result<()> {
        self.call("thread/subscribe", &json!({ "threadId": thread }))
            .await
            .map(drop)
    }

    /// Gives up the protocol: what follows is read as bytes.
    pub(crate) fn into_link(self) -> Link {
        self.link
    }
}

/// Returns the Thread's id in an answer.
pub(crate) fn thread_id(result: &Value) -> anyhow::Result<String> {
    match result["thread"]["id"].as_str() {
        Some(id) => Ok(id.to_owned()),
        None => bail!("an answer without a thread: {result}"),
    }
}
