//! `policy/explain` and `approval/rules/*`: what the rules say, and answers that were given for ever.

pub(crate) mod explain;
pub(crate) mod rules;
pub mod types;

use bobbin_native::group::{Group, rows};

use crate::wire::{
    ApprovalRulesListResult, ApprovalRulesRemoveParams, ApprovalRulesRemoveResult, EmptyParams,
    PolicyExplainParams, PolicyExplainResult,
};

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        request "policy/explain" (PolicyExplainParams => PolicyExplainResult)
            [ThreadNotFound] wait explain::explain:
            "Extension: says what would happen to a command, and which rule decides.";
        request "approval/rules/list" (EmptyParams => ApprovalRulesListResult) [] now rules::list:
            "Extension: lists the rules in force and the answers that were given for ever.";
        request "approval/rules/remove" (ApprovalRulesRemoveParams => ApprovalRulesRemoveResult)
            [] wait rules::remove:
            "Extension: takes back answers that were given for ever.";
    },
    capabilities: |_, capabilities| {
        capabilities.policy_explain = true;
        capabilities.approval_rules = true;
    },
    ..Group::EMPTY
};
