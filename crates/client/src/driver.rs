//! The task of a client: connects, sends what waits, and passes on what comes.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use bobbin_native_wire::ErrorCode;
use bobbin_native_wire::handshake::types::{InitializeParams, InitializeResult};
use bobbin_native_wire::item::approval::ApprovalRequestParams;
use bobbin_native_wire::item::user_input_types::RequestUserInputParams;
use bobbin_native_wire::lenient;
use bobbin_native_wire::thread::params::{
    SubscribeMode, ThreadReadParams, ThreadReadResult, ThreadSubscribeParams, ThreadSubscribeResult,
    ThreadUnsubscribeParams,
};
use bobbin_peer::{CallError, Handlers, Mode, Peer, PeerHandle, PeerOptions, Phase, Responder};
use futures_util::FutureExt as _;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use crate::client::{Connect, Job, Options, Pending};
use crate::error::RequestError;
use crate::event::{Event, Notification};
use crate::follow::{Follow, Next};
use crate::question::{Question, Questions};

/// Requests that are sent and not answered; a server takes 32.
const MAX_IN_FLIGHT: usize = 28;
/// Requests that wait for their turn or for a connection.
const MAX_WAITING: usize = 1_000;
/// Messages of the server that wait between the connection and the driver.
const MAX_ARRIVED: usize = 1_024;
/// How long after a connection is made the server may take to ask again.
const GRACE: Duration = Duration::from_secs(5);
/// A connection that lasted so long was a good one: the next attempt follows soon.
const STABLE: Duration = Duration::from_secs(5);
/// First pause between two attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Pause before a Thread that could not be read is tried again, or a request that the server was too busy for.
const AGAIN: Duration = Duration::from_secs(1);

/// A message of the server.
enum Arrived {
    Notification(Notification),
    Asked(Question, Responder),
}

/// An answer to a call of the driver.
enum Answered {
    Request(u64, Result<Box<RawValue>, CallError>),
    /// A request that the server was too busy for may be sent again.
    Again(u64),
    Subscribed(String, u64, Result<ThreadSubscribeResult, CallError>),
    Read(String, u64, Result<Box<ThreadReadResult>, CallError>),
    /// The pause after a failed reading is over.
    Retry(String, u64),
    /// A call without a result of interest.
    Nothing,
}

/// Why a connection ended, or why there was none.
enum End {
    Lost(String),
    /// For good.
    Closed(String),
}

/// A connection after its handshake.
struct Line {
    peer: PeerHandle,
    arrived: mpsc::Receiver<Arrived>,
    calls: FuturesUnordered<BoxFuture<'static, Answered>>,
    withdrawn: FuturesUnordered<BoxFuture<'static, String>>,
}

pub(crate) struct Driver {
    options: Options,
    jobs: mpsc::Receiver<Job>,
    events: mpsc::Sender<Event>,
    waiting: VecDeque<Pending>,
    in_flight: HashMap<u64, Pending>,
    next: u64,
    follows: BTreeMap<String, Follow>,
    questions: Questions,
}

impl Driver {
    pub(crate) fn new(options: Options, jobs: mpsc::Receiver<Job>, events: mpsc::Sender<Event>) -> Self {
        Self {
            options,
            jobs,
            events,
            waiting: VecDeque::new(),
            in_flight: HashMap::new(),
            next: 0,
            follows: BTreeMap::new(),
            questions: Questions::default(),
        }
    }

    /// Drives the client to its end.
    pub(crate) async fn run(mut self, mut connect: impl Connect) {
        let mut pause = FIRST_PAUSE;
        let why = loop {
            let started = Instant::now();
            match self.connection(&mut connect).await {
                End::Closed(why) => break why,
                End::Lost(why) if !self.options.reconnects => break why,
                End::Lost(why) => {
                    if started.elapsed() > STABLE {
                        pause = FIRST_PAUSE;
                    }
                    self.disconnected();
                    let retry_in = pause;
                    self.emit(Event::Disconnected { why, retry_in }).await;
                    if self.while_waiting(sleep(pause)).await.is_none() {
                        break CLOSED.to_owned();
                    }
                    pause = (pause * 2).min(self.options.max_delay);
                }
            }
        };
        self.emit(Event::Closed { why }).await;
        for pending in self.waiting.into_iter().chain(self.in_flight.into_values()) {
            drop(pending.reply.send(Err(RequestError::Closed)));
        }
    }

    async fn emit(&self, event: Event) {
        drop(self.events.send(event).await);
    }

    /// Takes jobs while there is no connection. Returns `None` if the client is closed meanwhile.
    async fn while_waiting<T>(&mut self, wanted: impl Future<Output = T>) -> Option<T> {
        let mut wanted = std::pin::pin!(wanted);
        loop {
            tokio::select! {
                done = &mut wanted => return Some(done),
                job = self.jobs.recv() => match job {
                    None | Some(Job::Close) => return None,
                    Some(job) => self.note(job),
                },
            }
        }
    }

    /// Takes a job's part that needs no connection.
    fn note(&mut self, job: Job) {
        match job {
            Job::Request(pending) if self.waiting.len() < MAX_WAITING => self.waiting.push_back(pending),
            Job::Request(pending) => drop(pending.reply.send(Err(RequestError::Full))),
            Job::Follow { thread, turn_limit } => {
                self.follows.insert(thread, Follow::new(turn_limit));
            }
            Job::Unfollow { thread } => drop(self.follows.remove(&thread)),
            Job::Answer { request_id, answer } => self.questions.answer(&request_id, answer),
            Job::Close => {}
        }
    }

    /// Makes one connection and serves it to its end.
    async fn connection(&mut self, connect: &mut impl Connect) -> End {
        let transport = match self.while_waiting(connect.connect()).await {
            None => return End::Closed(CLOSED.to_owned()),
            Some(Err(why)) => return End::Lost(why),
            Some(Ok(transport)) => transport,
        };
        let (sender, arrived) = mpsc::channel(MAX_ARRIVED);
        let options = PeerOptions {
            max_queued_notifications: 100_000,
            max_queued_notification_bytes: 64 << 20,
            ..PeerOptions::default()
        };
        // The peer ends with this value.
        let peer = match Peer::start(transport, options, |_| handlers(sender)) {
            Ok(peer) => peer,
            Err(error) => return End::Closed(error.to_string()),
        };
        let greeting = greet(peer.handle(), self.options.clone());
        let server = match self.while_waiting(greeting).await {
            None => return End::Closed(CLOSED.to_owned()),
            Some(Err(end)) => return end,
            Some(Ok(server)) => server,
        };
        let mut line = Line {
            peer: peer.handle(),
            arrived,
            calls: FuturesUnordered::new(),
            withdrawn: FuturesUnordered::new(),
        };
        self.emit(Event::Connected(Box::new(server))).await;
        let threads: Vec<String> = self.follows.keys().cloned().collect();
        for thread in threads {
            self.subscribe(&line, &thread);
        }
        self.send_waiting(&line);
        let end = self.serve(&mut line).await;
        line.peer.shutdown().await;
        end
    }

    async fn serve(&mut self, line: &mut Line) -> End {
        let mut grace = Some(Instant::now() + GRACE);
        let closed = line.peer.clone();
        let mut closed = std::pin::pin!(async move { closed.closed().await });
        loop {
            tokio::select! {
                Some(arrived) = line.arrived.recv() => self.arrived(line, arrived).await,
                Some(answered) = line.calls.next() => self.answered(line, answered).await,
                Some(request_id) = line.withdrawn.next() => {
                    // The end of a connection cancels its requests too, and the question stays open.
                    if line.peer.phase() == Phase::Active {
                        self.settled(request_id).await;
                    } else {
                        self.questions.disconnected();
                    }
                }
                job = self.jobs.recv() => match job {
                    None | Some(Job::Close) => return End::Closed(CLOSED.to_owned()),
                    Some(job) => self.work(line, job),
                },
                () = sleep_until(grace.unwrap_or_else(Instant::now)), if grace.is_some() => {
                    grace = None;
                    for request_id in self.questions.not_asked_again() {
                        self.emit(Event::Settled { request_id }).await;
                    }
                }
                () = &mut closed => {
                    // What has come before the end counts.
                    while let Ok(arrived) = line.arrived.try_recv() {
                        self.arrived(line, arrived).await;
                    }
                    while let Some(Some(answered)) = line.calls.next().now_or_never() {
                        self.answered(line, answered).await;
                    }
                    return End::Lost("the connection to the server was lost".to_owned());
                }
            }
        }
    }

    /// Does a job on a connection.
    fn work(&mut self, line: &Line, job: Job) {
        match job {
            Job::Follow { thread, turn_limit } => {
                self.follows.insert(thread.clone(), Follow::new(turn_limit));
                self.subscribe(line, &thread);
            }
            Job::Unfollow { thread } => {
                self.follows.remove(&thread);
                let params = ThreadUnsubscribeParams { thread_id: thread };
                let peer = line.peer.clone();
                let call = async move {
                    drop(peer.call_raw("thread/unsubscribe", params, None).await);
                    Answered::Nothing
                };
                line.calls.push(call.boxed());
            }
            job => self.note(job),
        }
        self.send_waiting(line);
    }

    /// Sends requests as far as the server takes them. Those that a closing connection would refuse wait for the next.
    fn send_waiting(&mut self, line: &Line) {
        while line.peer.phase() == Phase::Active
            && self.in_flight.len() < MAX_IN_FLIGHT
            && let Some(mut pending) = self.waiting.pop_front()
        {
            pending.attempts += 1;
            self.next += 1;
            let (peer, number, method) = (line.peer.clone(), self.next, pending.method);
            let params = pending.params.clone();
            let call = async move { Answered::Request(number, peer.call_raw(method, params, None).await) };
            line.calls.push(call.boxed());
            self.in_flight.insert(number, pending);
        }
    }

    /// Subscribes to a Thread on a new connection, or anew.
    fn subscribe(&mut self, line: &Line, thread: &str) {
        let Some(follow) = self.follows.get_mut(thread) else {
            return;
        };
        let (life, after_seq) = follow.subscribe();
        let params = ThreadSubscribeParams {
            thread_id: thread.to_owned(),
            replay_recent: false,
            after_seq,
        };
        let (peer, thread) = (line.peer.clone(), thread.to_owned());
        let call =
            async move { Answered::Subscribed(thread, life, call(&peer, "thread/subscribe", params).await) };
        line.calls.push(call.boxed());
    }

    fn read(&self, line: &Line, thread: &str, life: u64) {
        let Some(follow) = self.follows.get(thread) else {
            return;
        };
        let params = ThreadReadParams {
            thread_id: thread.to_owned(),
            include_turns: true,
            turn_limit: Some(follow.turn_limit),
            cursor: None,
        };
        let (peer, thread) = (line.peer.clone(), thread.to_owned());
        let call = async move {
            let read = call(&peer, "thread/read", params).await;
            Answered::Read(thread, life, read.map(Box::new))
        };
        line.calls.push(call.boxed());
    }

    async fn answered(&mut self, line: &mut Line, answered: Answered) {
        match answered {
            Answered::Request(number, Err(CallError::Remote(error)))
                if error.code == ErrorCode::Overloaded.code() =>
            {
                let again = async move {
                    sleep(AGAIN).await;
                    Answered::Again(number)
                };
                line.calls.push(again.boxed());
            }
            Answered::Request(number, result) => self.replied(number, result),
            Answered::Again(number) => {
                self.waiting.extend(self.in_flight.remove(&number));
            }
            Answered::Subscribed(thread, life, result) => match result {
                Ok(subscribed) => {
                    let gives_the_rest = subscribed.mode == Some(SubscribeMode::Replay);
                    let next = self
                        .current(&thread, life)
                        .map(|follow| follow.subscribed(gives_the_rest));
                    self.go_on(line, &thread, life, next).await;
                }
                Err(error) => self.not_followed(line, thread, life, &error).await,
            },
            Answered::Read(thread, life, result) => match result {
                Ok(read) => {
                    let next = self.current(&thread, life).map(|follow| follow.read(read.seq));
                    if next.is_some() {
                        self.emit(Event::Read(read)).await;
                    }
                    self.go_on(line, &thread, life, next).await;
                }
                Err(error) => self.not_followed(line, thread, life, &error).await,
            },
            Answered::Retry(thread, life) => {
                if self.current(&thread, life).is_some() {
                    self.subscribe(line, &thread);
                }
            }
            Answered::Nothing => {}
        }
        self.send_waiting(line);
    }

    /// Gives a request its answer, or sends it again where the connection ended.
    fn replied(&mut self, number: u64, result: Result<Box<RawValue>, CallError>) {
        let Some(pending) = self.in_flight.remove(&number) else {
            return;
        };
        let result = match result {
            Ok(result) => Ok(result),
            Err(error) => match RequestError::of(pending.method, error) {
                Some(error) => Err(error),
                None => return self.cut(pending),
            },
        };
        drop(pending.reply.send(result));
    }

    /// Takes a request whose connection ended before its answer.
    fn cut(&mut self, pending: Pending) {
        if pending.repeats {
            self.waiting.push_front(pending);
        } else {
            let method = pending.method;
            drop(pending.reply.send(Err(RequestError::Uncertain { method })));
        }
    }

    fn disconnected(&mut self) {
        self.questions.disconnected();
        for pending in std::mem::take(&mut self.in_flight).into_values() {
            self.cut(pending);
        }
    }

    fn current(&mut self, thread: &str, life: u64) -> Option<&mut Follow> {
        self.follows
            .get_mut(thread)
            .filter(|follow| follow.is_current(life))
    }

    async fn go_on(&mut self, line: &mut Line, thread: &str, life: u64, next: Option<Next>) {
        match next {
            None => {}
            Some(Next::Read) => self.read(line, thread, life),
            Some(Next::Live(messages)) => {
                for message in messages {
                    self.pass(message).await;
                }
            }
        }
    }

    /// Tries a Thread again that could not be read, unless there is no such Thread.
    async fn not_followed(&mut self, line: &mut Line, thread: String, life: u64, error: &CallError) {
        let Some(error) = remote(error) else {
            return;
        };
        let Some(follow) = self.current(&thread, life) else {
            return;
        };
        follow.refused();
        let is_gone = error.code == ErrorCode::ThreadNotFound.code();
        let why = error.message.to_string();
        let event = Event::NotFollowed {
            thread: thread.clone(),
            why,
        };
        self.emit(event).await;
        if is_gone {
            self.follows.remove(&thread);
            return;
        }
        let retry = async move {
            sleep(AGAIN).await;
            Answered::Retry(thread, life)
        };
        line.calls.push(retry.boxed());
    }

    async fn arrived(&mut self, line: &mut Line, arrived: Arrived) {
        match arrived {
            Arrived::Notification(notification) => {
                let followed = notification.thread.as_deref();
                let follow = followed.and_then(|thread| self.follows.get_mut(thread));
                let now = match follow {
                    Some(follow) => follow.receive(notification),
                    None => Some(notification),
                };
                if let Some(notification) = now {
                    self.pass(notification).await;
                }
            }
            Arrived::Asked(question, responder) => {
                let request_id = question.request_id().to_owned();
                let (token, withdrawn) = (responder.token().clone(), request_id.clone());
                if self.questions.asked(&request_id, responder) {
                    self.emit(Event::Asked(question)).await;
                }
                let withdrawn = async move {
                    token.cancelled().await;
                    withdrawn
                };
                line.withdrawn.push(withdrawn.boxed());
            }
        }
    }

    async fn pass(&mut self, notification: Notification) {
        if let Some(request_id) = settled_by(&notification) {
            self.settled(request_id).await;
        }
        self.emit(Event::Notification(notification)).await;
    }

    async fn settled(&mut self, request_id: String) {
        if self.questions.settled(&request_id) {
            self.emit(Event::Settled { request_id }).await;
        }
    }
}

const CLOSED: &str = "the client was closed";

/// Returns the question that a notification says is settled.
fn settled_by(notification: &Notification) -> Option<String> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Resolved {
        request_id: Option<String>,
        item: Option<Item>,
    }
    #[derive(serde::Deserialize)]
    struct Item {
        payload: Payload,
    }
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Payload {
        request_id: String,
    }
    if !matches!(
        notification.method.as_ref(),
        "item/approval/resolved" | "item/tool/requestUserInput/resolved"
    ) {
        return None;
    }
    let resolved: Resolved = notification.params()?;
    let by_item = resolved.item.map(|item| item.payload.request_id);
    resolved.request_id.or(by_item)
}

/// Hands over what arrives, in order.
fn handlers(arrived: mpsc::Sender<Arrived>) -> Handlers {
    let approvals = asking::<ApprovalRequestParams>(&arrived, Question::Approval);
    let inputs = asking::<RequestUserInputParams>(&arrived, Question::UserInput);
    Handlers::new()
        .on_call_deferred("item/approval/request", Mode::ordered("in"), approvals)
        .on_call_deferred("item/tool/requestUserInput", Mode::ordered("in"), inputs)
        .fallback_notification_deferred(Mode::ordered("in"), move |cx| {
            let arrived = arrived.clone();
            async move {
                let notification = Notification::new(cx.method, cx.params);
                drop(arrived.send(Arrived::Notification(notification)).await);
            }
        })
}

/// Returns the handler of a request that asks the user.
fn asking<P: DeserializeOwned + Send + 'static>(
    arrived: &mpsc::Sender<Arrived>,
    question: fn(Box<P>) -> Question,
) -> impl Fn(bobbin_peer::CallContext, Responder) -> BoxFuture<'static, ()> + Send + Sync + 'static {
    let arrived = arrived.clone();
    move |cx, responder| {
        let arrived = arrived.clone();
        async move {
            match cx.decode::<P>() {
                Ok(params) => {
                    let question = question(Box::new(params));
                    drop(arrived.send(Arrived::Asked(question, responder)).await);
                }
                Err(error) => responder.err(error),
            }
        }
        .boxed()
    }
}

/// Shakes hands.
async fn greet(peer: PeerHandle, options: Options) -> Result<InitializeResult, End> {
    let mut capabilities = options.capabilities;
    capabilities.event_cursors = true;
    let params = InitializeParams {
        client_info: options.info,
        capabilities,
    };
    let server: InitializeResult = match call(&peer, "initialize", params).await {
        Ok(server) => server,
        Err(error) => match remote(&error) {
            Some(error) => {
                return Err(End::Closed(format!(
                    "the server refuses this client: {}",
                    error.message
                )));
            }
            None => return Err(End::Lost(format!("the server does not answer: {error}"))),
        },
    };
    let sent = peer.notify("initialized", json!({})).await;
    sent.map_err(|error| End::Lost(error.to_string()))?;
    Ok(server)
}

fn remote(error: &CallError) -> Option<&bobbin_peer::ErrorObject> {
    match error {
        CallError::Remote(error) => Some(error),
        _ => None,
    }
}

async fn call<R: DeserializeOwned>(
    peer: &PeerHandle,
    method: &str,
    params: impl serde::Serialize + Send,
) -> Result<R, CallError> {
    let result = peer.call_raw(method, params, None).await?;
    lenient::result(&result).map_err(|error| CallError::Decode(serde::de::Error::custom(error)))
}
