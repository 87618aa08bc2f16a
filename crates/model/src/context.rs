//! How full a model's window is, and the thresholds for warnings and compaction (AppServer protocol 02 §2.7).

use serde::{Deserialize, Serialize};

/// Tokens reserved for a summary, if the window is large enough.
const RESERVE: u64 = 20_000;
/// Tokens between the point of compaction and the end of the window, if the window is large enough.
const AUTO_BUFFER: u64 = 13_000;
/// Tokens between the warning and the point of compaction.
const WARNING_BUFFER: u64 = 20_000;
/// Tokens between the second warning and the point of compaction.
const ERROR_BUFFER: u64 = 10_000;
/// The assumed window of a model that the server knows nothing about.
pub const USUAL_WINDOW: u64 = 200_000;

/// A model's window, with the thresholds for a conversation in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextWindow {
    /// Tokens that a conversation may fill: the window less the reserve for a summary.
    pub tokens: u64,
    /// Tokens from which the server compacts the conversation by itself.
    pub compact_at: u64,
}

impl ContextWindow {
    /// Returns the thresholds for a model's window. `percent` moves the point of compaction to that share of the
    /// usable tokens. Small windows use shares of the protocol's figures.
    pub fn of(model_window: u64, percent: Option<u64>) -> Self {
        let tokens = model_window - RESERVE.min(model_window / 10);
        let compact_at = match percent {
            Some(percent) => tokens.saturating_mul(percent.min(100)) / 100,
            None => tokens - AUTO_BUFFER.min(tokens / 10),
        };
        Self { tokens, compact_at }
    }

    /// Returns the tokens from which a warning is shown.
    pub fn warning(self) -> u64 {
        self.compact_at - WARNING_BUFFER.min(self.compact_at / 8)
    }

    /// Returns the tokens from which a second warning is shown.
    pub fn error(self) -> u64 {
        self.warning()
            .max(self.compact_at - ERROR_BUFFER.min(self.compact_at / 16))
    }

    /// Returns the free share of the usable tokens, from 0 to 1.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a share of a window, shown with a few digits"
    )]
    pub fn left(self, tokens: u64) -> f64 {
        if self.tokens == 0 {
            return 0.0;
        }
        (1.0 - tokens as f64 / self.tokens as f64).max(0.0)
    }
}

impl Default for ContextWindow {
    fn default() -> Self {
        Self::of(USUAL_WINDOW, None)
    }
}

/// Occupancy of the model's window after its last call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContextUsage {
    /// Tokens in the window now.
    pub tokens: u64,
    /// The window.
    pub window: ContextWindow,
}

/// What happened to a window, for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ContextNote {
    /// The first threshold is passed.
    Warning,
    /// The second threshold is passed.
    Error,
    /// The conversation is being compacted.
    Compacting,
    /// The conversation was compacted.
    Compacted,
    /// Nothing could be left out of the conversation.
    CompactSkipped,
    /// Compaction failed.
    CompactFailed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_the_protocol_come_out_and_small_windows_have_shares_of_them() {
        let usual = ContextWindow::default();
        assert_eq!(
            (usual.tokens, usual.compact_at, usual.warning(), usual.error()),
            (180_000, 167_000, 147_000, 157_000)
        );
        for model in [0, 1, 99, 4_096, 32_768, 1_000_000] {
            for percent in [None, Some(0), Some(50), Some(100), Some(u64::MAX)] {
                let window = ContextWindow::of(model, percent);
                assert!(window.compact_at <= window.tokens && window.tokens <= model);
                assert!(window.warning() <= window.error() && window.error() <= window.compact_at);
                assert!((0.0..=1.0).contains(&window.left(u64::MAX)));
            }
        }
        assert_eq!(ContextWindow::of(32_768, None).compact_at, 26_543);
        assert!((usual.left(45_000) - 0.75).abs() < f64::EPSILON);
    }
}
