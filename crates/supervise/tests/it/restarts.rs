//! A scripted service on a driven clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bobbin_supervise::{Failure, Full, Group, Restart, Service, Start, Status};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

/// What happens to a service, in order.
struct Script {
    restart: Restart,
    /// Permits of starts that succeed; without one a start fails.
    healthy: Arc<Semaphore>,
    /// Breaks the connection.
    broken: Arc<Notify>,
    starts: Arc<AtomicU32>,
    hangs: bool,
    ends_slowly: bool,
    lasting: bool,
    news: Sender<String>,
}

impl Script {
    fn new() -> (Self, Receiver<String>) {
        let (news, receiver) = channel(1000);
        let script = Self {
            restart: Restart::Automatic,
            healthy: Arc::new(Semaphore::new(0)),
            broken: Arc::default(),
            starts: Arc::default(),
            hangs: false,
            ends_slowly: false,
            lasting: false,
            news,
        };
        (script, receiver)
    }
}

impl Service for Script {
    type Handle = u32;
    type Connection = u32;

    fn name(&self) -> &'static str {
        "kettle"
    }

    fn restart(&self) -> Restart {
        self.restart
    }

    async fn start(&self) -> Result<(u32, u32), Failure> {
        let start = self.starts.fetch_add(1, Ordering::Relaxed);
        if self.hangs {
            std::future::pending::<()>().await;
        }
        let permit = self.healthy.try_acquire().map_err(|_| Failure {
            problem: format!("cold {start}"),
            lasting: self.lasting,
        })?;
        permit.forget();
        Ok((start, start))
    }

    async fn serve(&self, connection: &mut u32, publish: &(dyn Fn(u32) + Sync)) {
        self.broken.notified().await;
        // A handle can be replaced while the service runs.
        publish(*connection + 100);
        self.broken.notified().await;
    }

    async fn end(&self, connection: u32) -> Failure {
        if self.ends_slowly {
            std::future::pending::<()>().await;
        }
        self.news.try_send(format!("ended {connection}")).unwrap();
        Failure::passing("it boiled over")
    }

    fn changed(&self, status: Status<'_, u32>) {
        self.news.try_send(format!("{status:?}")).unwrap();
    }
}

async fn until(news: &mut Receiver<String>, part: &str) -> Vec<String> {
    let mut seen = Vec::new();
    loop {
        let next = tokio::time::timeout(Duration::from_hours(1), news.recv()).await;
        seen.push(next.expect(part).expect(part));
        if seen.last().unwrap().contains(part) {
            return seen;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pauses_double_until_the_service_is_given_up_and_a_request_starts_anew() {
    let (script, mut news) = Script::new();
    let (starts, healthy) = (script.starts.clone(), script.healthy.clone());
    let group = Group::new(1);
    let since = Instant::now();
    group.set("kettle", script, Start::Now).unwrap();
    let seen = until(&mut news, "Failed").await;
    assert_eq!(since.elapsed().as_secs(), 1 + 2 + 4 + 8 + 16);
    assert_eq!((seen[0].as_str(), seen[1].as_str()), ("Added", "Starting"));
    assert_eq!(seen[2], r#"Waiting { problem: "cold 0", pause: 1s }"#);
    assert_eq!(seen.last().unwrap(), r#"Failed("cold 5")"#);
    // Given up: nothing happens until it is requested.
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(starts.load(Ordering::Relaxed), 6);
    let one = group.get("kettle").unwrap();
    assert_eq!((one.handle(), one.ready(|_| true).await), (None, None));
    healthy.add_permits(1);
    one.start();
    assert_eq!(until(&mut news, "Running").await, ["Starting", "Running(6)"]);
    assert_eq!(one.ready(|_| true).await, Some(6));
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_long_run_makes_up_for_failures_and_a_short_one_does_not() {
    for (run, pause) in [(61, "1s"), (1, "2s")] {
        let (script, mut news) = Script::new();
        let (healthy, broken) = (script.healthy.clone(), script.broken.clone());
        let group = Group::new(1);
        group.set("kettle", script, Start::Now).unwrap();
        until(&mut news, "Waiting").await;
        healthy.add_permits(1);
        until(&mut news, "Running(1)").await;
        tokio::time::sleep(Duration::from_secs(run)).await;
        broken.notify_one();
        until(&mut news, "Running(101)").await;
        assert_eq!(group.get("kettle").unwrap().handle(), Some(101));
        broken.notify_one();
        let seen = until(&mut news, "Waiting").await;
        assert_eq!(seen[0], "ended 1");
        assert!(
            seen[1].contains("boiled over") && seen[1].contains(pause),
            "{seen:?}"
        );
        group.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_lasting_failure_and_a_service_without_restarts_fail_at_once() {
    for (restart, lasting) in [(Restart::Automatic, true), (Restart::Never, false)] {
        let (mut script, mut news) = Script::new();
        (script.restart, script.lasting) = (restart, lasting);
        let group = Group::new(1);
        group.set("kettle", script, Start::Now).unwrap();
        let seen = until(&mut news, "Failed").await;
        assert_eq!(seen, ["Added", "Starting", r#"Failed("cold 0")"#]);
        group.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_start_that_hangs_is_stopped_by_request_and_callers_are_released() {
    let (mut script, mut news) = Script::new();
    script.hangs = true;
    let group = Group::new(1);
    group.set("kettle", script, Start::OnRequest).unwrap();
    let one = group.get("kettle").unwrap();
    assert_eq!(one.ready(|_| true).await, None);
    one.start();
    until(&mut news, "Starting").await;
    let since = Instant::now();
    one.settled(Duration::from_secs(5)).await;
    assert_eq!(since.elapsed(), Duration::from_secs(5));
    let waiting = tokio::spawn({
        let one = one.clone();
        async move { one.ready(|_| true).await }
    });
    tokio::task::yield_now().await;
    one.stop();
    until(&mut news, "Stopped").await;
    // A second caller of `start` finds it stopped; the first was released.
    assert_eq!(waiting.await.unwrap(), None);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_replaced_service_ends_before_the_new_one_starts_and_is_silent() {
    let (first, mut news) = Script::new();
    first.healthy.add_permits(1);
    let group = Group::new(1);
    group.set("kettle", first, Start::Now).unwrap();
    until(&mut news, "Running").await;
    let (second, mut second_news) = Script::new();
    second.healthy.add_permits(1);
    let (third, _) = Script::new();
    assert_eq!(group.set("pot", third, Start::OnRequest), Err(Full(1)));
    group.set("kettle", second, Start::Now).unwrap();
    until(&mut second_news, "Running").await;
    assert_eq!(news.recv().await.as_deref(), Some("ended 0"));
    assert_eq!(news.recv().await, None);
    assert!(group.remove("kettle") && !group.remove("kettle"));
    assert_eq!(until(&mut second_news, "ended").await, ["Removed", "ended 0"]);
    group.end().await;
    let (late, mut late_news) = Script::new();
    group.set("kettle", late, Start::Now).unwrap();
    assert!(group.get("kettle").is_none() && late_news.recv().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn services_that_do_not_end_are_dropped_at_the_same_time() {
    let group = Group::new(8);
    for name in ["a", "b", "c"] {
        let (mut script, mut news) = Script::new();
        script.ends_slowly = true;
        script.healthy.add_permits(1);
        group.set(name, script, Start::Now).unwrap();
        until(&mut news, "Running").await;
    }
    let since = Instant::now();
    group.end().await;
    assert_eq!(since.elapsed(), Duration::from_secs(20));
    assert!(group.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_use_starts_a_service_once_for_all_callers_and_again_after_it_was_lost() {
    let (mut script, mut news) = Script::new();
    script.restart = Restart::Never;
    let (starts, healthy, broken) = (
        script.starts.clone(),
        script.healthy.clone(),
        script.broken.clone(),
    );
    healthy.add_permits(2);
    let group = Group::new(1);
    group.set("kettle", script, Start::OnRequest).unwrap();
    let one = group.get("kettle").unwrap();
    let (first, second) = tokio::join!(one.demand(|_| true), one.demand(|_| true));
    assert_eq!((first, second), (Ok(0), Ok(0)));
    assert_eq!(starts.load(Ordering::Relaxed), 1);
    broken.notify_one();
    until(&mut news, "Running(100)").await;
    broken.notify_one();
    // Its task may not have seen yet that it was lost: the caller has.
    assert_eq!(one.demand(|handle| *handle != 100).await, Ok(1));
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn uses_of_a_broken_service_start_it_after_growing_pauses_only() {
    let (mut script, _news) = Script::new();
    script.restart = Restart::Never;
    let starts = script.starts.clone();
    let group = Group::new(1);
    group.set("kettle", script, Start::OnRequest).unwrap();
    let one = group.get("kettle").unwrap();
    let cold = |start: u32| Err(Failure::passing(format!("cold {start}")));
    assert_eq!(one.demand(|_| true).await, cold(0));
    assert_eq!(one.demand(|_| true).await, cold(1));
    let refused = one.demand(|_| true).await.unwrap_err().problem;
    assert_eq!(
        refused,
        "cold 1; it failed repeatedly, and the next start is possible in 1 s"
    );
    // Half a minute of impatience.
    for _ in 0..300 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(one.demand(|_| true).await);
    }
    assert_eq!(starts.load(Ordering::Relaxed), 6);
    // A user who asks for it is not made to wait.
    one.start();
    let last = one.demand(|_| true).await;
    assert_eq!(last, cold(6));
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_ends_it_first_and_a_stop_and_a_start_at_once_are_a_restart() {
    let (mut script, mut news) = Script::new();
    script.restart = Restart::Never;
    script.healthy.add_permits(3);
    let group = Group::new(1);
    group.set("kettle", script, Start::Now).unwrap();
    let one = group.get("kettle").unwrap();
    until(&mut news, "Running(0)").await;
    one.restart();
    assert_eq!(
        until(&mut news, "Running").await,
        ["ended 0", "Starting", "Running(1)"]
    );
    one.stop();
    one.start();
    let seen = until(&mut news, "Running(2)").await;
    assert_eq!(seen[0], "ended 1");
    group.end().await;
}
