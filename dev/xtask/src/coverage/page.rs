//! The page as rows. Pure: text in, rows out.

use std::collections::BTreeSet;

/// What a row is about, by the heading it stands under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Section {
    Requests,
    ClientNotifications,
    Notifications,
    ServerRequests,
    ItemTypes,
    ClientCapabilities,
    ServerCapabilities,
    ErrorCodes,
    Hub,
    Contents,
    Contexts,
}

impl Section {
    const ALL: [Self; 11] = [
        Self::Requests,
        Self::ClientNotifications,
        Self::Notifications,
        Self::ServerRequests,
        Self::ItemTypes,
        Self::ClientCapabilities,
        Self::ServerCapabilities,
        Self::ErrorCodes,
        Self::Hub,
        Self::Contents,
        Self::Contexts,
    ];

    /// Returns the heading.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Requests => "Requests",
            Self::ClientNotifications => "Client notifications",
            Self::Notifications => "Notifications",
            Self::ServerRequests => "Server requests",
            Self::ItemTypes => "Item types",
            Self::ClientCapabilities => "Client capabilities",
            Self::ServerCapabilities => "Server capabilities",
            Self::ErrorCodes => "Error codes",
            Self::Hub => "Hub over HTTP",
            Self::Contents => "Contents",
            Self::Contexts => "Contexts",
        }
    }
}

/// What is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// As the pages have it.
    Done,
    /// There, and something is missing that the row names.
    Partial,
    /// Not there; the row says what a client sees instead.
    NotHere,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) section: Section,
    /// What it is about; several where one sentence holds for all.
    pub(crate) names: Vec<String>,
    pub(crate) state: State,
    /// What is missing, or what a client sees instead.
    pub(crate) note: String,
    /// Tests, as `room/file: function`.
    pub(crate) tests: Vec<String>,
}

/// All rows, and the lines that are none.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) rows: Vec<Row>,
    unread: Vec<String>,
}

impl Page {
    /// Reads the tables under the headings of the sections; everything else is prose.
    pub(crate) fn parse(text: &str) -> Self {
        let mut page = Self::default();
        let mut section = None;
        for line in text.lines() {
            if let Some(title) = line.strip_prefix("## ") {
                section = Section::ALL.into_iter().find(|section| section.title() == title);
            } else if let (Some(section), Some(cells)) = (section, line.strip_prefix('|')) {
                match row(section, cells) {
                    Some(row) => page.rows.push(row),
                    None if cells.starts_with("---") || cells.starts_with(" Name ") => {}
                    None => page.unread.push(line.to_owned()),
                }
            }
        }
        page
    }

    /// Returns the tests that rows name.
    pub(crate) fn tests(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().flat_map(|row| &row.tests).map(String::as_str)
    }

    /// Returns what is wrong with the page as it stands.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let mut complaints: Vec<String> = self.unread.iter().map(|line| format!("no row: {line}")).collect();
        let mut known = BTreeSet::new();
        for row in &self.rows {
            let about = format!("{}: `{}`", row.section.title(), row.names.join("`, `"));
            if row.state != State::NotHere && row.tests.is_empty() {
                complaints.push(format!("{about} names no test"));
            }
            if row.state != State::Done && row.note.is_empty() {
                complaints.push(format!("{about} does not say what is missing"));
            }
            for name in &row.names {
                if !known.insert((row.section, name)) {
                    complaints.push(format!("{}: `{name}` has two rows", row.section.title()));
                }
            }
        }
        complaints
    }
}

/// Reads `names | page | state | note | tests |`.
fn row(section: Section, cells: &str) -> Option<Row> {
    let cells: Vec<_> = cells
        .trim_end()
        .strip_suffix('|')?
        .split('|')
        .map(str::trim)
        .collect();
    let [names, _page, state, note, tests] = cells.as_slice() else {
        return None;
    };
    let names = quoted(names);
    let state = match *state {
        "done" => State::Done,
        "partial" => State::Partial,
        "not here" => State::NotHere,
        _ => return None,
    };
    (!names.is_empty()).then(|| Row {
        section,
        names,
        state,
        note: (*note).to_owned(),
        tests: quoted(tests),
    })
}

/// Returns what stands between backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# Title\n| a | table |\n## Item types\n| Name | Page | State | Note | Shown by |\n|---|---|---|---|---|\n";

    #[test]
    fn rows_are_read_under_their_heading() {
        let text = format!("{HEAD}| `error`, `plan` | 03 | partial | no `x` | `a/b: c`, `d/e: f` |\n");
        let page = Page::parse(&text);
        assert_eq!(
            page.rows,
            [Row {
                section: Section::ItemTypes,
                names: vec!["error".to_owned(), "plan".to_owned()],
                state: State::Partial,
                note: "no `x`".to_owned(),
                tests: vec!["a/b: c".to_owned(), "d/e: f".to_owned()],
            }]
        );
        assert_eq!(page.complaints(), Vec::<String>::new());
    }

    #[test]
    fn what_a_row_owes_is_asked_for() {
        let rows = "| `a` | 03 | done | | |\n| `b` | 03 | not here | | |\n| `c` | 03 | maybe | | |\n| `a` | 03 | not here | gone | |\n";
        let complaints = Page::parse(&format!("{HEAD}{rows}")).complaints();
        for words in [
            "no row: | `c`",
            "`a` names no test",
            "`b` does not say",
            "`a` has two rows",
        ] {
            assert!(
                complaints.iter().any(|told| told.contains(words)),
                "{words}: {complaints:?}"
            );
        }
        assert_eq!(complaints.len(), 4);
    }
}
