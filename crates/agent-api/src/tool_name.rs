//! Names under which models see tools of MCP servers, and the way back from a name to its server. Pure.
//!
//! A name is `mcp__SERVER__TOOL`. No built-in tool has this prefix, and the server's part differs for each server, so
//! different tools have different names. A part is altered if it contains characters that models refuse, contains the
//! separator, or is too long. An altered name ends with a hash of the original, so altered names differ too. A client's tool
//! has its own name if that is free ([`crate::dynamic_tool`]), or else a name of the form `client__TOOL` with such a hash.

/// Prefix of the names of MCP servers' tools.
const PREFIX: &str = "mcp__";
/// Prefix of a client's tool whose own name is not free.
const CLIENT_PREFIX: &str = "client__";
/// Prefix of FineCode actions.
const ACTION_PREFIX: &str = "finecode__";
/// Separator of the parts.
const SEPARATOR: &str = "__";
/// Longest name that every provider accepts.
const MAX_NAME: usize = 64;
/// Longest server part of an altered name.
const MAX_SERVER: usize = 20;
/// Length of a hash with its underscore.
const HASH: usize = 9;

/// Returns the name of a server's tool.
pub fn of_server(server: &str, tool: &str) -> String {
    let plain = format!("{PREFIX}{server}{SEPARATOR}{tool}");
    if plain.len() <= MAX_NAME && is_server_part(server) && is_tool_part(tool) {
        return plain;
    }
    let mut part = cleaned(server, MAX_SERVER);
    if part.is_empty() {
        part.push('x');
    }
    let room = MAX_NAME - PREFIX.len() - part.len() - SEPARATOR.len() - HASH;
    let mut tool_part = cleaned(tool, room);
    if tool_part.is_empty() {
        tool_part.push('x');
    }
    let hash = hash(server, tool);
    format!("{PREFIX}{part}{SEPARATOR}{tool_part}_{hash:08x}")
}

/// Returns the name of a FineCode action.
pub fn of_action(action: &str) -> String {
    let plain = format!("{ACTION_PREFIX}{action}");
    if plain.len() <= MAX_NAME && is_tool_part(action) {
        return plain;
    }
    let part = cleaned(action, MAX_NAME - ACTION_PREFIX.len() - HASH);
    format!("{ACTION_PREFIX}{part}_{:08x}", hash("", action))
}

/// Whether [`of_server`] may have made a name.
pub fn is_of_server(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Whether [`of_server`] may have made a name for a tool of this server.
pub fn could_be_of(server: &str, name: &str) -> bool {
    parts(name).is_some_and(|(part, _)| part == server || part == cleaned(server, MAX_SERVER))
}

/// Returns the name of a client's tool whose own name is not free.
pub fn of_client(namespace: Option<&str>, tool: &str) -> String {
    let plain = match namespace {
        Some(namespace) => format!("{namespace}_{tool}"),
        None => tool.to_owned(),
    };
    let part = cleaned(&plain, MAX_NAME - CLIENT_PREFIX.len() - HASH);
    let hash = hash(namespace.unwrap_or_default(), tool);
    format!("{CLIENT_PREFIX}{part}_{hash:08x}")
}

/// Returns the server and the tool of a name that [`of_server`] made, as they are in the name.
pub fn parts(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(PREFIX)?
        .split_once(SEPARATOR)
        .filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
}

fn is_server_part(part: &str) -> bool {
    // The first separator of a name must be the separator of its parts.
    is_tool_part(part) && !part.contains(SEPARATOR) && !part.starts_with('_') && !part.ends_with('_')
}

fn is_tool_part(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(is_taken) && !part.starts_with('_')
}

fn is_taken(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Returns a part in which one underscore replaces each run of underscores and characters that models refuse.
fn cleaned(part: &str, max: usize) -> String {
    let mut out = String::new();
    for char in part.chars() {
        let taken = char.is_ascii_alphanumeric() || char == '-';
        match (taken, out.ends_with('_')) {
            (true, _) => out.push(char),
            (false, false) => out.push('_'),
            (false, true) => {}
        }
        if out.len() == max {
            break;
        }
    }
    out.trim_matches('_').to_owned()
}

/// FNV-1a, 32 bits. Only an even spread is needed.
fn hash(server: &str, tool: &str) -> u32 {
    let bytes = server.bytes().chain([0]).chain(tool.bytes());
    bytes.fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_stay_as_they_are_and_come_apart_again() {
        for (server, tool) in [("pantry", "steep"), ("a-1_b", "get__all"), ("x", "trailing_")] {
            let name = of_server(server, tool);
            assert_eq!(name, format!("mcp__{server}__{tool}"));
            assert_eq!(parts(&name), Some((server, tool)));
        }
    }

    #[test]
    fn others_are_altered_and_say_what_they_stand_for() {
        let long = "t".repeat(100);
        let names = [
            of_server("my server", "steep"),
            of_server("my.server", "steep"),
            of_server("my_server_", "steep"),
            of_server("my__server", "steep"),
            of_server("my_server", "st\u{e9}ep"),
            of_server("my_server", "_steep"),
            of_server("my_server", ""),
            of_server("\u{8336}", "\u{8336}"),
            of_server("my_server", &long),
            of_server(&long, &long),
        ];
        for name in &names {
            assert!(name.len() <= MAX_NAME && name.bytes().all(is_taken), "{name}");
            let (server, tool) = parts(name).unwrap();
            assert!(is_server_part(server) && is_tool_part(tool), "{name}");
        }
        let distinct: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
    }

    #[test]
    fn actions_have_their_own_names() {
        assert_eq!(of_action("type_check"), "finecode__type_check");
        for odd in ["check types", "", &"a".repeat(100)] {
            let name = of_action(odd);
            assert!(name.len() <= MAX_NAME && name.bytes().all(is_taken), "{name}");
        }
        assert_ne!(of_action("a b"), of_action("a.b"));
    }

    #[test]
    fn names_of_others_have_no_parts() {
        for name in ["Exec", "mcp__", "mcp__a", "mcp__a__", "mcp____a", "Mcp__a__b"] {
            assert_eq!(parts(name), None, "{name}");
        }
    }
}
