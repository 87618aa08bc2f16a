//! The pages of the protocol's reference. The list of contents has the order of the groups.

/// A page of the reference. A feature of another crate makes its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Page {
    /// Name of the file, without the ending.
    pub name: &'static str,
    /// The title.
    pub title: &'static str,
}

#[expect(missing_docs, reason = "the titles say it")]
impl Page {
    pub const CONNECTION: Self = Self::new("connection", "Connection");
    pub const THREADS: Self = Self::new("threads", "Threads");
    pub const TURNS: Self = Self::new("turns", "Turns");
    pub const ITEMS: Self = Self::new("items", "Items");
    pub const APPROVALS: Self = Self::new("approvals", "Approvals");
    pub const SERVING: Self = Self::new("serving", "Clients that serve");
    pub const SUBAGENTS: Self = Self::new("subagents", "Subagents");
    pub const TERMINALS: Self = Self::new("terminals", "Terminals and ports");
    pub const MODELS: Self = Self::new("models", "Models");
    pub const MCP: Self = Self::new("mcp", "MCP servers");
    pub const COMMANDS: Self = Self::new("commands", "Commands and skills");
    pub const WORKSPACE: Self = Self::new("workspace", "Workspace");
    pub const SCHEDULES: Self = Self::new("schedules", "Jobs that run by the clock");

    pub const fn new(name: &'static str, title: &'static str) -> Self {
        Self { name, title }
    }
}
