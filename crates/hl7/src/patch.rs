//! Patches: set, clear, create and remove by path. A patch changes the bytes of its place and no others.

use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize};

use crate::escape::{NoEscape, replace};
use crate::message::{Message, Segment};
use crate::path::{Path, PathError, SegmentName, SegmentPlace};
use crate::place::{Located, NoSeparator, locate};
use crate::separators::{Level, MAX_SEGMENTS};

/// One change of a message, as extensions send it.
///
/// | patch | effect |
/// |---|---|
/// | `path` of a field, `value` | sets the place; what is missing up to it is created empty |
/// | the same without `value`, or with `remove` | clears the place |
/// | `path` of a segment, `remove` | removes this occurrence, if it is there |
/// | `path` of a segment, `create` | adds one; with an occurrence, as many as it takes |
/// | `path` of a field, `create` | creates the segment if it is missing, then sets the place |
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Patch {
    /// The path of the place.
    pub path: String,
    /// The text to set. Separators in it are data and are escaped.
    #[serde(default, deserialize_with = "text")]
    pub value: Option<String>,
    /// Removes a segment or clears a place.
    #[serde(default)]
    pub remove: bool,
    /// Creates a segment.
    #[serde(default)]
    pub create: bool,
}

impl Patch {
    /// Returns a patch that sets a place.
    pub fn set(path: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            value: Some(value.into()),
            ..Self::default()
        }
    }

    /// Returns a patch that removes a segment or clears a place.
    pub fn remove(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            remove: true,
            ..Self::default()
        }
    }

    /// Returns a patch that creates a segment.
    pub fn create(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            create: true,
            ..Self::default()
        }
    }
}

/// Why a patch was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The path cannot be read.
    #[error(transparent)]
    Path(#[from] PathError),
    /// There is no such segment.
    #[error("there is no segment {0}[{1}]; create it first")]
    NoSegment(SegmentName, u16),
    /// A segment's path has neither flag.
    #[error("the path of a segment needs create or remove")]
    SegmentAlone,
    /// Both flags are set.
    #[error("a patch can create or remove, not both")]
    BothFlags,
    /// A segment is created or removed with a value.
    #[error("a segment takes no value; set one of its fields")]
    SegmentValue,
    /// The header is created or removed.
    #[error("MSH cannot be created or removed")]
    Header,
    /// The separators are set.
    #[error("the separators in MSH.1 and MSH.2 cannot be changed by a patch")]
    Separators,
    /// A character cannot be escaped.
    #[error(transparent)]
    NoEscape(#[from] NoEscape),
    /// A level does not exist in the message.
    #[error(transparent)]
    NoSeparator(#[from] NoSeparator),
    /// The message would be too long.
    #[error("the message would become longer than {0} bytes")]
    TooLarge(usize),
    /// The message would have too many segments.
    #[error("the message would have more than {MAX_SEGMENTS} segments")]
    TooManySegments,
}

/// Result of `hermes/document/patch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "HermesPatchResult")
)]
#[serde(rename_all = "camelCase")]
pub struct PatchReport {
    /// Whether all patches were applied.
    pub success: bool,
    /// Number of applied patches.
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub patches_applied: usize,
    /// The skipped patches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<PatchFailure>,
}

/// A patch that was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "HermesPatchFailure")
)]
pub struct PatchFailure {
    /// Its position, from 0.
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub index: usize,
    /// Its path.
    pub path: String,
    /// Why.
    pub message: String,
}

impl Message {
    /// Applies patches one after the other. A patch that fails changes nothing and is reported.
    ///
    /// ```
    /// use bobbin_hl7::{Message, Patch};
    ///
    /// let mut message = Message::parse("MSH|^~\\&\rPID|1||A1^^^H~B2^^^K||DOE^ANN")?;
    /// let report = message.patch(&[Patch::set("PID.5.1", "ROE"), Patch::set("PID.0", "X")], 1 << 20);
    /// assert_eq!(message.to_string(), "MSH|^~\\&\rPID|1||A1^^^H~B2^^^K||ROE^ANN");
    /// assert_eq!((report.patches_applied, report.errors[0].index), (1, 1));
    /// # Ok::<(), bobbin_hl7::NotAMessage>(())
    /// ```
    pub fn patch(&mut self, patches: &[Patch], max_bytes: usize) -> PatchReport {
        let mut budget = Budget {
            used: self.segments.iter().map(Segment::len).sum(),
            max: max_bytes,
        };
        let mut errors = Vec::new();
        for (index, patch) in patches.iter().enumerate() {
            if let Err(error) = self.apply(patch, &mut budget) {
                errors.push(PatchFailure {
                    index,
                    path: patch.path.clone(),
                    message: error.to_string(),
                });
            }
        }
        PatchReport {
            success: errors.is_empty(),
            patches_applied: patches.len() - errors.len(),
            errors,
        }
    }

    fn apply(&mut self, patch: &Patch, budget: &mut Budget) -> Result<(), PatchError> {
        let path: Path = patch.path.parse()?;
        if patch.remove && patch.create {
            return Err(PatchError::BothFlags);
        }
        let value = if patch.remove {
            ""
        } else {
            patch.value.as_deref().unwrap_or_default()
        };
        let Some(place) = path.place else {
            return match (patch.create, patch.remove) {
                _ if patch.value.as_deref().is_some_and(|value| !value.is_empty()) => {
                    Err(PatchError::SegmentValue)
                }
                (true, _) => {
                    let missing = self.missing(&path).max(1);
                    self.create(path.segment, missing, path.segment.as_str(), budget)
                }
                (_, true) => self.remove(&path, budget),
                (false, false) => Err(PatchError::SegmentAlone),
            };
        };
        if path.segment == SegmentName::MSH && place.field <= 2 {
            return Err(PatchError::Separators);
        }
        let missing = if patch.create { self.missing(&path) } else { 0 };
        if missing > 0 {
            let mut last = Segment::new(path.segment.as_str(), "");
            let (range, text) = self.change(&last, &place, value)?;
            last.replace(range, &text);
            return self.create(path.segment, missing, last.body(), budget);
        }
        let position = self
            .position(&path)
            .ok_or(PatchError::NoSegment(path.segment, path.occurrence))?;
        let (range, text) = self.change(&self.segments[position], &place, value)?;
        budget.change(range.len(), text.len())?;
        self.segments[position].replace(range, &text);
        Ok(())
    }

    /// Returns how many segments it takes until the one of a path exists.
    fn missing(&self, path: &Path) -> usize {
        usize::from(path.occurrence).saturating_sub(self.all(path.segment).count())
    }

    /// Adds segments, the last of them with this body.
    fn create(
        &mut self,
        name: SegmentName,
        count: usize,
        body: &str,
        budget: &mut Budget,
    ) -> Result<(), PatchError> {
        if name == SegmentName::MSH {
            return Err(PatchError::Header);
        }
        if self.segments.len() + count > MAX_SEGMENTS {
            return Err(PatchError::TooManySegments);
        }
        let bare = name.as_str().len() + self.line_break().len();
        budget.change(0, bare * count + body.len() - name.as_str().len())?;
        let last = self.all(name).next_back().unwrap_or(self.segments.len() - 1);
        self.insert(last, name.as_str(), count);
        let end = name.as_str().len();
        self.segments[last + count].replace(0..end, body);
        Ok(())
    }

    fn remove(&mut self, path: &Path, budget: &mut Budget) -> Result<(), PatchError> {
        if path.segment == SegmentName::MSH {
            return Err(PatchError::Header);
        }
        if let Some(position) = self.position(path) {
            budget.change(self.segments.remove(position).len(), 0)?;
        }
        Ok(())
    }

    /// Returns which bytes of a segment have to be replaced, and by what, for a value to be at a place.
    fn change(
        &self,
        segment: &Segment,
        place: &SegmentPlace,
        value: &str,
    ) -> Result<(Range<usize>, String), PatchError> {
        let Located {
            range,
            missing: mut text,
        } = locate(segment, place, &self.separators)?;
        if value.is_empty() && !text.is_empty() {
            return Ok((range, String::new()));
        }
        let old = &segment.body()[range.clone()];
        // Separators of inner levels in the former bytes are no text that the value could have in common with them.
        let inner = [Level::Field, Level::Repetition, Level::Component]
            .into_iter()
            .filter(|l| *l >= place.level());
        let composite = inner
            .filter_map(|level| self.separators.within(level))
            .any(|c| old.contains(c));
        replace(
            &mut text,
            if composite { "" } else { old },
            value,
            &self.separators,
        )?;
        Ok((range, text))
    }
}

/// How long the message is and may become.
struct Budget {
    used: usize,
    max: usize,
}

impl Budget {
    /// Accounts for bytes that come in the place of others. A message that is too long already may get shorter.
    fn change(&mut self, from: usize, to: usize) -> Result<(), PatchError> {
        let used = self.used - from.min(self.used) + to;
        if to > from && used > self.max {
            return Err(PatchError::TooLarge(self.max));
        }
        self.used = used;
        Ok(())
    }
}

/// Reads a value: text, a number or a boolean as text, or nothing.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Scalar {
        Text(String),
        Number(serde_json::Number),
        Boolean(bool),
    }

    let scalar = Option::<Scalar>::deserialize(deserializer)?;
    Ok(scalar.map(|scalar| match scalar {
        Scalar::Text(text) => text,
        Scalar::Number(number) => number.to_string(),
        Scalar::Boolean(value) => value.to_string(),
    }))
}
