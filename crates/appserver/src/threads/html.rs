//! A conversation as one page of HTML that loads nothing. Every text in it is escaped, Markdown included.

use std::fmt::Write as _;

use super::export::{Conversation, Part};

const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
const STYLE: &str = "<style>\n\
:root { color-scheme: light dark; }\n\
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }\n\
h1 { font-size: 1.4rem; }\n\
h2 { font-size: .9rem; font-weight: 600; opacity: .7; margin-top: 2.5rem; }\n\
pre, p { white-space: pre-wrap; overflow-wrap: anywhere; }\n\
pre { font: 13px/1.45 ui-monospace, monospace; padding: .6rem .8rem; border: 1px solid #8884; border-radius: 6px; }\n\
.user { border-left: 4px solid #4a7fd6; padding-left: .8rem; }\n\
.failed, .error { border-left: 4px solid #c0392b; padding-left: .8rem; }\n\
</style>\n";

/// Returns the page.
pub(super) fn page(conversation: &Conversation) -> String {
    let title = escaped(&conversation.title);
    let mut page = format!(
        "{HEAD}<title>{title}</title>\n{STYLE}<h1>{title}</h1>\n<p>{}</p>\n",
        escaped(&conversation.id)
    );
    for turn in &conversation.turns {
        let (id, at, status) = (
            escaped(&turn.id),
            escaped(&turn.started_at),
            escaped(&turn.status),
        );
        let _ = writeln!(page, "<h2>{id} · {at} · {status}</h2>");
        for part in &turn.parts {
            let _ = writeln!(page, "{}", block(part));
        }
    }
    page.push_str("</html>\n");
    page
}

fn block(part: &Part) -> String {
    match part {
        Part::User(text) => format!("<p class=\"user\">{}</p>", escaped(text)),
        Part::Agent(text) => format!("<p>{}</p>", escaped(text)),
        Part::Reasoning(text) => folded("reasoning", text, ""),
        Part::Call(tool, arguments) => format!(
            "<pre><strong>{}</strong> {}</pre>",
            escaped(tool),
            escaped(arguments)
        ),
        Part::Result(text, true) => folded("result", text, ""),
        Part::Result(text, false) => folded("failed", text, " class=\"failed\""),
        Part::Error(text) => format!("<p class=\"error\">{}</p>", escaped(text)),
    }
}

fn folded(summary: &str, text: &str, class: &str) -> String {
    format!(
        "<details{class}><summary>{summary}</summary><pre>{}</pre></details>",
        escaped(text)
    )
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}
