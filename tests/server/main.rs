//! The real binary over each of its doors: few tests, each about something only the whole can show.

mod approvals;
mod crash;
mod exec;
mod many_clients;
mod ordering;
mod overload;
mod stdio;
mod support;
mod web_socket;
