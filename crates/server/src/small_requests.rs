//! Senders of small requests to models, beside the Turns.

use std::sync::Arc;

use bobbin_agent::{Helpers, Titles};
use bobbin_config::Config;
use bobbin_models::CurrentModels;
use bobbin_tools::Git;

/// Returns the helpers that make small suggestions.
pub(crate) fn helpers(config: &Config, models: &CurrentModels, git: Git) -> Helpers {
    let helpers = Helpers::new(Arc::new(models.clone()), git);
    helpers.set_welcome(config.agent.welcome);
    helpers
}

/// Returns the writer of titles, if the configuration enables it.
pub(crate) fn titles(config: &Config, models: &CurrentModels) -> Option<Arc<Titles>> {
    let settings = &config.agent.titles;
    settings
        .enabled
        .then(|| Titles::new(Arc::new(models.clone()), settings.model.clone()))
}
