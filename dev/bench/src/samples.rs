//! Durations and what they amount to: every sample is kept, so percentiles are exact. Bounded by the counts that
//! scenarios give themselves.

use std::time::Duration;

/// Measured durations.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn push(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    pub(crate) fn append(&mut self, mut more: Self) {
        self.0.append(&mut more.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the smallest sample that `share` (0 to 1) of all are not above; zero when there are none.
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a rank among a few million"
        )]
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted
            .get(rank.clamp(1, sorted.len().max(1)) - 1)
            .copied()
            .unwrap_or_default()
    }

    pub(crate) fn median(&self) -> Duration {
        self.quantile(0.5)
    }

    /// Returns the same for a stretch of the samples in the order they were taken.
    pub(crate) fn part(&self, range: std::ops::Range<usize>) -> Self {
        Self(self.0.get(range).unwrap_or_default().to_vec())
    }
}

/// A duration in milliseconds.
pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// A duration in microseconds.
pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// A count as a number to divide by.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a benchmark are far below 2^52"
)]
pub(crate) fn number(count: usize) -> f64 {
    count as f64
}

/// Returns how many a second.
pub(crate) fn rate(count: usize, time: Duration) -> f64 {
    number(count) / time.as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_the_smallest_sample_that_enough_are_not_above() {
        let mut samples = Samples::default();
        assert_eq!(samples.median(), Duration::ZERO);
        for n in [5, 1, 4, 2, 3] {
            samples.push(Duration::from_millis(n));
        }
        let at = |share| samples.quantile(share).as_millis();
        assert_eq!([at(0.0), at(0.2), at(0.5), at(0.99), at(1.0)], [1, 1, 3, 5, 5]);
        assert_eq!(samples.part(1..3).median(), Duration::from_millis(1));
        assert_eq!(samples.part(4..9).len(), 0);
    }
}
