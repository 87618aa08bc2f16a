//! How long to wait before another attempt. Pure but for the jitter.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use reqwest::header::HeaderMap;

use crate::{Limits, ProviderError};

/// Returns the pause after a failed attempt (the first is 1), or `None` to give up. It gives up when the failure is
/// permanent, no attempt is left, or the provider wants a longer pause than the limit.
pub(crate) fn pause(error: &ProviderError, attempt: u32, limits: &Limits, jitter: f64) -> Option<Duration> {
    if !error.is_passing() || attempt >= limits.attempts {
        return None;
    }
    if let Some(wanted) = error.retry_after() {
        return (wanted <= limits.longest_pause).then_some(wanted);
    }
    let doubled = limits.pause.saturating_mul(1 << (attempt - 1).min(16));
    // Between half and all of it, so that clients that failed together do not return together.
    Some(doubled.min(limits.longest_pause).mul_f64(0.5 + jitter / 2.0))
}

/// Returns a status line for the pause after a failed attempt.
pub(crate) fn line(error: &ProviderError, attempt: u32, limits: &Limits, pause: Duration) -> String {
    let (what, of) = (error.in_short(), limits.attempts);
    let seconds = pause.as_secs_f64().ceil();
    let next = attempt + 1;
    format!("{what}. Retrying in {seconds} s ({next} of {of})")
}

/// Returns a random number from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "jitter needs no precision")]
pub(crate) fn jitter() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}

/// Reads `retry-after-ms` and both forms of `retry-after`; a date counts from the answer's own `date`.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str| text(name)?.parse::<f64>().ok().filter(|number| *number >= 0.0);
    if let Some(millis) = number("retry-after-ms") {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    if let Some(seconds) = number("retry-after") {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = jiff::fmt::rfc2822::parse(text("retry-after")?).ok()?;
    let now = jiff::fmt::rfc2822::parse(text("date")?).ok()?;
    Some(Duration::try_from(at.timestamp().duration_since(now.timestamp())).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};
    use rstest::rstest;

    use super::*;

    const LIMITS: fn() -> Limits = Limits::default;

    fn limited(retry_after: Option<u64>) -> ProviderError {
        ProviderError::RateLimited {
            name: "m".into(),
            retry_after: retry_after.map(Duration::from_secs),
            said: String::new(),
        }
    }

    #[test]
    fn pauses_double_up_to_a_ceiling_and_end() {
        let millis = |attempt| {
            pause(
                &limited(None),
                attempt,
                &Limits {
                    attempts: 9,
                    ..LIMITS()
                },
                1.0,
            )
            .map(|pause| pause.as_millis())
        };
        assert_eq!(millis(1), Some(500));
        assert_eq!(millis(2), Some(1000));
        assert_eq!(millis(8), Some(30_000));
        assert_eq!(millis(9), None);
        assert_eq!(
            pause(&limited(None), 1, &LIMITS(), 0.0),
            Some(Duration::from_millis(250))
        );
        assert!((0.0..=1.0).contains(&jitter()));
    }

    #[test]
    fn a_pause_has_a_line_in_a_few_words() {
        let line = |error, pause| line(&error, 1, &LIMITS(), Duration::from_millis(pause));
        assert_eq!(
            line(limited(None), 250),
            "Provider rate limited. Retrying in 1 s (2 of 4)"
        );
        let broken = ProviderError::Truncated { name: "m".into() };
        assert_eq!(line(broken, 3_200), "Reply broken off. Retrying in 4 s (2 of 4)");
    }

    #[test]
    fn what_the_provider_wants_is_done_unless_it_is_too_long() {
        assert_eq!(
            pause(&limited(Some(7)), 1, &LIMITS(), 0.0),
            Some(Duration::from_secs(7))
        );
        assert_eq!(pause(&limited(Some(31)), 1, &LIMITS(), 0.0), None);
        let filtered = ProviderError::Filtered { name: "m".into() };
        assert_eq!(pause(&filtered, 1, &LIMITS(), 0.0), None);
    }

    #[rstest]
    #[case(&[("retry-after", "2")], Some(2_000))]
    #[case(&[("retry-after", "0.5")], Some(500))]
    #[case(&[("retry-after", "9"), ("retry-after-ms", "20")], Some(20))]
    #[case(&[("retry-after", "Sat, 21 Nov 2026 10:00:05 GMT"), ("date", "Sat, 21 Nov 2026 10:00:00 GMT")], Some(5_000))]
    #[case(&[("retry-after", "Sat, 21 Nov 2026 10:00:00 GMT"), ("date", "Sat, 21 Nov 2026 10:00:05 GMT")], Some(0))]
    #[case(&[("retry-after", "Sat, 21 Nov 2026 10:00:05 GMT")], None)]
    #[case(&[("retry-after", "soon")], None)]
    #[case(&[("retry-after", "-1")], None)]
    #[case(&[("retry-after", "1e300")], None)]
    #[case(&[], None)]
    fn retry_after_has_three_forms(
        #[case] headers: &[(&'static str, &'static str)],
        #[case] millis: Option<u128>,
    ) {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        assert_eq!(retry_after(&headers).map(|wait| wait.as_millis()), millis);
    }
}
