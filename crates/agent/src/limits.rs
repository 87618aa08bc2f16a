//! How much one Turn may use: rounds, tokens, time and money.
//!
//! Rounds, tokens and money are checked between two requests to the model, so that every call has its result; a request
//! under way may exceed them. The use of subagents is checked at any moment. So is time: at its limit, running calls
//! end as by an interrupt. Time in which users decide does not count, and a restart sets the time to zero; the other
//! figures are stored with the Turn.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bobbin_core::engine::EngineFailure;
use bobbin_model::TokenUsage;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Most replies with calls in one Turn by default. An hour of work with single calls has more than 50; limits of
/// tokens, money and time end a model that costs money and goes in circles.
const ROUNDS: usize = 200;

/// Limits of one Turn; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// Most replies with calls.
    pub rounds: Option<usize>,
    /// Most tokens of all requests to models, input and output.
    pub tokens: Option<u64>,
    /// Longest time, waiting for users excluded.
    pub time: Option<Duration>,
    /// Most money, in millionths of the currency of the prices.
    pub cost_micros: Option<u64>,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self {
            rounds: Some(ROUNDS),
            tokens: None,
            time: None,
            cost_micros: None,
        }
    }
}

/// The use of a Turn so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Spent {
    pub(super) rounds: usize,
    pub(super) usage: TokenUsage,
    pub(super) cost_micros: u64,
}

/// The use of one Turn, shared by its run and the watch over its subagents.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger(Arc<Mutex<Spent>>);

impl Ledger {
    pub(super) fn new(spent: Spent) -> Self {
        Self(Arc::new(Mutex::new(spent)))
    }

    /// Returns the current figures.
    pub(super) fn now(&self) -> Spent {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the figures.
    pub(super) fn change(&self, change: impl FnOnce(&mut Spent)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns the figures plus those of the Turn's subagents.
    pub(super) fn with(&self, (usage, cost_micros): (TokenUsage, u64)) -> Spent {
        let mut spent = self.now();
        spent.usage.add(usage);
        spent.cost_micros = spent.cost_micros.saturating_add(cost_micros);
        spent
    }
}

impl TurnLimits {
    /// Checks whether the model may be asked once more.
    ///
    /// # Errors
    /// [`EngineFailure::Stopped`] with the limit that was reached.
    pub(super) fn check(self, spent: Spent) -> Result<(), EngineFailure> {
        if let Some(most) = self.rounds.filter(|most| spent.rounds >= *most) {
            return Err(stopped(
                "limit_rounds",
                &format!("The model made calls in {most} replies without coming to an end."),
                "Rounds",
            ));
        }
        let used = spent.usage.total();
        if let Some(most) = self.tokens.filter(|most| used >= *most) {
            return Err(stopped(
                "limit_tokens",
                &format!("The turn has used {used} tokens, and may use {most}."),
                "Tokens",
            ));
        }
        if let Some(most) = self.cost_micros.filter(|most| spent.cost_micros >= *most) {
            return Err(stopped(
                "limit_cost",
                &format!(
                    "The turn has cost {}, and may cost {}.",
                    Money(spent.cost_micros),
                    Money(most)
                ),
                "Cost",
            ));
        }
        Ok(())
    }

    /// Checks whether subagents may continue.
    ///
    /// # Errors
    /// As [`TurnLimits::check`]; rounds are the Turn's own.
    pub(super) fn check_with_subagents(self, spent: Spent) -> Result<(), EngineFailure> {
        let rounds = None;
        Self { rounds, ..self }.check(spent)
    }

    /// Returns the failure of a Turn whose time is over.
    pub(super) fn over_time(self) -> EngineFailure {
        let seconds = self.time.unwrap_or_default().as_secs();
        stopped(
            "timeout",
            &format!("The turn ran for {seconds} seconds, which is its limit."),
            "Seconds",
        )
    }
}

fn stopped(code: &'static str, what: &str, name: &str) -> EngineFailure {
    EngineFailure::Stopped {
        code,
        text: format!(
            "{what} The work so far is recorded: ask it to go on, or set Limits.{name} in ~/.craft/config.json."
        ),
    }
}

/// An amount in millionths, printed with as many digits as necessary.
struct Money(u64);

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let part = format!("{part:06}");
        match part.trim_end_matches('0') {
            "" => write!(f, "{whole}"),
            part => write!(f, "{whole}.{part:0<2}"),
        }
    }
}

/// Counts the time at work.
#[derive(Debug, Clone)]
pub(super) struct Stopwatch {
    limit: Option<Duration>,
    state: Arc<Mutex<Running>>,
    resumed: Arc<Notify>,
}

#[derive(Debug)]
struct Running {
    /// Time at work before `since`.
    before: Duration,
    /// `None` while the stopwatch is paused.
    since: Option<Instant>,
    /// Number of pauses: one per pending question, and one while subagents wait for a user.
    pauses: usize,
}

/// Pauses a stopwatch while it lives.
pub(super) struct Pause(Stopwatch);

impl Stopwatch {
    /// Starts a stopwatch.
    pub(super) fn start(limit: Option<Duration>) -> Self {
        Self {
            limit,
            state: Arc::new(Mutex::new(Running {
                before: Duration::ZERO,
                since: Some(Instant::now()),
                pauses: 0,
            })),
            resumed: Arc::default(),
        }
    }

    /// Pauses the stopwatch.
    pub(super) fn pause(&self) -> Pause {
        self.with(|running| {
            running.pauses += 1;
            running.before += running
                .since
                .take()
                .map_or(Duration::ZERO, |since| since.elapsed());
        });
        Pause(self.clone())
    }

    /// Returns once the time is over; never without a limit.
    ///
    /// # Cancel safety
    /// Cancel safe: the future owns nothing.
    pub(super) async fn over(&self) {
        let Some(limit) = self.limit else {
            return std::future::pending().await;
        };
        loop {
            let resumed = self.resumed.notified();
            match self.with(|running| running.since.map(|since| running.before + since.elapsed())) {
                Some(worked) if worked >= limit => return,
                Some(worked) => tokio::time::sleep(limit.saturating_sub(worked)).await,
                None => resumed.await,
            }
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Running) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        self.0.with(|running| {
            running.pauses -= 1;
            if running.pauses == 0 {
                running.since = Some(Instant::now());
            }
        });
        self.0.resumed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_with_single_calls_is_no_reason_to_stop() {
        let spent = |rounds| Spent {
            rounds,
            ..Spent::default()
        };
        let limits = TurnLimits::default();
        assert_eq!(limits.check(spent(199)), Ok(()));
        assert!(limits.check(spent(200)).is_err());
    }

    #[test]
    fn each_bound_has_its_words_and_its_name() {
        let limits = TurnLimits {
            rounds: Some(3),
            tokens: Some(100),
            time: None,
            cost_micros: Some(1_500_000),
        };
        let spent = |rounds, tokens, cost_micros| Spent {
            rounds,
            usage: TokenUsage::of(tokens, 0),
            cost_micros,
        };
        assert_eq!(limits.check(spent(2, 99, 1_499_999)), Ok(()));
        for (spent, name, words) in [
            (spent(3, 0, 0), "limit_rounds", "in 3 replies"),
            (
                spent(0, 120, 0),
                "limit_tokens",
                "used 120 tokens, and may use 100",
            ),
            (
                spent(0, 0, 1_510_000),
                "limit_cost",
                "cost 1.51, and may cost 1.50",
            ),
        ] {
            let Err(EngineFailure::Stopped { code, text }) = limits.check(spent) else {
                panic!("{name} is not enforced");
            };
            assert!(code == name && text.contains(words), "{code}: {text}");
        }
        let none = TurnLimits {
            rounds: None,
            ..TurnLimits::default()
        };
        assert_eq!(none.check(spent(10_000, u64::MAX, u64::MAX)), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn time_that_people_take_does_not_count() {
        let began = Instant::now();
        let watch = Stopwatch::start(Some(Duration::from_secs(10)));
        let asking = async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            let (pause, other) = (watch.pause(), watch.pause());
            tokio::time::sleep(Duration::from_hours(2)).await;
            drop(other);
            tokio::time::sleep(Duration::from_hours(3)).await;
            drop(pause);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = watch.over() => {}
            () = asking => {}
        }
        assert_eq!(began.elapsed(), Duration::from_hours(5) + Duration::from_secs(10));
    }

    #[test]
    fn money_is_shown_as_people_write_it() {
        let shown = |micros| Money(micros).to_string();
        assert_eq!(
            [0, 1_500_000, 20_000, 1, 3_000_000].map(shown),
            ["0", "1.50", "0.02", "0.000001", "3"]
        );
    }
}
