//! Writes the wanted reasoning effort into a request, on each wire. Pure.

use bobbin_model::Effort;
use serde_json::{Map, Value, json};

use super::back::host;
use crate::effort::Claude;
use crate::{ProviderSettings, Wire};

/// Least tokens that Anthropic accepts for thinking.
const LEAST_BUDGET: u64 = 1024;

/// Writes an effort into a request's body. It replaces an effort of the settings' `Body`.
pub(super) fn write(body: &mut Map<String, Value>, settings: &ProviderSettings, model: &str, effort: Effort) {
    match settings.wire {
        Wire::Responses => member(body, "reasoning")["effort"] = effort.name().into(),
        // A gateway translates this member for every maker's models.
        Wire::ChatCompletions if host(&settings.base_url).ends_with("openrouter.ai") => {
            member(body, "reasoning")["effort"] = effort.name().into();
        }
        Wire::ChatCompletions => {
            body.insert("reasoning_effort".to_owned(), effort.name().into());
        }
        Wire::Messages => think(body, model, effort),
    }
}

/// Returns a member as an object; adds or replaces it if it is none.
fn member<'a>(body: &'a mut Map<String, Value>, name: &str) -> &'a mut Value {
    let member = body.entry(name).or_insert(Value::Null);
    if !member.is_object() {
        *member = json!({});
    }
    member
}

fn think(body: &mut Map<String, Value>, model: &str, effort: Effort) {
    if effort == Effort::None {
        body.remove("thinking");
        return;
    }
    if Claude::of(model) == Some(Claude::Adaptive) {
        body.insert("thinking".to_owned(), json!({ "type": "adaptive" }));
        let name = match effort {
            Effort::Xhigh => "max",
            Effort::None | Effort::Minimal => "low",
            other => other.name(),
        };
        member(body, "output_config")["effort"] = name.into();
        return;
    }
    let wanted = match effort {
        Effort::None | Effort::Minimal | Effort::Low => 4_096,
        Effort::Medium => 12_288,
        Effort::High | Effort::Xhigh => 24_576,
    };
    // Thinking counts towards the reply's limit, and the answer needs its part.
    let most = body.get("max_tokens").and_then(Value::as_u64).unwrap_or_default();
    let budget = wanted.min(most * 3 / 4);
    if budget >= LEAST_BUDGET {
        let thinking = json!({ "type": "enabled", "budget_tokens": budget });
        body.insert("thinking".to_owned(), thinking);
    }
}
