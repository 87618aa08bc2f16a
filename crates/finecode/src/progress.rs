//! Progress of one run, which may be that of several runners together.
//!
//! One `begin` at the first, one `end` after the last. In between, percentages count by the `total` of their part, and
//! never go back.

use parking_lot::Mutex;

/// How far a run is.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// It starts.
    Begin {
        /// The work that is in progress.
        title: String,
        /// The present step of the work.
        message: Option<String>,
        /// How much is done, in percent.
        percentage: Option<f64>,
        /// Whether it can be cancelled.
        cancellable: bool,
        /// The amount of work.
        total: Option<f64>,
    },
    /// It goes on.
    Report {
        /// The present step of the work.
        message: Option<String>,
        /// How much is done, in percent.
        percentage: Option<f64>,
    },
    /// It is over.
    End {
        /// The result of the work.
        message: Option<String>,
    },
}

/// Joins the progress of parts.
#[derive(Debug, Default)]
pub(crate) struct Combined(Mutex<ProgressState>);

#[derive(Debug, Default)]
struct ProgressState {
    parts: Vec<Part>,
    has_started: bool,
    ended: bool,
    last: Option<String>,
    shown: f64,
}

#[derive(Debug, Default, Clone, Copy)]
struct Part {
    has_started: bool,
    total: f64,
    percentage: f64,
}

impl Combined {
    /// Returns the number of a new part.
    pub(crate) fn part(&self) -> usize {
        let mut state = self.0.lock();
        state.parts.push(Part::default());
        state.parts.len() - 1
    }

    /// Takes an event of a part. `send` gets what it means for the whole, in order.
    pub(crate) fn take(&self, part: usize, event: Progress, send: impl FnOnce(Progress)) {
        let mut state = self.0.lock();
        if state.ended {
            return;
        }
        let Some(mine) = state.parts.get_mut(part) else {
            return;
        };
        let joined = match event {
            Progress::Begin {
                title,
                message,
                percentage,
                cancellable,
                total,
            } => {
                *mine = Part {
                    has_started: true,
                    total: total.unwrap_or(1.0).max(f64::EPSILON),
                    percentage: percentage.unwrap_or(0.0),
                };
                if std::mem::replace(&mut state.has_started, true) {
                    let percentage = Some(state.percentage());
                    Progress::Report {
                        message: message.or(Some(title)),
                        percentage,
                    }
                } else {
                    Progress::Begin {
                        title,
                        message,
                        percentage,
                        cancellable,
                        total,
                    }
                }
            }
            Progress::Report { message, percentage } => {
                mine.percentage = percentage.unwrap_or(mine.percentage);
                let percentage = percentage.map(|_| state.percentage());
                Progress::Report { message, percentage }
            }
            Progress::End { message } => {
                mine.percentage = 100.0;
                state.last = message;
                return;
            }
        };
        // Sent under the lock, so that all parts have one order.
        send(joined);
    }

    /// Ends it once, if it has started.
    pub(crate) fn end(&self, send: impl FnOnce(Progress)) {
        let mut state = self.0.lock();
        if state.has_started && !std::mem::replace(&mut state.ended, true) {
            let message = state.last.take();
            send(Progress::End { message });
        }
    }
}

impl ProgressState {
    fn percentage(&mut self) -> f64 {
        let parts = self.parts.iter().filter(|part| part.has_started);
        let (done, total) = parts.fold((0.0, 0.0), |(done, total), part| {
            (done + part.total * part.percentage, total + part.total)
        });
        self.shown = self.shown.max((done / total).round());
        self.shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(total: Option<f64>) -> Progress {
        Progress::Begin {
            title: "tallying".to_owned(),
            message: None,
            percentage: Some(0.0),
            cancellable: true,
            total,
        }
    }

    fn report(percentage: f64) -> Progress {
        Progress::Report {
            message: None,
            percentage: Some(percentage),
        }
    }

    #[test]
    fn parts_have_one_begin_and_one_end_and_count_by_their_total() {
        let (combined, seen) = (Combined::default(), Mutex::new(Vec::new()));
        let send = |event| {
            seen.lock().push(match event {
                Progress::Begin { .. } => "begin".to_owned(),
                Progress::Report { percentage, .. } => format!("{}", percentage.unwrap()),
                Progress::End { .. } => "end".to_owned(),
            });
        };
        let (first, second) = (combined.part(), combined.part());
        combined.take(first, begin(Some(3.0)), send);
        combined.take(first, report(40.0), send);
        combined.take(second, begin(Some(1.0)), send);
        combined.take(second, report(80.0), send);
        combined.take(first, Progress::End { message: None }, send);
        combined.take(second, report(100.0), send);
        combined.end(send);
        combined.end(send);
        combined.take(second, report(100.0), send);
        assert_eq!(*seen.lock(), ["begin", "40", "40", "50", "100", "end"]);
    }
}
