//! The services of a server besides its Threads. The program makes them once and passes them to every dialect.

use std::sync::Arc;

use bobbin_prompts::Prompts;

use crate::channel::ChannelDelivery;
use crate::engines::EngineCommands;
use crate::features::Features;
use crate::forward::Forwards;
use crate::model_catalog::ModelCatalog;
use crate::picture::PictureFiles;
use crate::process::ServerProcess;
use crate::slash::SlashCommands;
use crate::suggest::Suggestions;
use crate::terminal::Terminals;
use crate::tool_server::ToolServers;
use crate::trust::WorkspaceTrust;
use crate::workspace_config::WorkspaceConfig;

/// The features of a server. A dialect does not offer a feature that is `None`.
#[derive(Clone, Default)]
pub struct Services {
    /// The server's version.
    pub version: &'static str,
    /// The server as a process.
    pub process: Option<Arc<ServerProcess>>,
    /// Runs tool servers.
    pub tool_servers: Option<Arc<dyn ToolServers>>,
    /// Stores the user's trust in the folder.
    pub trust: Option<Arc<dyn WorkspaceTrust>>,
    /// Reads and writes configuration files.
    pub config: Option<Arc<dyn WorkspaceConfig>>,
    /// Runs commands in the background.
    pub terminals: Option<Arc<dyn Terminals>>,
    /// Forwards ports of Threads.
    pub forwards: Option<Arc<dyn Forwards>>,
    /// Suggests commit messages and first inputs.
    pub suggestions: Option<Arc<dyn Suggestions>>,
    /// Reads the commands and skills of the workspace and its user.
    pub prompts: Option<Arc<Prompts>>,
    /// Lists the models.
    pub models: Option<Arc<dyn ModelCatalog>>,
    /// Sends messages to chats of external channels.
    pub channels: Option<Arc<dyn ChannelDelivery>>,
    /// Stores pictures that arrive as bytes.
    pub pictures: Option<Arc<dyn PictureFiles>>,
    /// Runs the slash commands of features.
    pub slash: Option<Arc<dyn SlashCommands>>,
    /// Lists the slash commands of other agents.
    pub engine_commands: Option<Arc<dyn EngineCommands>>,
    /// Features that this crate does not know.
    pub others: Features,
}

/// Broadcast: the configuration was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigNews {
    /// The method that changed it.
    pub source: &'static str,
    /// The parts that have changed.
    pub regions: Vec<&'static str>,
}

/// Broadcast: values in configuration files were changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigValueNews {
    /// The method that changed them.
    pub source: &'static str,
    /// The parts that have changed.
    pub regions: Vec<String>,
    /// The dotted paths of the values.
    pub keys: Vec<String>,
}
