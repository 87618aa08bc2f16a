//! Rules of Claude Code's `permissions`, as rules of ours: `Bash(npm test:*)`, `Read(./.env)`, `WebFetch(domain:a.test)`.
//!
//! `allow` becomes a rule that allows the same or less. `deny` and `ask` become rules that hold for the same or more, as
//! all rules of ours that refuse and ask. A pattern for which there is no such rule is left out and named.

use std::path::Path;

use bobbin_agent_api::tool_name;
use bobbin_rules::{Rule, RuleText};
use serde_json::{Value, json};

use crate::brought::{Author, Translation, shown};
use crate::tools::ours;

/// Most rules of one file.
const MAX_RULES: usize = 200;

/// Why a rule is left out.
const UNKNOWN: &str = "no tool here";
const NO_COUNTERPART: &str = "this pattern has no counterpart";

/// Reads one entry of the list `action`.
pub(crate) fn read(action: &str, entry: &Value, made: &mut Translation<'_>) {
    let rules = match entry.as_str() {
        Some(text) => of_text(action, text.trim(), made.author),
        None => Err("no text"),
    };
    let rules = rules.and_then(|rules| {
        let usable = rules.iter().all(|rule| is_usable(rule, made.home));
        let enough = made.rules.len() + rules.len() <= MAX_RULES;
        match (usable, enough) {
            (false, _) => Err(NO_COUNTERPART),
            (_, false) => Err("there are too many rules"),
            (true, true) => Ok(rules),
        }
    });
    match rules {
        Ok(rules) => made.rules.extend(rules),
        Err(why) => {
            let shown = entry.as_str().map_or_else(|| shown(&entry.to_string()), shown);
            let what = format!("permissions.{action} {shown}: {why}");
            if action == "allow" {
                made.unused(what);
            } else {
                made.unused_guard(what);
            }
        }
    }
}

/// Whether a rule is one that a configuration file can have.
fn is_usable(rule: &Value, home: Option<&Path>) -> bool {
    let text = |name: &str| rule[name].as_str().map(str::to_owned);
    let rule = RuleText {
        action: text("Action").unwrap_or_default(),
        command: text("Command"),
        path: text("Path"),
        operation: text("Operation"),
        tool: text("Tool"),
        ..RuleText::default()
    };
    Rule::new(rule, home).is_ok()
}

fn of_text(action: &str, text: &str, author: Author) -> Result<Vec<Value>, &'static str> {
    if text.starts_with("mcp__") {
        let tool = of_server(text).ok_or(NO_COUNTERPART)?;
        return Ok(vec![json!({ "Action": action, "Tool": tool })]);
    }
    let Some((tool, pattern)) = text.split_once('(') else {
        return whole(action, text);
    };
    let pattern = pattern.strip_suffix(')').ok_or(NO_COUNTERPART)?;
    if ["", "*"].contains(&pattern) {
        return whole(action, tool);
    }
    let path = |operation: &str| {
        let path = path(action, pattern, author).ok_or(NO_COUNTERPART)?;
        Ok(vec![
            json!({ "Action": action, "Path": path, "Operation": operation }),
        ])
    };
    match tool {
        "Bash" => {
            let command = command(action, pattern).ok_or(NO_COUNTERPART)?;
            Ok(vec![json!({ "Action": action, "Command": command })])
        }
        "Read" => path("read"),
        "Edit" | "MultiEdit" | "Write" => path("write"),
        "WebFetch" => {
            let host = pattern.strip_prefix("domain:").filter(|host| is_host(host));
            let host = host.ok_or(NO_COUNTERPART)?;
            Ok(vec![
                json!({ "Action": action, "Tool": format!("WebFetch:{host}") }),
            ])
        }
        tool if ours(tool).is_empty() => Err(UNKNOWN),
        _ => Err(NO_COUNTERPART),
    }
}

/// Returns the rules for all calls of a tool.
fn whole(action: &str, tool: &str) -> Result<Vec<Value>, &'static str> {
    let tools = |tools: &[&str]| {
        let rule = |tool: &&str| json!({ "Action": action, "Tool": tool });
        Ok(tools.iter().map(rule).collect())
    };
    match (action, tool) {
        // These names are of single hosts, too.
        (_, "WebFetch") => tools(&["WebFetch*"]),
        (_, "WebSearch") => tools(ours(tool)),
        ("allow" | "ask", "Bash") => Ok(vec![json!({ "Action": action, "Command": "**" })]),
        ("ask", "Edit" | "MultiEdit" | "Write") => Ok(vec![
            json!({ "Action": action, "Path": "/**", "Operation": "write" }),
        ]),
        (_, tool) if ours(tool).is_empty() => Err(UNKNOWN),
        ("deny", tool) => tools(ours(tool)),
        ("allow", "Read" | "Edit" | "MultiEdit" | "Write" | "Glob" | "Grep" | "LS") => {
            Err("files of the workspace need no such rule here; a rule for a path reaches beyond them")
        }
        _ => Err(NO_COUNTERPART),
    }
}

/// Returns the name of a server's tool, or the start of the names of all its tools.
fn of_server(text: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if tool_name::parts(text).is_some() && text.chars().all(is_plain) {
        return Some(text.to_owned());
    }
    let server = text.strip_prefix("mcp__")?;
    let server = server.strip_suffix("__*").unwrap_or(server);
    let is_one = !server.is_empty() && !server.contains("__") && server.chars().all(is_plain);
    is_one.then(|| format!("mcp__{server}__*"))
}

fn is_host(host: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    !host.is_empty() && host.chars().all(plain)
}

/// Returns the pattern of a command line. There, `*` stands for any characters, and `:*` at the end for further words.
fn command(action: &str, pattern: &str) -> Option<String> {
    let (start, is_open) = match pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *")) {
        Some(start) => (start, true),
        None => (pattern, false),
    };
    // A shell reads other characters in its own way, and patterns of ours read `?`.
    let plain = |c: char| c.is_ascii_alphanumeric() || " ./_-+:,@%=*".contains(c);
    if !start.chars().all(plain) || start.trim().is_empty() {
        return None;
    }
    let mut words: Vec<String> = start.split_whitespace().map(str::to_owned).collect();
    // A variable before the program.
    if words[0].contains(['=', '*']) && (action == "allow" || words[0].contains('=')) {
        return None;
    }
    let last = words.len() - 1;
    for at in 0..words.len() {
        let word = &words[at];
        match word.find('*') {
            None => {}
            // Any words.
            Some(_) if word == "*" && action != "allow" => "**".clone_into(&mut words[at]),
            // The rest of a word, and any words.
            Some(star) if star > 0 && star + 1 == word.len() && at == last && !is_open => {
                words.push("*".to_owned());
            }
            Some(_) => return None,
        }
    }
    if is_open {
        words.push("*".to_owned());
    }
    Some(words.join(" "))
}

/// Returns the pattern of a path, which is one of `.gitignore` there, with `//` for the root of the disk and `/` for the
/// folder.
fn path(action: &str, pattern: &str, author: Author) -> Option<String> {
    if pattern.starts_with('!') || pattern.contains(['{', '}', '\\']) || pattern.contains("..") {
        return None;
    }
    if let Some(rest) = pattern.strip_prefix("//") {
        return Some(format!("/{rest}"));
    }
    if pattern.starts_with("~/") {
        return Some(pattern.to_owned());
    }
    if let Some(rest) = pattern.strip_prefix('/') {
        // In a user's own file it has no folder.
        return (author == Author::Folder && !rest.is_empty()).then(|| rest.to_owned());
    }
    let (inside, is_anchored) = match pattern.strip_prefix("./") {
        Some(inside) => (inside, true),
        None => (pattern, pattern.trim_end_matches('/').contains('/')),
    };
    if inside.is_empty() || inside.starts_with(['/', '~']) {
        return None;
    }
    // A single name is one in any directory. A rule that allows stays with the narrower meaning.
    if is_anchored || action == "allow" || inside == "**" {
        Some(inside.to_owned())
    } else {
        Some(format!("**/{inside}"))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn rules(action: &str, text: &str) -> Vec<String> {
        let mut made = Translation::new(Author::Folder, Some(Path::new("/home/mika")));
        read(action, &json!(text), &mut made);
        let line = |rule: &Value| {
            let mut members = ["Command", "Path", "Operation", "Tool"].into_iter();
            let mut line: Vec<String> = Vec::new();
            line.extend(
                members
                    .by_ref()
                    .filter_map(|name| Some(format!("{name} {}", rule[name].as_str()?))),
            );
            assert_eq!(rule["Action"], action);
            line.join(" ")
        };
        made.rules.iter().map(line).collect()
    }

    #[rstest]
    #[case("Bash", &["Command **"])]
    #[case("Bash(*)", &["Command **"])]
    #[case("Bash(npm run test)", &["Command npm run test"])]
    #[case("Bash(npm run test:*)", &["Command npm run test *"])]
    #[case("Bash(npm run test *)", &["Command npm run test *"])]
    #[case("Bash(npm run test*)", &["Command npm run test* *"])]
    #[case("Read(~/notes/**)", &["Path ~/notes/** Operation read"])]
    #[case("Read(//etc/hosts)", &["Path /etc/hosts Operation read"])]
    #[case("Edit(/docs/**)", &["Path docs/** Operation write"])]
    #[case("Write(.env)", &["Path .env Operation write"])]
    #[case("WebFetch", &["Tool WebFetch*"])]
    #[case("WebFetch(domain:a.test)", &["Tool WebFetch:a.test"])]
    #[case("mcp__pantry", &["Tool mcp__pantry__*"])]
    #[case("mcp__pantry__*", &["Tool mcp__pantry__*"])]
    #[case("mcp__pantry__pour", &["Tool mcp__pantry__pour"])]
    fn what_is_allowed_there_is_allowed_here(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(rules("allow", text), expected);
    }

    #[rstest]
    #[case("Bash", &["Tool Exec", "Tool WriteTerminal"])]
    #[case("Bash(rm*)", &["Command rm* *"])]
    #[case("Bash(git * main)", &["Command git ** main"])]
    #[case("Bash(*rm)", &[])]
    #[case("Bash(rm -rf:*)", &["Command rm -rf *"])]
    #[case("Read(.env)", &["Path **/.env Operation read"])]
    #[case("Read(./.env)", &["Path .env Operation read"])]
    #[case("Read(secrets/)", &["Path **/secrets/ Operation read"])]
    #[case("Read(./secrets/**)", &["Path secrets/** Operation read"])]
    #[case("Edit", &["Tool EditFile", "Tool WriteFile", "Tool ApplyPatch"])]
    #[case("WebSearch", &["Tool WebSearch"])]
    #[case("Task", &["Tool SpawnAgent"])]
    fn what_is_refused_there_is_refused_here(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(rules("deny", text), expected);
    }

    #[rstest]
    #[case("Bash(git * main)")]
    #[case("Bash(* --version)")]
    #[case("Bash(git*)")]
    #[case("Bash(A=1 make)")]
    #[case("Bash(make && x:*)")]
    #[case("Bash(echo $HOME)")]
    #[case("Bash(ls ?)")]
    #[case("Bash(ls a*b)")]
    #[case("Bash(make *:*)")]
    #[case("Bash(:*)")]
    #[case("Bash(make")]
    #[case("Read")]
    #[case("Edit(**/*.{a,b})")]
    #[case("Edit(../x/**)")]
    #[case("Edit(!x)")]
    #[case("Edit([)")]
    #[case("Edit(.//etc)")]
    #[case("WebFetch(domain:*.a.test)")]
    #[case("Skill(x)")]
    #[case("Nothing")]
    #[case("mcp__")]
    #[case("mcp__*")]
    #[case("mcp__pan*__pour")]
    fn what_has_no_counterpart_is_not_guessed(#[case] text: &str) {
        assert_eq!(rules("allow", text), [""; 0]);
    }

    #[test]
    fn a_rule_that_is_left_out_is_named_and_weighs_by_its_action() {
        let mut made = Translation::new(Author::User, None);
        read("deny", &json!("Edit(/docs/**)"), &mut made);
        read("allow", &json!(7), &mut made);
        read("deny", &json!("Read(~/.ssh/**)"), &mut made);
        for _ in 0..=MAX_RULES {
            read("allow", &json!("Bash(make)"), &mut made);
        }
        assert_eq!(made.rules.len(), MAX_RULES);
        let unused = made.named();
        assert_eq!(
            unused,
            [
                (
                    "permissions.deny \"Edit(/docs/**)\": this pattern has no counterpart",
                    true
                ),
                ("permissions.allow \"7\": no text", false),
                (
                    "permissions.deny \"Read(~/.ssh/**)\": this pattern has no counterpart",
                    true
                ),
                (
                    "permissions.allow \"Bash(make)\": there are too many rules",
                    false
                ),
            ]
        );
    }
}
