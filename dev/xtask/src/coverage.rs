//! Printing `docs/contributing/protocol-coverage.md`, and whether it and `eca-coverage.md` are true.
//!
//! The rows of methods come from the joined tables. `coverage/head.md` has the rest: Item types, capabilities, error codes
//! and the Hub, by hand, and each name that the types have must have a row there. Every row names a test that exists.

mod editors;
mod page;
mod shown;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use bobbin_native::group::{Availability, Direction, Method};
use bobbin_native_wire::ErrorCode;
use bobbin_native_wire::handshake::capabilities::{ClientCapabilities, ServerCapabilities};
use bobbin_native_wire::item::payload::ItemPayload;
use schemars::{JsonSchema, SchemaGenerator};

use crate::groups::groups;
use crate::reference;

pub(crate) use page::{Page, Section, State};

/// The page, from the root of the repository.
pub(crate) const PAGE: &str = "docs/contributing/protocol-coverage.md";
const HEAD: &str = "dev/xtask/src/coverage/head.md";
/// The line of the head that the tables of methods replace.
const METHODS: &str = "<!-- methods -->\n";
const TABLES: [(Direction, &str); 4] = [
    (Direction::Request, "Requests"),
    (Direction::ClientNotification, "Client notifications"),
    (Direction::Notification, "Notifications"),
    (Direction::ServerRequest, "Server requests"),
];

/// Returns the page as it should be.
///
/// # Errors
/// The head could not be read.
pub(crate) fn page(root: &Path) -> anyhow::Result<String> {
    let head = std::fs::read_to_string(root.join(HEAD)).context(HEAD)?;
    let mut tables = String::new();
    for (direction, title) in TABLES {
        let _ = write!(
            tables,
            "## {title}\n\n| Name | Page | State | Needs | What is missing, or what a client sees instead | Shown by |\n\
             |---|---|---|---|---|---|\n"
        );
        for method in groups().methods().filter(|method| method.direction == direction) {
            tables.push_str(&row(method));
        }
        tables.push('\n');
    }
    let page = head.replace(METHODS, tables.trim_end_matches('\n'));
    Ok(format!("<!-- Made by `cargo xtask coverage`. -->\n\n{page}"))
}

fn row(method: &Method) -> String {
    let linked = || {
        format!(
            "[`{}`](../protocol/reference/{})",
            method.name,
            reference::place(method)
        )
    };
    let (state, name) = match method.availability {
        Availability::Later => ("not here", format!("`{}`", method.name)),
        Availability::Partial => ("partial", linked()),
        Availability::Whole => ("done", linked()),
    };
    format!(
        "| {name} | {} | {state} | {} | {} | {} |\n",
        method.spec.unwrap_or("extension"),
        reference::needs(method),
        method.note,
        method.test.map_or_else(String::new, |test| format!("`{test}`")),
    )
}

/// Returns what is wrong with the rows and the pages of both protocols, a sentence each.
///
/// # Errors
/// A file could not be read.
pub(crate) fn complaints(root: &Path) -> anyhow::Result<Vec<String>> {
    let head = Page::parse(&std::fs::read_to_string(root.join(HEAD)).context(HEAD)?);
    let mut complaints = head.complaints();
    for method in groups().methods() {
        match (method.availability, method.test, method.note) {
            (Availability::Later, _, "") => complaints.push(format!("{}: no note says why", method.name)),
            (Availability::Whole | Availability::Partial, None, _) => {
                complaints.push(format!("{}: no test", method.name));
            }
            _ => {}
        }
    }
    let codes = ErrorCode::ALL.iter().map(|code| code.code().to_string());
    let kinds = ItemPayload::KINDS.iter().map(|kind| (*kind).to_owned());
    complaints.extend(missing(&head, Section::ItemTypes, kinds));
    complaints.extend(missing(&head, Section::ErrorCodes, codes));
    complaints.extend(missing(
        &head,
        Section::ClientCapabilities,
        members::<ClientCapabilities>(),
    ));
    complaints.extend(missing(
        &head,
        Section::ServerCapabilities,
        members::<ServerCapabilities>(),
    ));
    let of_rows = groups();
    let tests = of_rows.methods().filter_map(|method| method.test);
    complaints.extend(shown::missing(root, tests.chain(head.tests()))?);
    complaints.extend(editors::complaints(root)?);
    Ok(complaints)
}

/// Returns the names of a section that the code has and the page does not.
fn missing(page: &Page, section: Section, names: impl IntoIterator<Item = String>) -> Vec<String> {
    let rows = page.rows.iter().filter(|row| row.section == section);
    let known: BTreeSet<&String> = rows.flat_map(|row| &row.names).collect();
    let names = names.into_iter().filter(|name| !known.contains(name));
    names
        .map(|name| format!("{}: `{name}` has no row in {HEAD}", section.title()))
        .collect()
}

/// Returns the members of a type on the wire.
fn members<T: JsonSchema>() -> Vec<String> {
    let schema = T::json_schema(&mut SchemaGenerator::default());
    let properties = schema.get("properties").and_then(|all| all.as_object());
    properties
        .map(|all| all.keys().cloned().collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_a_test_and_every_name_has_a_row() {
        let complaints = complaints(&crate::root()).unwrap();
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    }

    #[test]
    fn committed_page_says_what_the_tables_say_and_what_each_method_needs() {
        let page = page(&crate::root()).unwrap();
        let committed = std::fs::read_to_string(crate::root().join(PAGE)).unwrap();
        assert!(page == committed, "run `cargo xtask coverage`");
        for method in groups().methods() {
            assert!(page.contains(&row(method)), "{}", method.name);
            assert!(row(method).contains(method.need.word()), "{}", method.name);
        }
    }

    #[test]
    fn a_name_without_a_row_is_found() {
        let page = Page::parse(
            "## Item types\n| Name | Page | State | Note | Shown by |\n|---|---|---|---|---|\n| `a` | 03 | done | | `x/y: z` |\n",
        );
        let names = ["a", "b"].map(str::to_owned);
        assert_eq!(
            missing(&page, Section::ItemTypes, names),
            ["Item types: `b` has no row in dev/xtask/src/coverage/head.md"]
        );
    }
}
