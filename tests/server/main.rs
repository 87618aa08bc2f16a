//! The real binary over each of its doors: few tests, each about something only the whole can show.

#[cfg(test)]
mod acp;
#[cfg(test)]
mod acp_rounds;
#[cfg(test)]
mod agent;
#[cfg(test)]
mod alerts;
#[cfg(test)]
mod apart;
#[cfg(test)]
mod approvals;
#[cfg(test)]
mod audit;
#[cfg(test)]
mod awkward;
#[cfg(test)]
mod bubblewrap;
#[cfg(test)]
mod bubblewrap_fails;
#[cfg(test)]
mod channels;
#[cfg(test)]
mod chaos;
#[cfg(test)]
mod chaos_child;
#[cfg(test)]
mod chaos_client;
#[cfg(test)]
mod chaos_damage;
#[cfg(test)]
mod chaos_disk;
#[cfg(test)]
mod chaos_steps;
#[cfg(test)]
mod chat;
#[cfg(test)]
mod client_history;
#[cfg(test)]
mod codex;
#[cfg(test)]
mod configuration;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod database;
#[cfg(test)]
mod deploy;
#[cfg(test)]
mod doors;
#[cfg(test)]
mod dynamic_tools;
#[cfg(test)]
mod eca;
#[cfg(test)]
mod eca_frames;
#[cfg(test)]
mod eca_golden;
#[cfg(test)]
mod eca_golden_whole;
#[cfg(test)]
mod eca_options;
#[cfg(test)]
mod eca_pictures;
#[cfg(test)]
mod eca_providers;
#[cfg(test)]
mod eca_writing;
#[cfg(test)]
mod editor_proxy;
#[cfg(test)]
mod elicitation;
#[cfg(test)]
mod engine_acp;
#[cfg(test)]
mod everyday;
#[cfg(test)]
mod exec;
#[cfg(test)]
mod files;
#[cfg(test)]
mod finecode;
#[cfg(test)]
mod forwards;
#[cfg(test)]
mod git;
#[cfg(test)]
mod held_place;
#[cfg(test)]
mod hermes_agent;
#[cfg(test)]
mod hooks_managed;
#[cfg(test)]
mod hub;
#[cfg(test)]
mod logging;
#[cfg(test)]
mod many_clients;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod mcp_http;
#[cfg(test)]
mod mcp_killed;
#[cfg(test)]
mod mcp_runtime;
#[cfg(test)]
mod models;
#[cfg(test)]
mod node;
#[cfg(test)]
mod one_server;
mod ordering;
#[cfg(test)]
mod overload;
#[cfg(test)]
mod people;
#[cfg(test)]
mod pictures;
#[cfg(test)]
mod plugin;
#[cfg(test)]
mod profiles;
#[cfg(test)]
mod protocol;
#[cfg(test)]
mod revert;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod sandbox;
#[cfg(test)]
mod sandbox_attempts;
#[cfg(test)]
mod schedules;
#[cfg(test)]
mod shells;
#[cfg(test)]
mod stdio;
#[cfg(test)]
mod story;
#[cfg(test)]
mod subagents;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tasks;
#[cfg(test)]
mod terminals;
#[cfg(test)]
mod threads;
#[cfg(test)]
mod today;
#[cfg(all(test, feature = "otel"))]
mod traces;
#[cfg(test)]
mod user_commands;
#[cfg(test)]
mod web_socket;
#[cfg(test)]
mod worktrees;
