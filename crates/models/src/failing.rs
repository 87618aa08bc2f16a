//! Models that failed recently, so that a Turn does not wait for them in each of its rounds.
//!
//! In memory only, shared by all Threads. At most [`MAX_MODELS`] are remembered, each for a bounded time; the entry
//! that expires first makes room. A remembered model is tried last but never ruled out. A model with wrong settings is
//! tried last only as a fallback: a user who chose it gets the error that says how to correct them.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::ProviderError;

/// Most models that are remembered.
const MAX_MODELS: usize = 64;
/// How long a failure without a given time is remembered (a guess: a passing failure has passed by then).
const USUAL: Duration = Duration::from_mins(1);
/// How long a model is remembered that stalled or never ended its reply, or whose quota is used up.
const LONG: Duration = Duration::from_mins(5);
/// Longest time, whatever the provider says: asking again early costs one request.
const LONGEST: Duration = Duration::from_mins(15);

/// The models that have failed.
#[derive(Debug, Default)]
pub(crate) struct Failing(Mutex<Vec<Failed>>);

#[derive(Debug)]
struct Failed {
    provider: String,
    model: String,
    until: Instant,
    /// Its settings are at fault.
    misconfigured: bool,
}

/// A model's place in a request: the user's choice or a fallback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The user's choice.
    Chosen,
    /// A model that is tried when another one fails.
    Fallback,
}

impl Failed {
    fn is(&self, provider: &str, model: &str) -> bool {
        self.provider == provider && self.model == model
    }
}

impl Failing {
    /// Records a failure.
    pub(crate) fn note(&self, provider: &str, model: &str, error: &ProviderError) {
        let until = Instant::now() + time(error);
        let mut failed = self.0.lock();
        failed.retain(|known| !known.is(provider, model));
        if failed.len() == MAX_MODELS
            && let Some((first, _)) = failed.iter().enumerate().min_by_key(|(_, known)| known.until)
        {
            failed.swap_remove(first);
        }
        failed.push(Failed {
            provider: provider.to_owned(),
            model: model.to_owned(),
            until,
            misconfigured: error.is_of_settings(),
        });
    }

    /// Forgets a model that has answered.
    pub(crate) fn answered(&self, provider: &str, model: &str) {
        self.0.lock().retain(|known| !known.is(provider, model));
    }

    /// Whether a model failed recently, so that in this role it is asked last.
    pub(crate) fn has(&self, provider: &str, model: &str, role: Role) -> bool {
        let now = Instant::now();
        let mut failed = self.0.lock();
        failed.retain(|known| known.until > now);
        failed
            .iter()
            .any(|known| known.is(provider, model) && (role == Role::Fallback || !known.misconfigured))
    }
}

/// Returns how long a failure is remembered.
fn time(error: &ProviderError) -> Duration {
    let usual = match error {
        ProviderError::Stalled { .. } | ProviderError::Endless { .. } | ProviderError::Quota { .. } => LONG,
        _ => USUAL,
    };
    error.retry_after().unwrap_or(usual).clamp(USUAL, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(seconds: Option<u64>) -> ProviderError {
        ProviderError::RateLimited {
            name: "p/m".into(),
            retry_after: seconds.map(Duration::from_secs),
            said: String::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_forgotten_in_time_and_with_the_next_answer() {
        let failing = Failing::default();
        let stalled = ProviderError::Stalled {
            name: "p/m".into(),
            idle: Duration::from_secs(1),
        };
        for (error, seconds) in [
            (limited(None), 60),
            (limited(Some(5)), 60),
            (limited(Some(90)), 90),
            (limited(Some(100_000)), 900),
            (stalled, 300),
        ] {
            failing.note("p", "m", &error);
            tokio::time::advance(Duration::from_secs(seconds - 1)).await;
            let has = |provider, model| failing.has(provider, model, Role::Chosen);
            assert!(has("p", "m") && !has("p", "n") && !has("q", "m"));
            tokio::time::advance(Duration::from_secs(2)).await;
            assert!(!has("p", "m"), "{seconds}");
        }
        failing.note("p", "m", &limited(None));
        failing.answered("p", "m");
        assert!(!failing.has("p", "m", Role::Chosen));
        let unknown = ProviderError::WrongKey {
            name: "p/m".into(),
            status: 401,
            source_of_key: String::new(),
        };
        failing.note("p", "m", &unknown);
        assert!(failing.has("p", "m", Role::Fallback) && !failing.has("p", "m", Role::Chosen));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_bounded() {
        let failing = Failing::default();
        for model in 0..100 {
            failing.note("p", &model.to_string(), &limited(Some(60 + model)));
        }
        assert_eq!(failing.0.lock().len(), MAX_MODELS);
        let has = |model| failing.has("p", model, Role::Chosen);
        assert!(!has("35") && has("36") && has("99"));
    }
}
