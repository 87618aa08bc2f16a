//! Making `docs/protocol/reference/`: a page for each part of the protocol, from the joined tables of methods, the
//! descriptions of types and the examples that `tests/server/protocol` has played.
//!
//! What a page says before its methods is in `reference/heads/PAGE.md`. Everything else stands beside the types.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, bail};
use bobbin_model::Role;
use bobbin_native::group::need::Need;
use bobbin_native::group::page::Page;
use bobbin_native::group::{Availability, COMMON_ERRORS, Direction, Method};
use bobbin_native_wire::ErrorCode;
use bobbin_native_wire::handshake::capabilities::ClientCapabilities;
use serde_json::{Map, Value, json};

use crate::groups::groups;
use crate::schema::{self, Paths};
use crate::stale::Files;

mod json;
mod types;

use types::{Types, cell, prose};

/// Where the pages are, from the root of the repository.
pub(crate) const DIRECTORY: &str = "docs/protocol/reference";
const EXAMPLES: &str = "tests/server/protocol/examples";
const HEADS: &str = "dev/xtask/src/reference/heads";
/// Keys of `extensions` by which clients get notifications.
const CLIENT_EXTENSIONS: [&str; 3] = ["finecode", "forward", "hermesUi"];

/// Everything the pages are made of.
struct Sources {
    messages: Files,
    examples: BTreeMap<(String, String), Value>,
    wanted_by: BTreeMap<&'static str, String>,
}

/// Returns every page.
///
/// # Errors
/// No capability of that name is there, or an example is missing.
pub(crate) fn files(root: &Path) -> anyhow::Result<Files> {
    let sources = Sources {
        messages: schema::files()?,
        examples: examples(&root.join(EXAMPLES))?,
        wanted_by: client_capabilities()?,
    };
    let definitions = sources.parse("types.json")?["$defs"].clone();
    let Value::Object(definitions) = definitions else {
        bail!("types.json has no types")
    };
    sources.check(&definitions)?;
    let mut mentions = Vec::new();
    for method in served() {
        let paths = Paths::of(method);
        for path in [Some(paths.params), paths.result].into_iter().flatten() {
            mentions.push((method.page.name, sources.parse(&path)?));
        }
    }
    let mentions: Vec<_> = mentions.iter().map(|(page, message)| (*page, message)).collect();
    let types = Types::new(definitions, &mentions);
    let mut files = Files::new();
    for page in pages() {
        let head = head(root, page.name)?;
        let mut text = format!("{}\n# {}\n\n{head}", warning(), page.title);
        for methods in by_name(page.name) {
            text.push_str(&sources.section(page.name, &methods, &types)?);
        }
        if page.name == "items" {
            text.push_str(&sources.items());
        }
        let sections = types.sections(page.name);
        if !sections.is_empty() {
            let _ = write!(text, "\n## Types\n{sections}");
        }
        files.insert(format!("{}.md", page.name), tidy(&text));
    }
    for (name, title) in [
        ("capabilities", "Capabilities"),
        ("types", "Types of several pages"),
    ] {
        let text = format!(
            "{}\n# {title}\n\n{}{}",
            warning(),
            head(root, name)?,
            types.sections(name)
        );
        files.insert(format!("{name}.md"), tidy(&text));
    }
    files.insert("roles.md".to_owned(), tidy(&roles(&head(root, "roles")?)));
    files.insert("errors.md".to_owned(), tidy(&errors(&head(root, "errors")?)));
    files.insert("README.md".to_owned(), tidy(&contents(&head(root, "README")?)));
    Ok(files)
}

fn warning() -> &'static str {
    "<!-- Made by `cargo xtask reference`. -->"
}

fn head(root: &Path, name: &str) -> anyhow::Result<String> {
    let path = root.join(HEADS).join(format!("{name}.md"));
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(format!("{}\n", text.trim()))
}

/// Returns the methods that this version serves, in the order of the groups.
fn served() -> impl Iterator<Item = &'static Method> {
    let methods: Vec<_> = groups().methods().collect();
    methods
        .into_iter()
        .filter(|method| method.availability != Availability::Later)
}

/// Returns the pages, in the order of the groups.
fn pages() -> Vec<Page> {
    let mut pages = Vec::new();
    for method in served() {
        if !pages.contains(&method.page) {
            pages.push(method.page);
        }
    }
    pages
}

/// Returns the methods of a page, those of one name together: requests, then what the server asks, then notifications.
fn by_name(page: &str) -> Vec<Vec<&'static Method>> {
    let order = [
        Direction::Request,
        Direction::ClientNotification,
        Direction::ServerRequest,
        Direction::Notification,
    ];
    let mut sections: Vec<Vec<&'static Method>> = Vec::new();
    for direction in order {
        let of = |method: &&Method| method.direction == direction && method.page.name == page;
        for method in served().filter(of) {
            match sections
                .iter_mut()
                .find(|section| section.iter().any(|other| other.name == method.name))
            {
                Some(section) => section.push(method),
                None => sections.push(vec![method]),
            }
        }
    }
    sections
}

fn direction(method: &Method) -> (&'static str, &'static str) {
    match method.direction {
        Direction::Request => ("requests", "Request of the client"),
        Direction::ClientNotification => ("clientNotifications", "Notification of the client"),
        Direction::Notification => ("notifications", "Notification of the server"),
        Direction::ServerRequest => ("serverRequests", "Request of the server"),
    }
}

/// Returns the place of a method within the reference.
pub(crate) fn place(method: &Method) -> String {
    let anchor = method.name.replace(['/', '$'], "").to_lowercase();
    format!("{}.md#{anchor}", method.page.name)
}

/// Returns the right that a method needs, and the members that need another one.
pub(crate) fn needs(method: &Method) -> String {
    let mut text = method.need.word().to_owned();
    for need in [Need::Read, Need::Prompt, Need::Approve, Need::Own] {
        let members = method.members.iter().filter(|(_, of)| *of == need);
        let names: Vec<String> = members.map(|(name, _)| format!("`{name}`")).collect();
        if !names.is_empty() {
            let _ = write!(text, "; {} for {}", need.word(), names.join(", "));
        }
    }
    text
}

/// Reads what the plays have recorded, by direction and method.
fn examples(directory: &Path) -> anyhow::Result<BTreeMap<(String, String), Value>> {
    let mut examples = BTreeMap::new();
    for entry in std::fs::read_dir(directory).context("cannot read the examples of the protocol")? {
        let path = entry?.path();
        if path.extension().is_none_or(|ending| ending != "snap") {
            continue;
        }
        let text = std::fs::read_to_string(&path)?;
        let json = text
            .splitn(3, "---\n")
            .nth(2)
            .context("a snapshot without a body")?;
        let recorded: BTreeMap<String, BTreeMap<String, Value>> =
            serde_json::from_str(json).with_context(|| format!("{} is no recording", path.display()))?;
        for (direction, methods) in recorded {
            for (method, example) in methods {
                examples.insert((direction.clone(), method), example);
            }
        }
    }
    Ok(examples)
}

/// Returns the capability of a client by which it gets each notification that not every client gets.
fn client_capabilities() -> anyhow::Result<BTreeMap<&'static str, String>> {
    let unwanted = |capabilities: &Value| -> anyhow::Result<Vec<&'static str>> {
        let capabilities: ClientCapabilities = serde_json::from_value(capabilities.clone())?;
        Ok(groups().unwanted(&capabilities))
    };
    let mut all = serde_json::to_value(ClientCapabilities::default())?;
    let switches: Vec<String> = all
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| value.is_boolean())
        .map(|(name, _)| name.clone())
        .collect();
    for name in &switches {
        all[name] = json!(true);
    }
    all["extensions"] = CLIENT_EXTENSIONS
        .iter()
        .map(|name| ((*name).to_owned(), json!(true)))
        .collect::<Map<_, _>>()
        .into();
    let always: BTreeSet<_> = unwanted(&all)?.into_iter().collect();
    let mut wanted_by = BTreeMap::new();
    let names = switches
        .into_iter()
        .map(|name| (name.clone(), format!("/{name}")));
    let extensions = CLIENT_EXTENSIONS
        .iter()
        .map(|name| (format!("extensions.{name}"), format!("/extensions/{name}")));
    for (name, pointer) in names.chain(extensions) {
        let mut without = all.clone();
        match (
            pointer.strip_prefix("/extensions/"),
            without["extensions"].as_object_mut(),
        ) {
            (Some(extension), Some(extensions)) => drop(extensions.remove(extension)),
            _ => without[&name] = json!(false),
        }
        for method in unwanted(&without)?
            .into_iter()
            .filter(|method| !always.contains(method))
        {
            wanted_by.insert(method, name.clone());
        }
    }
    Ok(wanted_by)
}

impl Sources {
    /// Returns a file of the schema, with its references to shared types as they are within one file.
    fn parse(&self, file: &str) -> anyhow::Result<Value> {
        let text = self
            .messages
            .get(file)
            .with_context(|| format!("no {file} in the schema"))?;
        Ok(serde_json::from_str(&text.replace("../types.json#", "#"))?)
    }

    /// # Errors
    /// A method has no example, or a capability is not one.
    fn check(&self, definitions: &Map<String, Value>) -> anyhow::Result<()> {
        let mut missing = Vec::new();
        for method in served() {
            let (section, _) = direction(method);
            let known = self
                .examples
                .contains_key(&(section.to_owned(), method.name.to_owned()));
            if let Some(capability) = method.capability {
                let shape = &definitions["ServerCapabilities"]["properties"];
                if !capability.starts_with("extensions.") && shape.get(capability).is_none() {
                    missing.push(format!("{}: no capability {capability}", method.name));
                }
            }
            if known == method.unplayed.is_some() {
                missing.push(format!(
                    "{}: no example; a play in tests/server/protocol/plays shows one",
                    method.name
                ));
            }
        }
        anyhow::ensure!(
            missing.is_empty(),
            "the reference is not whole:\n  {}",
            missing.join("\n  ")
        );
        Ok(())
    }

    fn section(&self, page: &str, methods: &[&Method], types: &Types) -> anyhow::Result<String> {
        let Some(first) = methods.first() else {
            return Ok(String::new());
        };
        let mut text = format!("\n## {}\n", first.name);
        for method in methods {
            let (section, who) = direction(method);
            let _ = write!(text, "\n{who}. {}\n\n", method.summary);
            let mut needs = Vec::new();
            if let Some(capability) = method.capability {
                needs.push(format!("`{capability}` of the server"));
            }
            if let Some(capability) = self
                .wanted_by
                .get(method.name)
                .filter(|_| method.direction == Direction::Notification)
            {
                needs.push(format!("`{capability}` of the client"));
            }
            if !needs.is_empty() {
                let _ = write!(text, "[Capability](capabilities.md): {}.\n\n", needs.join(", "));
            }
            if method.direction != Direction::Notification {
                let _ = write!(
                    text,
                    "Needs the [right](README.md#rights) {}.\n\n",
                    self::needs(method)
                );
            }
            let paths = Paths::of(method);
            let params = self.parse(&paths.params)?;
            text.push_str(&about(&params, method.name));
            // What the server sends is there; what a client sends has to be.
            let is_ours = matches!(
                method.direction,
                Direction::Notification | Direction::ServerRequest
            );
            let worded = |members: String, is_ours: bool| {
                let word = if is_ours { "| always |" } else { "| required |" };
                members.replace("| required |", word)
            };
            let members = worded(types.members(page, &params), is_ours);
            if !members.is_empty() {
                let _ = write!(
                    text,
                    "| parameter | type | | meaning |\n|---|---|---|---|\n{members}\n"
                );
            }
            if let Some(path) = paths.result {
                let result = self.parse(&path)?;
                let members = worded(types.members(page, &result), !is_ours);
                if members.is_empty() {
                    text.push_str("The result is an empty object.\n\n");
                } else {
                    text.push_str(&about(&result, method.name));
                    let _ = write!(
                        text,
                        "The result:\n\n| result | type | | meaning |\n|---|---|---|---|\n{members}\n"
                    );
                }
            }
            if !method.errors.is_empty() {
                let codes: Vec<String> = method
                    .errors
                    .iter()
                    .map(|error| {
                        let when = error.description().split(['.', ';']).next().unwrap_or_default();
                        format!("[{}](errors.md) {when}", error.code())
                    })
                    .collect();
                let _ = write!(text, "Errors: {}.\n\n", codes.join("; "));
            }
            let key = (section.to_owned(), method.name.to_owned());
            if let Some(example) = self.examples.get(&key) {
                text.push_str(&shown(method, example));
            }
        }
        Ok(text)
    }

    /// Returns an example of each type of Item that plays have shown.
    fn items(&self) -> String {
        let mut text =
            "\n## Items by type\n\nAs plays have recorded them, each without its `id`, `turnId` and times.\n"
                .to_owned();
        for ((section, kind), item) in &self.examples {
            if section == "items" {
                let mut item = item.clone();
                for name in ["id", "turnId", "createdAt", "completedAt"] {
                    if let Some(members) = item.as_object_mut() {
                        members.remove(name);
                    }
                }
                let _ = write!(text, "\n### {kind}\n\n```json\n{}\n```\n", json::text(&item, 0));
            }
        }
        text
    }
}

/// Returns what a message's description says beyond naming the method.
fn about(schema: &Value, method: &str) -> String {
    let text = prose(schema);
    let (first, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
    if first.contains(&format!("`{method}`"))
        || first.starts_with("Params of")
        || first.starts_with("Result of")
    {
        let tail = first
            .split_once(": ")
            .filter(|_| first.contains("`:"))
            .map(|(_, tail)| tail);
        let tail = tail.map(|tail| {
            let mut letters = tail.chars();
            letters.next().map_or_else(String::new, |letter| {
                letter.to_uppercase().chain(letters).collect()
            })
        });
        return match (tail, rest.is_empty()) {
            (Some(tail), true) => format!("{tail}\n\n"),
            (Some(tail), false) => format!("{tail}\n\n{rest}"),
            (None, _) => rest.to_owned(),
        };
    }
    text
}

fn shown(method: &Method, example: &Value) -> String {
    let params = example["params"].clone();
    let call = match method.direction {
        Direction::Request | Direction::ServerRequest => json::message(&[
            ("id", json!(4)),
            ("method", json!(method.name)),
            ("params", params),
        ]),
        _ => json::message(&[("method", json!(method.name)), ("params", params)]),
    };
    let answer = match method.result {
        Some(_) => format!(
            "\n{}",
            json::message(&[("id", json!(4)), ("result", example["result"].clone())])
        ),
        None => String::new(),
    };
    format!("```json\n{call}{answer}\n```\n\n")
}

fn errors(head: &str) -> String {
    let mut text = format!(
        "{}\n# Error codes\n\n{head}\n| code | name | when | answered by |\n|---|---|---|---|\n",
        warning()
    );
    for error in ErrorCode::ALL {
        let of: Vec<String> = served()
            .filter(|method| method.errors.contains(error))
            .map(|method| format!("[{}]({})", method.name, place(method)))
            .collect();
        let of = match (of.is_empty(), COMMON_ERRORS.contains(error)) {
            _ if *error == ErrorCode::ParseError => "any message".to_owned(),
            (_, true) => "any request".to_owned(),
            (true, false) => "none in this version".to_owned(),
            (false, false) => of.join(", "),
        };
        let _ = writeln!(
            text,
            "| `{}` | `{}` | {} | {of} |",
            error.code(),
            error.name(),
            cell(error.description())
        );
    }
    text
}

/// Returns the table of methods by roles.
fn roles(head: &str) -> String {
    let mut text = format!("{}\n# Roles\n\n{head}", warning());
    for (title, direction) in [
        ("Requests of the client", Direction::Request),
        ("Notifications of the client", Direction::ClientNotification),
        ("Requests of the server", Direction::ServerRequest),
        ("Notifications of the server", Direction::Notification),
    ] {
        let words = Role::ALL.map(Role::word).join(" | ");
        let _ = write!(
            text,
            "\n## {title}\n\n| message | {words} |\n|---|---|---|---|---|\n"
        );
        for method in served().filter(|method| method.direction == direction) {
            let may = |need: Need| {
                Role::ALL
                    .map(|role| if role.may(need) { "yes" } else { "no" })
                    .join(" | ")
            };
            let link = format!("[{}]({})", method.name, place(method));
            let _ = writeln!(text, "| {link} | {} |", may(method.need));
            for (member, need) in method.members {
                let _ = writeln!(text, "| {link} with `{member}` | {} |", may(*need));
            }
        }
    }
    text
}

fn contents(head: &str) -> String {
    let mut text = format!(
        "{}\n# Reference\n\n{head}\n| page | methods |\n|---|---|\n",
        warning()
    );
    for page in pages() {
        let names: Vec<String> = by_name(page.name)
            .iter()
            .filter_map(|methods| methods.first())
            .map(|method| format!("[{}]({})", method.name, place(method)))
            .collect();
        let _ = writeln!(
            text,
            "| [{}]({}.md) | {} |",
            page.title,
            page.name,
            names.join(", ")
        );
    }
    text.push_str("| [Roles](roles.md) | which role may send, answer and receive what |\n");
    text.push_str("| [Capabilities](capabilities.md) | what each side declares |\n");
    text.push_str("| [Error codes](errors.md) | every code and who answers it |\n");
    text.push_str("| [Types of several pages](types.md) | what several pages share |\n");
    text
}

/// Takes out double empty lines and ends the text with one newline.
fn tidy(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        if !(line.is_empty() && lines.last().is_some_and(|last| last.is_empty())) {
            lines.push(line);
        }
    }
    let text = lines.join("\n");
    format!("{}\n", text.trim_end())
}
