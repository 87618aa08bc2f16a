//! The reasoning efforts of a model, and the choice of the nearest one. Pure.

use bobbin_model::Effort::{self, High, Low, Medium, Minimal, None as Not, Xhigh};
use serde::Deserialize;

/// A set of efforts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "Vec<Effort>")]
pub struct Efforts(u8);

impl From<Vec<Effort>> for Efforts {
    fn from(efforts: Vec<Effort>) -> Self {
        efforts.into_iter().collect()
    }
}

impl FromIterator<Effort> for Efforts {
    fn from_iter<I: IntoIterator<Item = Effort>>(efforts: I) -> Self {
        let bits = efforts.into_iter().map(|effort| 1 << effort as u8);
        Self(bits.fold(0, |all, bit: u8| all | bit))
    }
}

impl Efforts {
    /// Returns them in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Effort> {
        Effort::ALL
            .into_iter()
            .filter(move |effort| self.0 & (1 << *effort as u8) != 0)
    }

    /// Returns the effort of the set that is nearest to a wanted one: the same, else the next lower one, else the
    /// lowest.
    pub(crate) fn nearest(self, wanted: Effort) -> Option<Effort> {
        let lower = self.iter().filter(|effort| *effort <= wanted).last();
        lower.or_else(|| self.iter().next())
    }
}

/// Returns the efforts of a model that is known by its name, in lower case and without its maker. As of November 2026,
/// from the providers' own pages.
pub(crate) fn known(name: &str) -> Option<Efforts> {
    let is = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    let efforts: &[Effort] = if name.contains("-chat") {
        return None;
    } else if is(&["gpt-5.1"]) {
        &[Not, Low, Medium, High]
    } else if is(&["gpt-5."]) {
        &[Not, Low, Medium, High, Xhigh]
    } else if is(&["gpt-5-pro"]) {
        &[High]
    } else if is(&["gpt-5"]) && !name.contains("codex") {
        &[Minimal, Low, Medium, High]
    } else if is(&[
        "gpt-5",
        "codex",
        "o1",
        "o3",
        "o4-",
        "gpt-oss",
        "gemini-2.5",
        "gemini-3",
    ]) {
        &[Low, Medium, High]
    } else {
        match Claude::of(name)? {
            Claude::Silent => return None,
            Claude::Budget => &[Not, Low, Medium, High],
            Claude::Adaptive => &[Not, Low, Medium, High, Xhigh],
        }
    };
    Some(efforts.iter().copied().collect())
}

/// How a request asks a Claude model to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claude {
    /// It cannot think.
    Silent,
    /// With a number of tokens: from 3.7 to 4.5.
    Budget,
    /// By an effort, from 4.6 on; later ones refuse a number.
    Adaptive,
}

impl Claude {
    /// Reads the version out of a model's name, as in `claude-3-7-sonnet-latest` and `claude-opus-4-6`.
    pub(crate) fn of(model: &str) -> Option<Self> {
        let model = model.to_ascii_lowercase().replace('.', "-");
        let (_, name) = model.split_once("claude-")?;
        // A longer number is a date.
        let parts = name.split('-').filter(|part| part.len() <= 2);
        let mut numbers = parts.filter_map(|part| part.parse::<u32>().ok());
        let version = (numbers.next()?, numbers.next().unwrap_or(0));
        Some(match version {
            (..3, _) | (3, ..7) => Self::Silent,
            (3, _) | (4, ..6) => Self::Budget,
            _ => Self::Adaptive,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_known_with_their_efforts() {
        for (name, expected) in [
            ("gpt-5-mini", "minimal low medium high"),
            ("gpt-5-codex", "low medium high"),
            ("gpt-5.1", "none low medium high"),
            ("gpt-5.2", "none low medium high xhigh"),
            ("gpt-5-chat-latest", "-"),
            ("gpt-4o", "-"),
            ("o3", "low medium high"),
            ("claude-3-5-sonnet-20241022", "-"),
            ("claude-3-7-sonnet-latest", "none low medium high"),
            ("claude-sonnet-4-20250514", "none low medium high"),
            ("claude-opus-4.5", "none low medium high"),
            ("claude-opus-4-6", "none low medium high xhigh"),
            ("claude-sonnet-5", "none low medium high xhigh"),
            ("qwen", "-"),
        ] {
            let known = known(name).map_or_else(
                || "-".to_owned(),
                |efforts| efforts.iter().map(Effort::name).collect::<Vec<_>>().join(" "),
            );
            assert_eq!(known, expected, "{name}");
        }
    }

    #[test]
    fn a_model_without_an_effort_gets_the_next_lower_one() {
        let some: Efforts = [Low, High].into_iter().collect();
        for (wanted, nearest) in [(Not, Low), (Low, Low), (Medium, Low), (High, High), (Xhigh, High)] {
            assert_eq!(some.nearest(wanted), Some(nearest), "{wanted:?}");
        }
        assert_eq!(Efforts::default().nearest(High), None);
    }
}
