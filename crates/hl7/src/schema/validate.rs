//! Findings: which places of a message are not as the schema says.

use serde::Serialize;

use super::overrides::compile;
use super::{DataType, FieldSchema, Schema};
use crate::escape::unescape;
use crate::message::{Message, Segment};
use crate::path::{MAX_INDEX, Path, SegmentName, SegmentPlace};
use crate::place::locate;
use crate::separators::parts;

/// The most findings of one validation; an editor shows no more.
pub const MAX_FINDINGS: usize = 1000;

/// The text by which a sender says that a value is to be deleted. It is no value of the field's kind.
const DELETE: &str = "\"\"";

/// The findings of a validation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// The findings, in the order of the message.
    pub findings: Vec<Finding>,
    /// Whether there are more: over [`MAX_FINDINGS`], or in occurrences over [`MAX_INDEX`].
    pub truncated: bool,
}

/// A place that is not as the schema says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The place. `None` is a line that no path can name; the message says which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
    /// The rule that the place breaks.
    pub rule: Rule,
    /// The error, for a user. It has no text of the HL7 message in it.
    pub message: String,
}

/// The rule of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// A segment's name is none.
    Segment,
    /// A value is missing.
    Required,
    /// A value is too short.
    MinLength,
    /// A value is too long.
    MaxLength,
    /// A value does not match the pattern.
    Pattern,
    /// A value is no date, or no date and time.
    DataType,
    /// A value is not one of the codes.
    Values,
}

impl Schema {
    /// Checks every segment that is there.
    pub fn validate(&self, message: &Message) -> Findings {
        let mut findings = Findings::default();
        let mut occurrences = std::collections::HashMap::new();
        let mut patterns = std::collections::HashMap::new();
        for (line, segment) in message.segments().iter().enumerate() {
            let Ok(name) = segment.name(message.separators()).parse::<SegmentName>() else {
                findings.add(
                    None,
                    Rule::Segment,
                    format!("line {} has no name of a segment", line + 1),
                );
                continue;
            };
            let occurrence = occurrences.entry(name).or_insert(0_u16);
            if *occurrence == MAX_INDEX {
                findings.truncated = true;
                continue;
            }
            *occurrence += 1;
            for field in self.segment(name.as_str()) {
                let pattern = field.properties.pattern.as_deref().and_then(|pattern| {
                    patterns
                        .entry(pattern)
                        .or_insert_with(|| compile(pattern).ok())
                        .as_ref()
                });
                let check = Check {
                    message,
                    segment,
                    field,
                    pattern,
                };
                check.run(
                    Path {
                        segment: name,
                        occurrence: *occurrence,
                        place: None,
                    },
                    &mut findings,
                );
            }
        }
        findings
    }
}

impl Findings {
    fn add(&mut self, path: impl Into<Option<Path>>, rule: Rule, message: String) {
        if self.findings.len() < MAX_FINDINGS {
            let path = path.into();
            self.findings.push(Finding { path, rule, message });
        } else {
            self.truncated = true;
        }
    }
}

/// One field of one segment, and what is known about it.
struct Check<'a> {
    message: &'a Message,
    segment: &'a Segment,
    field: &'a FieldSchema,
    pattern: Option<&'a regex::Regex>,
}

impl Check<'_> {
    fn run(&self, path: Path, findings: &mut Findings) {
        let separators = self.message.separators();
        let (field, component) = (u16::from(self.field.field), self.field.component.map(u16::from));
        let place = |repetition| {
            let place = SegmentPlace {
                repetition,
                component,
                ..SegmentPlace::field(field)
            };
            Path {
                place: Some(place),
                ..path
            }
        };
        let located = locate(self.segment, &SegmentPlace::field(field), separators).ok();
        let range = located
            .filter(|located| located.missing.is_empty())
            .map(|located| located.range);
        let whole = range.map_or("", |range| &self.segment.body()[range]);
        // The separators of a header are one value.
        let header = self.segment.is_header(separators) && field <= 2;
        let separator = separators.repetition.filter(|_| !header);
        let is_repeated = separator.is_some_and(|separator| whole.contains(separator));

        let mut is_valued = false;
        for (repetition, raw) in (1..=MAX_INDEX).zip(parts(whole, separator)) {
            let part = component.map(|n| parts(raw, Some(separators.component)).nth(usize::from(n) - 1));
            let raw = part.map_or(raw, Option::unwrap_or_default);
            is_valued |= !raw.is_empty();
            // A composite is checked by its components.
            let inner = [Some(separators.component), separators.subcomponent];
            let is_leaf = header || !inner.into_iter().flatten().any(|c| raw.contains(c));
            if is_leaf && !raw.is_empty() && raw != DELETE {
                let at = place(is_repeated.then_some(repetition));
                self.value(&unescape(raw, separators), at, findings);
            }
        }
        if !is_valued && self.field.properties.required == Some(true) {
            findings.add(place(None), Rule::Required, "a value is required".to_owned());
        }
    }

    fn value(&self, text: &str, path: Path, findings: &mut Findings) {
        let properties = &self.field.properties;
        let length = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        if let Some(min) = properties.minlength.filter(|min| length < *min) {
            findings.add(
                path,
                Rule::MinLength,
                format!("the value has {length} characters, at least {min} are needed"),
            );
        }
        if let Some(max) = properties.maxlength.filter(|max| length > *max) {
            findings.add(
                path,
                Rule::MaxLength,
                format!("the value has {length} characters, at most {max} are allowed"),
            );
        }
        if self.pattern.is_some_and(|pattern| !pattern.is_match(text)) {
            let pattern = properties.pattern.as_deref().unwrap_or_default();
            findings.add(path, Rule::Pattern, format!("the value does not match {pattern}"));
        }
        match properties.datatype {
            Some(DataType::Date) if !is_date(text) => {
                findings.add(
                    path,
                    Rule::DataType,
                    "the value is no date of the form YYYY[MM[DD]]".to_owned(),
                );
            }
            Some(DataType::DateTime) if !is_datetime(text) => {
                let form = "YYYY[MM[DD[HH[MM[SS[.S]]]]]][+ZZZZ]";
                findings.add(
                    path,
                    Rule::DataType,
                    format!("the value is no date and time of the form {form}"),
                );
            }
            _ => {}
        }
        if properties
            .values
            .as_ref()
            .is_some_and(|values| !values.contains_key(text))
        {
            findings.add(
                path,
                Rule::Values,
                "the value is not one of the codes of this field".to_owned(),
            );
        }
    }
}

fn is_date(text: &str) -> bool {
    let number = |range| {
        text.get(range)
            .and_then(|digits: &str| digits.parse::<u32>().ok())
    };
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    if !digits || !matches!(text.len(), 4 | 6 | 8) {
        return false;
    }
    let (year, month, day) = (
        number(0..4).unwrap_or(0),
        number(4..6).unwrap_or(1),
        number(6..8).unwrap_or(1),
    );
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_datetime(text: &str) -> bool {
    let (local, zone) = text
        .find(['+', '-'])
        .map_or((text, None), |at| (&text[..at], Some(&text[at + 1..])));
    let (whole, fraction) = local
        .split_once('.')
        .map_or((local, None), |(whole, after)| (whole, Some(after)));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let under = |text: &str, bounds: &[u32]| {
        let pairs = text
            .as_bytes()
            .chunks(2)
            .map(|pair| str::from_utf8(pair).ok()?.parse::<u32>().ok());
        text.len().is_multiple_of(2)
            && pairs
                .zip(bounds)
                .all(|(pair, bound)| pair.is_some_and(|pair| pair < *bound))
    };
    let Some((date, time)) = whole.split_at_checked(whole.len().min(8)) else {
        return false;
    };
    digits(whole)
        && whole.len() <= 14
        && is_date(date)
        && under(time, &[24, 60, 60])
        && fraction.is_none_or(|fraction| whole.len() == 14 && digits(fraction) && fraction.len() <= 4)
        && zone.is_none_or(|zone| zone.len() == 4 && digits(zone) && under(zone, &[24, 60]))
}
