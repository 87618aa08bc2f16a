//! Which page of the reference has which methods, and which capability of the server they need.

/// One page.
pub(super) struct Page {
    /// Its name, without the ending.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Methods, by their beginnings, each with the capability that says they are there. The longest beginning counts.
    pub(super) methods: &'static [(&'static str, Option<&'static str>)],
}

/// The pages, in the order of the list of contents.
pub(super) const PAGES: &[Page] = &[
    Page {
        name: "connection",
        title: "Connection",
        methods: &[
            ("initialize", None),
            ("initialized", None),
            ("$/cancelRequest", None),
            ("system/", None),
            ("server/stats", Some("serverStats")),
        ],
    },
    Page {
        name: "threads",
        title: "Threads",
        methods: &[
            ("thread/", Some("threadManagement")),
            ("thread/subscribe", Some("threadSubscriptions")),
            ("thread/unsubscribe", Some("threadSubscriptions")),
            ("thread/synced", Some("eventCursors")),
            ("thread/configured", Some("eventCursors")),
            ("thread/rolledBack", Some("eventCursors")),
            ("thread/mode/set", Some("modeSwitch")),
            ("thread/config/update", Some("configOverride")),
            ("thread/search", Some("threadSearch")),
            ("thread/fork", Some("extensions.threadFork")),
            ("channel/list", None),
        ],
    },
    Page {
        name: "turns",
        title: "Turns",
        methods: &[
            ("turn/", None),
            ("turn/revert", Some("turnRevert")),
            ("turn/picture/", Some("extensions.pictures")),
            ("plan/", None),
        ],
    },
    Page {
        name: "items",
        title: "Items",
        methods: &[("item/", None)],
    },
    Page {
        name: "approvals",
        title: "Approvals",
        methods: &[
            ("item/approval/", Some("approvalFlow")),
            ("item/tool/requestUserInput", Some("approvalFlow")),
            ("approval/rules/", Some("approvalRules")),
            ("policy/explain", Some("policyExplain")),
        ],
    },
    Page {
        name: "serving",
        title: "Clients that serve",
        methods: &[("item/tool/call", None), ("ext/", None)],
    },
    Page {
        name: "subagents",
        title: "Subagents",
        methods: &[
            ("subagent/", Some("subAgentSessions")),
            ("subagent/profiles/", Some("subAgentManagement")),
            ("subagent/settings/", Some("subAgentManagement")),
        ],
    },
    Page {
        name: "terminals",
        title: "Terminals and ports",
        methods: &[
            ("terminal/", Some("backgroundTerminals")),
            ("forward/", Some("extensions.forward")),
        ],
    },
    Page {
        name: "models",
        title: "Models",
        methods: &[
            ("model/", Some("modelCatalogManagement")),
            ("workspace/defaults/", Some("modelCatalogManagement")),
        ],
    },
    Page {
        name: "mcp",
        title: "MCP servers",
        methods: &[
            ("mcp/", Some("mcpManagement")),
            ("mcp/status/", Some("mcpStatus")),
        ],
    },
    Page {
        name: "commands",
        title: "Commands and skills",
        methods: &[
            ("command/", Some("commandManagement")),
            ("skills/", Some("skillsManagement")),
        ],
    },
    Page {
        name: "plugins",
        title: "Plugins",
        methods: &[("plugin/", Some("pluginManagement"))],
    },
    Page {
        name: "workspace",
        title: "Workspace",
        methods: &[
            ("workspace/config", Some("workspaceConfigManagement")),
            ("workspace/trust", Some("workspaceTrust")),
            ("workspace/files/", Some("extensions.workspaceFiles")),
            ("workspace/commitMessage/", None),
            ("doctor/", Some("extensions.doctor")),
            ("welcome/", Some("extensions.welcomeSuggestions")),
        ],
    },
    Page {
        name: "channels",
        title: "Chat channels",
        methods: &[
            ("channel/", Some("channelStatus")),
            ("externalChannel/", Some("externalChannelManagement")),
            ("ext/channel/", None),
        ],
    },
    Page {
        name: "schedules",
        title: "Jobs that run by the clock",
        methods: &[
            ("cron/", Some("cronManagement")),
            ("heartbeat/", Some("heartbeatManagement")),
            ("automation/", Some("automations")),
            ("system/jobResult", None),
        ],
    },
    Page {
        name: "hermes",
        title: "Hermes extensions",
        methods: &[("hermes/", Some("extensions.hermesUi"))],
    },
    Page {
        name: "finecode",
        title: "FineCode",
        methods: &[("finecode/", Some("extensions.finecode"))],
    },
    Page {
        name: "devices",
        title: "Paired browsers",
        methods: &[("device/", Some("extensions.devices"))],
    },
];

/// Returns the page of a method and the capability that it needs.
pub(super) fn find(method: &str) -> Option<(&'static Page, Option<&'static str>)> {
    let rows = PAGES
        .iter()
        .flat_map(|page| page.methods.iter().map(move |row| (page, row)));
    rows.filter(|(_, (begin, _))| method.starts_with(begin))
        .max_by_key(|(_, (begin, _))| begin.len())
        .map(|(page, (_, capability))| (page, *capability))
}
