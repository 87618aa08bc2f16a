//! The answer of `initialize`: the same from every server, so that a client gets it before its folder is known.

use bobbin_acp_wire::{
    AgentCapabilities, Implementation, InitializeResult, McpCapabilities, PromptCapabilities,
    SessionCapabilities, Supported, VERSION,
};

/// Returns the answer of `initialize`, from a program of this version. It answers every version of the protocol with the
/// one that is spoken. No login is offered: clients call the first one whether they need it or not.
pub(crate) fn greeting(version: &str) -> InitializeResult {
    let yes = Some(Supported {});
    InitializeResult {
        protocol_version: VERSION,
        agent_capabilities: AgentCapabilities {
            load_session: true,
            prompt_capabilities: PromptCapabilities {
                image: true,
                audio: false,
                embedded_context: true,
            },
            mcp_capabilities: McpCapabilities {
                http: true,
                sse: false,
            },
            session_capabilities: SessionCapabilities {
                list: yes,
                delete: yes,
                additional_directories: None,
                resume: yes,
                close: yes,
            },
            auth: None,
        },
        auth_methods: Vec::new(),
        agent_info: Some(Implementation {
            name: "bobbin".to_owned(),
            title: Some("Bobbin".to_owned()),
            version: version.to_owned(),
        }),
    }
}
