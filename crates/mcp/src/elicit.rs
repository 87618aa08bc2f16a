//! Questions of servers to the users of the Turn that called them.
//!
//! Older servers do not say which call a question belongs to. The Turn of the last open call gets it. It is refused if no
//! call is open, or calls of several Threads. A client that knows such questions is asked as the server asks
//! ([`Elicitation`]). Where none is there, other clients are asked for a form member by member, at most [`MAX_MEMBERS`],
//! each with at most [`MAX_TRIES`] answers that do not fit. The time of the call does not run while a question is open. A
//! question ends with its call.

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::elicitation::{Elicit, ElicitAction, Elicitation, Elicited, NotElicited};
use bobbin_agent_api::json_schema::JsonSchema;
use bobbin_agent_api::tool::{CallContext, Questions};
use bobbin_model::{Choice, Inquiry, Json, Lines, QuestionAnswer, ThreadId, TurnId, visible};
use parking_lot::Mutex;
use reqwest::Url;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, MetaObject};
use serde_json::{Map, Number, Value};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::text::head;

/// Most members of a form (guess: a user answers one question for each).
const MAX_MEMBERS: usize = 16;
/// Most answers to one question that do not fit.
const MAX_TRIES: usize = 3;
/// Most values to choose from.
const MAX_CHOICES: usize = 50;
/// Longest text of a server in a question.
const MAX_TEXT: usize = 2 << 10;
/// Largest schema of a form (guess: several times the most members with their choices).
const MAX_SCHEMA: usize = 64 << 10;
/// Longest address of a page, and longest name of a question.
const MAX_URL: usize = 8 << 10;
const MAX_ID: usize = 256;
/// Most questions of a call that are open at a time (guess: a user answers one after the other).
const MAX_OPEN: usize = 4;
/// Choices that users see, in place of the values.
const LEAVE_OUT: &str = "Leave out";
const YES: &str = "Yes";
const NO: &str = "No";

/// The calls that a server has not answered yet.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls(Mutex<Vec<Arc<OpenCall>>>);

/// A call that a server has not answered yet.
pub(crate) struct OpenCall {
    thread: ThreadId,
    turn: Option<TurnId>,
    questions: Arc<dyn Questions>,
    asking: Mutex<Asking>,
    /// Cancelled when the call ends or is given up.
    over: CancellationToken,
    /// Room for questions that are open.
    room: Semaphore,
}

/// The number of open questions, and when the last one was closed or the call was opened.
#[derive(Debug)]
struct Asking {
    now: usize,
    last: Instant,
}

/// A guard: the call counts as open until it is dropped.
pub(crate) struct Guard {
    calls: Arc<OpenCalls>,
    pub(crate) call: Arc<OpenCall>,
}

impl std::fmt::Debug for OpenCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenCall")
            .field("thread", &self.thread)
            .finish_non_exhaustive()
    }
}

impl OpenCalls {
    /// Adds a call.
    pub(crate) fn open(self: &Arc<Self>, context: &CallContext) -> Guard {
        let call = Arc::new(OpenCall {
            thread: context.origin.thread.clone(),
            turn: Some(context.origin.turn).filter(|turn| *turn != TurnId(0)),
            over: context.cancel.child_token(),
            room: Semaphore::new(MAX_OPEN),
            questions: context.questions.clone(),
            asking: Mutex::new(Asking {
                now: 0,
                last: Instant::now(),
            }),
        });
        self.0.lock().push(call.clone());
        let calls = self.clone();
        Guard { calls, call }
    }

    /// Returns the last open call, if all open calls are of one Thread: a question without a call belongs to it.
    pub(crate) fn only(&self) -> Option<Arc<OpenCall>> {
        let calls = self.0.lock();
        let last = calls.last()?;
        let is_only = calls.iter().all(|call| call.thread == last.thread);
        is_only.then(|| last.clone())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.calls.0.lock().retain(|call| !Arc::ptr_eq(call, &self.call));
        self.call.over.cancel();
    }
}

impl OpenCall {
    /// Returns once no question is open and `limit` has passed since the last one, or since the start of the call.
    pub(crate) async fn over(&self, limit: Duration) {
        loop {
            let deadline = {
                let asking = self.asking.lock();
                let since = if asking.now > 0 {
                    Instant::now()
                } else {
                    asking.last
                };
                since + limit
            };
            if deadline <= Instant::now() {
                return;
            }
            sleep_until(deadline).await;
        }
    }

    async fn ask(&self, inquiry: Inquiry) -> Option<QuestionAnswer> {
        let _asked = Asked::of(self);
        self.questions.ask(inquiry).await
    }

    async fn elicit(&self, asked: Elicitation) -> Result<Elicited, NotElicited> {
        let _asked = Asked::of(self);
        self.questions.elicit(asked).await
    }
}

/// A guard: a question is open until it is dropped.
struct Asked<'a>(&'a OpenCall);

impl<'a> Asked<'a> {
    fn of(call: &'a OpenCall) -> Self {
        call.asking.lock().now += 1;
        Self(call)
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let mut asking = self.0.asking.lock();
        asking.now -= 1;
        asking.last = Instant::now();
    }
}

/// Asks the users of a call the questions of its server. An error is a text for the server: nobody has answered.
pub(crate) async fn elicit(
    server: &str,
    call: &OpenCall,
    asked: &ElicitRequestParams,
) -> Result<ElicitResult, String> {
    let room = call.room.try_acquire();
    let _room = room.map_err(|_| format!("{MAX_OPEN} questions of this call are open already"))?;
    let elicitation = elicitation(server, call, asked)?;
    tokio::select! {
        biased;
        () = call.over.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        answered = put(call, elicitation) => answered,
    }
}

async fn put(call: &OpenCall, elicitation: Elicitation) -> Result<ElicitResult, String> {
    let answered = match (call.elicit(elicitation.clone()).await, &elicitation.ask) {
        (Err(NotElicited::Nobody), Elicit::Form { schema }) if call.questions.can_ask() => {
            let Elicitation { server, message, .. } = &elicitation;
            let intro = format!("The MCP server {server} asks: {message}");
            match fill(call, &intro, schema).await {
                Ok(content) => elicitation.checked(Elicited {
                    action: ElicitAction::Accept,
                    content: Some(Value::Object(content)),
                    meta: None,
                }),
                Err(action) => return Ok(ElicitResult::new(action)),
            }
        }
        (answered, _) => answered,
    };
    answered.map(result).map_err(|why| why.to_string())
}

fn result(answer: Elicited) -> ElicitResult {
    let mut result = ElicitResult::new(match answer.action {
        ElicitAction::Accept => ElicitationAction::Accept,
        ElicitAction::Decline => ElicitationAction::Decline,
        ElicitAction::Cancel => ElicitationAction::Cancel,
    });
    result.content = answer.content;
    let meta: Option<MetaObject> = answer.meta.and_then(|meta| meta.decode().ok());
    result.meta = meta;
    result
}

/// Returns a text without characters that act on terminals, line by line.
fn shown_lines(text: &str) -> String {
    let lines = text.lines().map(|line| visible(line, Lines::One));
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns a question as clients get it. An error is a text for the server.
fn elicitation(server: &str, call: &OpenCall, asked: &ElicitRequestParams) -> Result<Elicitation, String> {
    let (message, meta, ask) = match asked {
        ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            meta,
        } => {
            let schema = serde_json::to_value(requested_schema).map_err(|error| error.to_string())?;
            if schema.to_string().len() > MAX_SCHEMA {
                return Err(format!("the requested schema has more than {MAX_SCHEMA} bytes"));
            }
            JsonSchema::new(&schema).map_err(|why| format!("the requested schema cannot be used: {why}"))?;
            (message, meta, Elicit::Form { schema })
        }
        ElicitRequestParams::UrlElicitationParams {
            message,
            url,
            elicitation_id,
            meta,
        } => {
            // A client opens it, so it must be a web page, not a local program or a script.
            let is_page = Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
            if !is_page || url.len() > MAX_URL || elicitation_id.len() > MAX_ID {
                return Err("the address is no page of the web, or too long".to_owned());
            }
            let id = Some(elicitation_id.clone()).filter(|id| !id.is_empty());
            let url = url.clone();
            (message, meta, Elicit::Url { url, id })
        }
        _ => return Err("questions of this kind are not known here".to_owned()),
    };
    let meta = meta.as_ref().and_then(|meta| Json::of(meta).ok());
    Ok(Elicitation {
        server: server.to_owned(),
        thread: call.thread.clone(),
        turn: call.turn,
        message: head(&shown_lines(message), MAX_TEXT),
        ask,
        meta: meta.filter(|meta| meta.get().len() <= MAX_SCHEMA),
    })
}

async fn fill(call: &OpenCall, intro: &str, schema: &Value) -> Result<Map<String, Value>, ElicitationAction> {
    let mut content = Map::new();
    let members = schema["properties"].as_object().cloned().unwrap_or_default();
    if members.is_empty() {
        let inquiry = Inquiry {
            text: intro.to_owned(),
            choices: vec![choice(YES), choice(NO)],
            free: false,
        };
        return match answer(call, inquiry).await?.as_str() {
            YES => Ok(content),
            _ => Err(ElicitationAction::Decline),
        };
    }
    if members.len() > MAX_MEMBERS {
        return Err(ElicitationAction::Cancel);
    }
    let required = |name: &str| {
        let names = schema["required"].as_array().into_iter().flatten();
        names.into_iter().any(|required| required == name)
    };
    for (name, member) in &members {
        let field = Field::of(name, member, required(name));
        if let Some(value) = field.ask(call, intro).await? {
            content.insert(name.clone(), value);
        }
    }
    Ok(content)
}

/// Returns a user's answer.
async fn answer(call: &OpenCall, inquiry: Inquiry) -> Result<String, ElicitationAction> {
    match call.ask(inquiry).await {
        Some(QuestionAnswer::Text(text)) => Ok(text),
        Some(QuestionAnswer::None) => Err(ElicitationAction::Decline),
        None => Err(ElicitationAction::Cancel),
    }
}

fn choice(label: &str) -> Choice {
    Choice {
        label: label.to_owned(),
        description: None,
    }
}

/// The values that a member of a form takes.
#[derive(Debug, PartialEq)]
enum Kind {
    Text,
    Integer,
    Number,
    /// One of these choices: the text for users, and the value.
    OneOf(Vec<(String, Value)>),
    /// Some of these choices; the answer separates them by commas.
    SomeOf(Vec<(String, Value)>),
}

/// A member of a form.
#[derive(Debug)]
struct Field {
    text: String,
    kind: Kind,
    required: bool,
}

impl Field {
    fn of(name: &str, member: &Value, required: bool) -> Self {
        let said = |key: &str| member[key].as_str().map(|text| head(text, MAX_TEXT));
        let mut text = said("title").unwrap_or_else(|| head(name, MAX_TEXT));
        if let Some(description) = said("description") {
            text = format!("{text}: {description}");
        }
        let kind = match member["type"].as_str() {
            Some("boolean") => {
                Kind::OneOf(vec![(YES.to_owned(), true.into()), (NO.to_owned(), false.into())])
            }
            Some("integer") => Kind::Integer,
            Some("number") => Kind::Number,
            Some("array") => Kind::SomeOf(values(&member["items"])),
            _ => match values(member) {
                values if values.is_empty() => Kind::Text,
                values => Kind::OneOf(values),
            },
        };
        Self { text, kind, required }
    }

    /// Asks the user for the member. Returns `None` if the user leaves it out.
    async fn ask(&self, call: &OpenCall, intro: &str) -> Result<Option<Value>, ElicitationAction> {
        let mut hint = String::new();
        for _ in 0..MAX_TRIES {
            let said = answer(call, self.inquiry(&format!("{intro}\n\n{}{hint}", self.text))).await?;
            if !self.required && said == LEAVE_OUT {
                return Ok(None);
            }
            match self.value(said.trim()) {
                Some(value) => return Ok(Some(value)),
                None => hint = format!("\n\n({:?} does not fit.)", head(&said, MAX_TEXT)),
            }
        }
        Err(ElicitationAction::Cancel)
    }

    fn inquiry(&self, text: &str) -> Inquiry {
        let (labels, more): (&[(String, Value)], &str) = match &self.kind {
            Kind::OneOf(values) => (values, ""),
            Kind::SomeOf(values) => (values, "\n\nSeveral are separated by commas."),
            Kind::Text | Kind::Integer | Kind::Number => (&[], ""),
        };
        let mut choices: Vec<Choice> = labels.iter().map(|(label, _)| choice(label)).collect();
        if !self.required {
            choices.push(choice(LEAVE_OUT));
        }
        Inquiry {
            text: format!("{text}{more}"),
            choices,
            free: !matches!(self.kind, Kind::OneOf(_)),
        }
    }

    /// Returns an answer as a value, if it fits.
    fn value(&self, said: &str) -> Option<Value> {
        let named = |values: &[(String, Value)], said: &str| {
            let found = values
                .iter()
                .find(|(label, value)| label == said || value.as_str() == Some(said));
            found.map(|(_, value)| value.clone())
        };
        match &self.kind {
            Kind::Text => Some(said.into()),
            Kind::Integer => said.parse::<i64>().ok().map(Value::from),
            Kind::Number => said.parse().ok().and_then(Number::from_f64).map(Value::Number),
            Kind::OneOf(values) => named(values, said),
            Kind::SomeOf(values) => {
                let said = said.split(',').map(str::trim).filter(|one| !one.is_empty());
                said.map(|one| named(values, one))
                    .collect::<Option<Vec<_>>>()
                    .map(Value::Array)
            }
        }
    }
}

/// Returns the values that a schema lists, each with its text for users.
fn values(schema: &Value) -> Vec<(String, Value)> {
    let titled = ["oneOf", "anyOf"].iter().find_map(|key| schema[*key].as_array());
    if let Some(titled) = titled {
        let one = |one: &Value| {
            let label = one["title"].as_str().or(one["const"].as_str())?;
            Some((head(label, MAX_TEXT), one["const"].clone()))
        };
        return titled.iter().filter_map(one).take(MAX_CHOICES).collect();
    }
    let names = schema["enumNames"].as_array();
    let values = schema["enum"].as_array().into_iter().flatten().enumerate();
    let one = |(at, value): (usize, &Value)| {
        let named = names.and_then(|names| names.get(at)?.as_str());
        Some((head(named.or(value.as_str())?, MAX_TEXT), value.clone()))
    };
    values.filter_map(one).take(MAX_CHOICES).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use bobbin_agent_api::tool::OutputSink;
    use futures_util::FutureExt as _;
    use futures_util::future::BoxFuture;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::*;

    /// Users who say these things, one after another.
    #[derive(Default)]
    struct Users {
        answers: Mutex<VecDeque<QuestionAnswer>>,
        asked: Mutex<Vec<Inquiry>>,
    }

    impl Users {
        fn saying(answers: &[&str]) -> Arc<Self> {
            let answers = answers
                .iter()
                .map(|text| QuestionAnswer::Text((*text).to_owned()));
            Arc::new(Self {
                answers: Mutex::new(answers.collect()),
                asked: Mutex::default(),
            })
        }
    }

    impl Questions for Users {
        fn ask(&self, inquiry: Inquiry) -> BoxFuture<'_, Option<QuestionAnswer>> {
            self.asked.lock().push(inquiry);
            let answer = self.answers.lock().pop_front();
            std::future::ready(answer).boxed()
        }

        fn can_ask(&self) -> bool {
            true
        }
    }

    struct Nowhere;

    impl OutputSink for Nowhere {
        fn write(&self, _: String) -> BoxFuture<'_, ()> {
            std::future::ready(()).boxed()
        }
    }

    fn context(thread: &str, users: Arc<Users>) -> CallContext {
        let mut context = CallContext::alone(CancellationToken::new(), Arc::new(Nowhere));
        context.origin.thread = ThreadId::new(thread);
        context.questions = users;
        context
    }

    async fn asked(users: &Arc<Users>, schema: Value) -> Value {
        let calls = Arc::new(OpenCalls::default());
        let guard = calls.open(&context("t", users.clone()));
        let params = json!({ "mode": "form", "message": "How?", "requestedSchema": schema });
        let params: ElicitRequestParams = serde_json::from_value(params).unwrap();
        serde_json::to_value(elicit("tea", &guard.call, &params).await.unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_form_is_asked_member_by_member_and_again_where_an_answer_does_not_fit() {
        let users = Users::saying(&["black", "Yes", "Leave out", "lots", "3", "One, Two"]);
        let schema = json!({
            "type": "object",
            "properties": {
                "a": { "type": "string", "title": "Tea", "description": "which one", "minLength": 1 },
                "b": { "type": "boolean" },
                "c": { "type": "string", "oneOf": [{ "const": "s", "title": "Small" }] },
                "d": { "type": "integer" },
                "e": { "type": "array", "items": { "anyOf": [{ "const": "1", "title": "One" }, { "const": "2", "title": "Two" }] } },
            },
            "required": ["a", "b", "d", "e"],
        });
        assert_eq!(
            asked(&users, schema).await,
            json!({ "action": "accept", "content": { "a": "black", "b": true, "d": 3, "e": ["1", "2"] } })
        );
        let inquiries = users.asked.lock();
        assert_eq!(
            inquiries[0].text,
            "The MCP server tea asks: How?\n\nTea: which one"
        );
        assert!(inquiries[0].free && inquiries[0].choices.is_empty());
        let labels: Vec<&str> = inquiries[2]
            .choices
            .iter()
            .map(|choice| choice.label.as_str())
            .collect();
        assert_eq!((labels, inquiries[2].free), (vec!["Small", "Leave out"], false));
        assert!(inquiries[4].text.ends_with("(\"lots\" does not fit.)"));
    }

    #[tokio::test]
    async fn a_question_is_declined_and_one_that_nobody_answers_is_cancelled() {
        let empty = json!({ "type": "object", "properties": {} });
        for (answers, action) in [(&["Yes"][..], "accept"), (&["No"], "decline"), (&[], "cancel")] {
            let answered = asked(&Users::saying(answers), empty.clone()).await;
            assert_eq!(answered["action"], action);
        }
        let text =
            json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
        let wrong = asked(&Users::saying(&["a", "b", "c", "4"]), text).await;
        assert_eq!(wrong, json!({ "action": "cancel" }));
    }

    /// A client that is asked and answers nothing.
    #[derive(Default)]
    struct Silent(Mutex<Vec<Elicitation>>);

    impl Questions for Silent {
        fn ask(&self, _: Inquiry) -> BoxFuture<'_, Option<QuestionAnswer>> {
            std::future::ready(None).boxed()
        }

        fn elicit(&self, asked: Elicitation) -> BoxFuture<'_, Result<Elicited, NotElicited>> {
            self.0.lock().push(asked);
            std::future::pending().boxed()
        }
    }

    fn form(message: &str, schema: &Value) -> ElicitRequestParams {
        let params = json!({ "message": message, "requestedSchema": schema });
        serde_json::from_value(params).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn few_questions_of_a_call_are_open_at_a_time_and_its_end_cancels_them() {
        let silent = Arc::new(Silent::default());
        let mut context = context("t", Arc::default());
        context.questions = silent.clone();
        let calls = Arc::new(OpenCalls::default());
        let guard = calls.open(&context);
        let question = form("How?", &json!({ "type": "object", "properties": {} }));
        let asking: Vec<_> = (0..MAX_OPEN)
            .map(|_| {
                let (call, question) = (guard.call.clone(), question.clone());
                tokio::spawn(async move { elicit("tea", &call, &question).await })
            })
            .collect();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let more = elicit("tea", &guard.call, &question).await.unwrap_err();
        assert!(
            more.contains("open already") && silent.0.lock().len() == MAX_OPEN,
            "{more}"
        );
        drop(guard);
        for asked in asking {
            let answered = asked.await.unwrap().unwrap();
            assert_eq!(answered, ElicitResult::new(ElicitationAction::Cancel));
        }
        // A stopped call cancels them too.
        let guard = calls.open(&context);
        context.cancel.cancel();
        let answered = elicit("tea", &guard.call, &question).await.unwrap();
        assert_eq!(answered.action, ElicitationAction::Cancel);
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_is_cleaned_and_bounded_before_anybody_sees_it() {
        let silent = Arc::new(Silent::default());
        let mut context = context("t", Arc::default());
        context.questions = silent.clone();
        context.origin.turn = TurnId(4);
        let calls = Arc::new(OpenCalls::default());
        let guard = calls.open(&context);
        let page = |url: &str, id: &str| -> ElicitRequestParams {
            let params = json!({ "mode": "url", "message": "Pay.", "url": url, "elicitationId": id });
            serde_json::from_value(params).unwrap()
        };
        let long = "x".repeat(MAX_URL);
        let many: Value = (0..2000)
            .map(|at| {
                (
                    format!("member{at}"),
                    json!({ "type": "string", "title": "A long title" }),
                )
            })
            .collect::<Map<_, _>>()
            .into();
        for (asked, why) in [
            (page("file:///etc/passwd", "e"), "no page"),
            (page("tea", "e"), "no page"),
            (page(&format!("https://tea.example/{long}"), "e"), "too long"),
            (page("https://tea.example", &"e".repeat(MAX_ID + 1)), "too long"),
            (
                form("How?", &json!({ "type": "object", "properties": many })),
                "bytes",
            ),
        ] {
            let refused = elicit("tea", &guard.call, &asked).await.unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        assert!(silent.0.lock().is_empty());
        let said = format!("one\u{1b}[2J\ntwo {}", "x".repeat(MAX_TEXT));
        let asked = form(&said, &json!({ "type": "object", "properties": {} }));
        let asking = elicit("tea", &guard.call, &asked);
        assert!(
            tokio::time::timeout(Duration::from_secs(1), asking)
                .await
                .is_err()
        );
        let shown = silent.0.lock().pop().unwrap();
        assert_eq!((shown.server.as_str(), shown.turn), ("tea", Some(TurnId(4))));
        assert!(!shown.message.contains('\u{1b}') && shown.message.contains("\ntwo xxx"));
        assert!(shown.message.len() <= MAX_TEXT + "…".len());
    }

    #[tokio::test]
    async fn a_form_that_was_filled_in_member_by_member_is_checked_as_a_whole() {
        let schema = json!({ "type": "object", "required": ["n"],
            "properties": { "n": { "type": "integer", "minimum": 2 } } });
        for (said, fits) in [("1", false), ("2", true)] {
            let calls = Arc::new(OpenCalls::default());
            let guard = calls.open(&context("t", Users::saying(&[said])));
            let answered = elicit("tea", &guard.call, &form("How many?", &schema)).await;
            assert_eq!(answered.is_ok(), fits, "{answered:?}");
        }
    }

    #[test]
    fn a_question_belongs_to_the_last_call_of_the_only_thread() {
        let calls = Arc::new(OpenCalls::default());
        assert!(calls.only().is_none());
        let first = calls.open(&context("t", Arc::default()));
        let second = calls.open(&context("t", Arc::default()));
        assert!(Arc::ptr_eq(&calls.only().unwrap(), &second.call));
        let other = calls.open(&context("u", Arc::default()));
        assert!(calls.only().is_none());
        drop((second, other));
        assert!(Arc::ptr_eq(&calls.only().unwrap(), &first.call));
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_call_does_not_run_while_a_user_is_asked() {
        struct Slow;
        impl Questions for Slow {
            fn ask(&self, _: Inquiry) -> BoxFuture<'_, Option<QuestionAnswer>> {
                tokio::time::sleep(Duration::from_hours(1)).map(|()| None).boxed()
            }
        }
        let mut context = context("t", Arc::default());
        context.questions = Arc::new(Slow);
        let calls = Arc::new(OpenCalls::default());
        let (guard, began) = (calls.open(&context), Instant::now());
        let inquiry = Inquiry {
            text: String::new(),
            choices: Vec::new(),
            free: true,
        };
        let call = guard.call.clone();
        tokio::join!(call.over(Duration::from_secs(10)), call.ask(inquiry));
        assert_eq!(began.elapsed(), Duration::from_hours(1) + Duration::from_secs(10));
    }
}
