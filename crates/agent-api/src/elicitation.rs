//! Questions of MCP servers to a client that shows them as the servers mean them (AppServer protocol 07 §7.5).
//!
//! Each question goes to one connection: the one that started the Turn, else one that follows the Thread. No other is
//! asked if it does not answer. An answer counts only if it fits the question, so a server gets an acceptance only from
//! a user. A dialect registers its connections with [`Elicitors`].

use std::sync::Arc;
use std::time::Duration;

use bobbin_model::{Json, ThreadId, TurnId};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::Value;

use crate::json_schema::JsonSchema;

/// A question of an MCP server.
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    /// The server.
    pub server: String,
    /// The Thread of the call during which it asks.
    pub thread: ThreadId,
    /// The Turn of that call; `None` outside of a Turn.
    pub turn: Option<TurnId>,
    /// Its text for the user.
    pub message: String,
    /// The task of the user.
    pub ask: Elicit,
    /// Further members that the server sends with it.
    pub meta: Option<Json>,
}

/// The task of a user.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicit {
    /// Fill in a form.
    Form {
        /// JSON Schema of the content.
        schema: Value,
    },
    /// Open a page of the web.
    Url {
        /// Its address.
        url: String,
        /// The server's name for the question.
        id: Option<String>,
    },
}

/// A user's decision about a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElicitAction {
    /// The user agrees; a form has its content.
    Accept,
    /// The user says no.
    Decline,
    /// The user does not decide.
    Cancel,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Elicited {
    /// The decision.
    pub action: ElicitAction,
    /// The content of a form that was accepted.
    pub content: Option<Value>,
    /// Further members for the server.
    pub meta: Option<Json>,
}

impl Elicited {
    /// The answer to a question that nobody needs to answer any more.
    pub const CANCELLED: Self = Self {
        action: ElicitAction::Cancel,
        content: None,
        meta: None,
    };
}

/// Reason why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotElicited {
    /// No connection takes such questions.
    #[error("no client is there that can be asked")]
    Nobody,
    /// The connection has ended.
    #[error("the client that was asked is gone")]
    Gone,
    /// The client answered with an error. Its text is not for servers.
    #[error("the client that was asked could not ask its user")]
    Refused,
    /// The answer does not fit the question.
    #[error("the client's answer does not fit: {0}")]
    Unfit(String),
    /// No answer came in time.
    #[error("nobody has answered within {0:?}")]
    Late(Duration),
}

impl Elicitation {
    /// Checks that an answer fits. Content of JSON's `null` counts as none.
    ///
    /// # Errors
    /// [`NotElicited::Unfit`].
    pub fn checked(&self, mut answer: Elicited) -> Result<Elicited, NotElicited> {
        let unfit = |why: &str| Err(NotElicited::Unfit(why.to_owned()));
        answer.content = answer.content.filter(|content| !content.is_null());
        match (&self.ask, answer.action) {
            (Elicit::Form { schema }, ElicitAction::Accept) => {
                let content = answer
                    .content
                    .get_or_insert_with(|| Value::Object(serde_json::Map::new()));
                if !content.is_object() {
                    return unfit("the content is no object");
                }
                let schema = JsonSchema::new(schema).map_err(NotElicited::Unfit)?;
                match schema.faults(content, 1).pop() {
                    Some(fault) => unfit(format!("{} {}", fault.place, fault.message).trim()),
                    None => Ok(answer),
                }
            }
            _ if answer.content.is_some() => unfit("only an accepted form has content"),
            _ => Ok(answer),
        }
    }
}

/// A connection that can be asked.
pub trait ElicitingClient: Send + Sync + 'static {
    /// Whether it follows a Thread.
    fn follows(&self, thread: &ThreadId) -> bool;

    /// Whether it started a Turn.
    fn has_started(&self, thread: &ThreadId, turn: TurnId) -> bool;

    /// Puts a question to the client. The caller bounds the time and checks the answer.
    fn elicit<'a>(&'a self, asked: &'a Elicitation) -> BoxFuture<'a, Result<Elicited, NotElicited>>;
}

/// The connections that can be asked, in the order in which they came.
#[derive(Default)]
pub struct Elicitors(Mutex<Vec<Arc<dyn ElicitingClient>>>);

impl Elicitors {
    /// Adds a connection.
    pub fn join(&self, client: Arc<dyn ElicitingClient>) {
        self.0.lock().push(client);
    }

    /// Removes a connection that is gone.
    pub fn leave(&self, client: &Arc<dyn ElicitingClient>) {
        let is_same =
            |known: &Arc<dyn ElicitingClient>| std::ptr::addr_eq(Arc::as_ptr(known), Arc::as_ptr(client));
        self.0.lock().retain(|known| !is_same(known));
    }

    /// Asks the one connection that a question goes to, for `limit` at most. `root` is the root of the Thread's tree: who
    /// follows it follows its subagents. Returns an answer that fits.
    ///
    /// # Errors
    /// [`NotElicited`].
    pub async fn elicit(
        &self,
        asked: &Elicitation,
        root: &ThreadId,
        limit: Duration,
    ) -> Result<Elicited, NotElicited> {
        let client = self.client_for(asked, root).ok_or(NotElicited::Nobody)?;
        elicit_from(&*client, asked, limit).await
    }

    fn client_for(&self, asked: &Elicitation, root: &ThreadId) -> Option<Arc<dyn ElicitingClient>> {
        let clients = self.0.lock();
        let follows =
            |client: &&Arc<dyn ElicitingClient>| client.follows(&asked.thread) || client.follows(root);
        let started = |client: &&Arc<dyn ElicitingClient>| {
            asked
                .turn
                .is_some_and(|turn| client.has_started(&asked.thread, turn))
        };
        let starter = clients.iter().find(started);
        starter.or_else(|| clients.iter().find(follows)).cloned()
    }
}

/// Asks a connection, for `limit` at most. Returns an answer that fits.
///
/// # Errors
/// [`NotElicited`].
pub async fn elicit_from(
    client: &dyn ElicitingClient,
    asked: &Elicitation,
    limit: Duration,
) -> Result<Elicited, NotElicited> {
    let answer = tokio::time::timeout(limit, client.elicit(asked)).await;
    asked.checked(answer.unwrap_or(Err(NotElicited::Late(limit)))?)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use serde_json::json;

    use super::*;

    fn question(ask: Elicit) -> Elicitation {
        Elicitation {
            server: "clerk".to_owned(),
            thread: ThreadId::new("t"),
            turn: Some(TurnId(3)),
            message: "Which leaf?".to_owned(),
            ask,
            meta: None,
        }
    }

    fn form() -> Elicitation {
        question(Elicit::Form {
            schema: json!({
                "type": "object", "required": ["leaf"],
                "properties": { "leaf": { "type": "string", "minLength": 2 } },
            }),
        })
    }

    fn page() -> Elicitation {
        question(Elicit::Url {
            url: "https://tea.example".to_owned(),
            id: None,
        })
    }

    #[test]
    fn only_an_accepted_form_has_content_and_only_what_its_schema_allows() {
        use ElicitAction::{Accept, Cancel, Decline};
        let answer = |action, content: Option<Value>| Elicited {
            action,
            content,
            meta: None,
        };
        let table = [
            (form(), Accept, Some(json!({ "leaf": "mint" })), true),
            (form(), Accept, Some(json!({ "leaf": "m" })), false),
            (form(), Accept, Some(json!({ "leaf": 4 })), false),
            (form(), Accept, Some(json!({})), false),
            (form(), Accept, Some(json!("mint")), false),
            (form(), Accept, None, false),
            (form(), Decline, None, true),
            (form(), Decline, Some(json!(null)), true),
            (form(), Decline, Some(json!({ "leaf": "mint" })), false),
            (form(), Cancel, None, true),
            (form(), Cancel, Some(json!({})), false),
            (page(), Accept, None, true),
            (page(), Accept, Some(json!({})), false),
            (page(), Decline, None, true),
            (
                question(Elicit::Form {
                    schema: json!({ "type": "tea" }),
                }),
                Accept,
                Some(json!({})),
                false,
            ),
        ];
        for (asked, action, content, fits) in table {
            let checked = asked.checked(answer(action, content.clone()));
            assert_eq!(checked.is_ok(), fits, "{action:?} {content:?}: {checked:?}");
        }
        let empty = question(Elicit::Form {
            schema: json!({ "type": "object", "properties": {} }),
        });
        let checked = empty.checked(answer(Accept, None)).unwrap();
        assert_eq!(checked.content, Some(json!({})));
    }

    struct Desk {
        follows: &'static str,
        started: Option<TurnId>,
        says: &'static str,
    }

    impl ElicitingClient for Desk {
        fn follows(&self, thread: &ThreadId) -> bool {
            thread.as_str() == self.follows
        }

        fn has_started(&self, _: &ThreadId, turn: TurnId) -> bool {
            self.started == Some(turn)
        }

        fn elicit<'a>(&'a self, _: &'a Elicitation) -> BoxFuture<'a, Result<Elicited, NotElicited>> {
            async {
                if self.says == "nothing" {
                    std::future::pending::<()>().await;
                }
                Ok(Elicited {
                    action: ElicitAction::Accept,
                    content: Some(json!({ "leaf": self.says })),
                    meta: None,
                })
            }
            .boxed()
        }
    }

    fn desk(follows: &'static str, started: Option<u32>, says: &'static str) -> Arc<dyn ElicitingClient> {
        Arc::new(Desk {
            follows,
            started: started.map(TurnId),
            says,
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_goes_to_the_starter_of_the_turn_else_to_the_first_who_follows() {
        let elicitors = Elicitors::default();
        let limit = Duration::from_secs(5);
        let ask = async || {
            let root = ThreadId::new("root");
            let answered = elicitors.elicit(&form(), &root, limit).await;
            answered.map(|answer| answer.content.unwrap()["leaf"].as_str().unwrap().to_owned())
        };
        assert_eq!(ask().await, Err(NotElicited::Nobody));
        elicitors.join(desk("other", None, "not following"));
        assert_eq!(ask().await, Err(NotElicited::Nobody));
        let of_root = desk("root", None, "of the root");
        elicitors.join(of_root.clone());
        elicitors.join(desk("t", Some(2), "of another turn"));
        assert_eq!(ask().await.unwrap(), "of the root");
        elicitors.leave(&of_root);
        assert_eq!(ask().await.unwrap(), "of another turn");
        // It is sent its Turn without a subscription.
        let starter = desk("other", Some(3), "starter");
        elicitors.join(starter.clone());
        assert_eq!(ask().await.unwrap(), "starter");
        elicitors.leave(&starter);
        // The starter alone is asked, whatever it says.
        elicitors.join(desk("t", Some(3), "nothing"));
        assert_eq!(ask().await, Err(NotElicited::Late(limit)));
    }
}
