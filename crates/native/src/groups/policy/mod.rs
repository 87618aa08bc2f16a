//! `policy/explain` and `approval/rules/*`: the outcome of commands by the rules, and the user's standing permissions.

pub(crate) mod explain;
pub(crate) mod rules;
pub mod types;

use crate::group::{Group, rows};

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
            "Extension: lists the rules in force and what is always allowed.";
        request "approval/rules/remove" (ApprovalRulesRemoveParams => ApprovalRulesRemoveResult)
            [] wait rules::remove:
            "Extension: removes requests from what is always allowed.";
    },
    capabilities: |_, capabilities| {
        capabilities.policy_explain = true;
        capabilities.approval_rules = true;
    },
    ..Group::EMPTY
};
