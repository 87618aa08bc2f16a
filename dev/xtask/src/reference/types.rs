//! The wire's types as tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Map, Value};

const DEFINITIONS: &str = "#/$defs/";
/// Types that have a page of their own, with what only they mention.
const ROOTS: &[(&str, &[&str])] = &[
    ("items", &["Item"]),
    ("capabilities", &["ClientCapabilities", "ServerCapabilities"]),
];

/// The shared types, each with the page that describes it.
pub(super) struct Types {
    definitions: Map<String, Value>,
    pages: BTreeMap<String, String>,
}

impl Types {
    /// Places each type: on the page that alone mentions it, with Items and capabilities on theirs, else on `types`.
    pub(super) fn new(definitions: Map<String, Value>, mentions: &[(&'static str, &Value)]) -> Self {
        let mut reached: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for (page, message) in mentions {
            reach(&definitions, message, &mut |name| {
                reached.entry(name.to_owned()).or_default().insert(*page)
            });
        }
        let mut pages: BTreeMap<String, String> = definitions
            .keys()
            .map(|name| {
                let of = reached.get(name);
                let only = of.filter(|of| of.len() == 1).and_then(|of| of.first());
                (name.clone(), only.unwrap_or(&"types").to_string())
            })
            .collect();
        for (page, roots) in ROOTS {
            for root in *roots {
                let mut names = BTreeSet::from([(*root).to_owned()]);
                if let Some(root) = definitions.get(*root) {
                    reach(&definitions, root, &mut |name| names.insert(name.to_owned()));
                }
                for name in names {
                    let others = reached.get(&name).map_or(0, BTreeSet::len);
                    if name.ends_with("Item")
                        || name.ends_with("Payload")
                        || others < 2
                        || roots.contains(&name.as_str())
                    {
                        pages.insert(name, (*page).to_owned());
                    }
                }
            }
        }
        Self { definitions, pages }
    }

    /// Returns the sections of the types of a page, without those that are shown elsewhere.
    pub(super) fn sections(&self, page: &str) -> String {
        let mut text = String::new();
        let mut names: Vec<_> = self
            .pages
            .iter()
            .filter(|(_, of)| *of == page)
            .map(|(name, _)| name)
            .collect();
        // What the page is about comes first.
        names.sort_by_key(|name| !ROOTS.iter().any(|(_, roots)| roots.contains(&name.as_str())));
        for name in names {
            if let Some(schema) = self.definitions.get(name) {
                let _ = write!(text, "\n### {name}\n\n{}", self.body(page, schema));
            }
        }
        text
    }

    /// Returns the description of a schema with its members, values or variants.
    pub(super) fn body(&self, page: &str, schema: &Value) -> String {
        let mut text = prose(schema);
        let variants = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
        if let Some(variants) = variants {
            text.push_str(&self.variants(page, variants));
        }
        let members = self.members(page, schema);
        if !members.is_empty() {
            let _ = write!(
                text,
                "| member | type | | meaning |\n|---|---|---|---|\n{members}"
            );
        }
        text
    }

    fn variants(&self, page: &str, variants: &[Value]) -> String {
        if variants.iter().all(|variant| variant.get("const").is_some()) {
            let row = |variant: &Value| {
                let meaning = cell(variant["description"].as_str().unwrap_or_default());
                format!(
                    "| `{}` | {meaning} |\n",
                    variant["const"].as_str().unwrap_or_default()
                )
            };
            let rows: String = variants.iter().map(row).collect();
            return format!("| value | meaning |\n|---|---|\n{rows}");
        }
        let names: Vec<String> = variants.iter().map(|variant| self.name(page, variant)).collect();
        format!("One of: {}.\n", names.join(", "))
    }

    /// Returns the rows of a table of members, required ones first.
    pub(super) fn members(&self, page: &str, schema: &Value) -> String {
        let empty = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        let required: Vec<&str> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let sorted: BTreeMap<_, _> = properties
            .iter()
            .map(|(name, member)| ((!required.contains(&name.as_str()), name), member))
            .collect();
        let mut rows = String::new();
        for ((is_optional, name), member) in sorted {
            let mut meaning = cell(member["description"].as_str().unwrap_or_default());
            let default = member.get("default").filter(|default| !default.is_null());
            if let Some(default) = default.filter(|_| !meaning.contains("Default")) {
                let _ = write!(meaning, " Default `{default}`.");
            }
            let needed = if is_optional { "" } else { "required" };
            let _ = writeln!(
                rows,
                "| `{name}` | {} | {needed} | {} |",
                self.name(page, member),
                meaning.trim()
            );
        }
        if schema["additionalProperties"] == true {
            rows.push_str("| … | any | | Other members. |\n");
        }
        rows
    }

    /// Returns what a member is, with links.
    fn name(&self, page: &str, schema: &Value) -> String {
        if let Some(name) = schema["$ref"]
            .as_str()
            .and_then(|target| target.strip_prefix(DEFINITIONS))
        {
            let of = self.pages.get(name).map_or("types", String::as_str);
            let file = if of == page {
                String::new()
            } else {
                format!("{of}.md")
            };
            return format!("[{name}]({file}#{})", name.to_lowercase());
        }
        if let Some([only]) = schema["allOf"].as_array().map(Vec::as_slice) {
            return self.name(page, only);
        }
        if let Some(variants) = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array()) {
            let names: Vec<String> = variants.iter().map(|variant| self.name(page, variant)).collect();
            return names.join(" or ");
        }
        if let Some(only) = schema.get("const") {
            return format!("`{only}`");
        }
        match (schema["type"].as_str(), schema["format"].as_str()) {
            (Some("array"), _) if schema["items"].is_object() => {
                format!("{} list", self.name(page, &schema["items"]))
            }
            (Some("array"), _) => "list".to_owned(),
            (Some("string"), Some("date-time")) => "time".to_owned(),
            (Some("string"), _) => match schema["maxLength"].as_u64() {
                Some(most) => format!("string, 1 to {most}"),
                None => "string".to_owned(),
            },
            (Some("object"), _) if schema["additionalProperties"]["type"] == "string" => {
                "object of strings".to_owned()
            }
            (Some(name), _) => name.to_owned(),
            (None, _) => schema["type"].as_array().map_or_else(
                || "any".to_owned(),
                |names| {
                    names
                        .iter()
                        .filter_map(Value::as_str)
                        .collect::<Vec<_>>()
                        .join(" or ")
                },
            ),
        }
    }
}

/// Calls back with the name of each type that a schema mentions, directly or through others. The callback returns
/// whether the name is new.
fn reach(definitions: &Map<String, Value>, schema: &Value, found: &mut dyn FnMut(&str) -> bool) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                let target = value.as_str().filter(|_| name == "$ref");
                match target.and_then(|target| target.strip_prefix(DEFINITIONS)) {
                    Some(target) if found(target) => {
                        if let Some(schema) = definitions.get(target) {
                            reach(definitions, schema, found);
                        }
                    }
                    Some(_) => {}
                    None => reach(definitions, value, found),
                }
            }
        }
        Value::Array(elements) => elements
            .iter()
            .for_each(|element| reach(definitions, element, found)),
        _ => {}
    }
}

/// Returns a description as paragraphs.
pub(super) fn prose(schema: &Value) -> String {
    match schema["description"].as_str() {
        Some(text) => format!("{}\n\n", text.trim()),
        None => String::new(),
    }
}

/// Returns text that fits into a cell of a table.
pub(super) fn cell(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}
