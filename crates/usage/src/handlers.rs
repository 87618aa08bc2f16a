//! The handlers. Each reads the sums in a task of its own.

use std::collections::{BTreeMap, BTreeSet};

use bobbin_core::{CoreError, Threads, UsageQuery, UsageRow, UsedRow};
use bobbin_model::{Refusal, ThreadId, ThreadStatus};
use bobbin_native::client::{Client, fail, refuse_params};
use bobbin_native::convert::time;
use bobbin_peer::Responder;

use crate::history::{USUAL, day_of, entries, fits, summed};
use crate::types::{
    MostUsed, ProfileInsightsParams, ProfileInsightsResult, SkillUses, UsageCounts, UsageHistoryParams,
    UsageHistoryResult, UsageMetric, UsageOfModel, UsageOfThread, UsageRange, UsageSummaryParams,
    UsageSummaryResult, UsageThreadParams, UsageThreadResult, UsageThreadsParams, UsageThreadsResult,
    UsageUnit,
};

/// Milliseconds of a day and of a minute.
const DAY: i64 = 86_400_000;
const MINUTE: i64 = 60_000;
/// Most minutes between UTC and a local time.
const MAX_OFFSET: i64 = 840;
/// The beginning of the keys of skills.
const SKILL: &str = "skill:";

/// Reads the Turns of a range.
fn query(client: &Client, range: UsageRange) -> Result<UsageQuery, String> {
    let day = |name: &str, text: Option<String>| match text {
        None => Ok(None),
        Some(text) => day_of(&text)
            .map(Some)
            .ok_or_else(|| format!("'{name}' is no day as '2027-01-31'.")),
    };
    let offset = range
        .tz_offset_minutes
        .unwrap_or(0)
        .clamp(-MAX_OFFSET, MAX_OFFSET)
        * MINUTE;
    let (from, to) = (day("from", range.from)?, day("to", range.to)?);
    Ok(UsageQuery {
        workspace: client
            .threads()
            .settings()
            .workspace
            .to_string_lossy()
            .into_owned(),
        thread: None,
        from: from.map_or(i64::MIN, |day| day * DAY - offset),
        before: to.map_or(i64::MAX, |day| (day + 1) * DAY - offset),
        offset,
    })
}

/// Checks a number of entries.
fn limit(name: &str, asked: Option<u32>, usual: u32, most: u32) -> Result<usize, String> {
    let limit = asked.unwrap_or(usual);
    if !(1..=most).contains(&limit) {
        return Err(format!("'{name}' must be 1 to {most}."));
    }
    Ok(limit as usize)
}

pub(super) fn summary(client: &Client, params: UsageSummaryParams, responder: Responder) {
    let query = match query(client, params.range) {
        Ok(query) => query,
        Err(detail) => return refuse_params(responder, detail),
    };
    let threads = client.threads().clone();
    client.spawn(async move {
        match threads.usage(query).await {
            Ok((rows, _)) => responder.ok(summed_up(&rows)),
            Err(error) => fail(responder, &error),
        }
    });
}

fn summed_up(rows: &[UsageRow]) -> UsageSummaryResult {
    let sum = |of: fn(&UsageRow) -> u64| rows.iter().map(of).sum::<u64>();
    let (input, output, cached) = (sum(|row| row.input), sum(|row| row.output), sum(|row| row.cached));
    let (calls, tool_ms) = (sum(|row| row.tool_calls), sum(|row| row.tool_ms));
    let threads: BTreeSet<&str> = rows.iter().map(|row| row.thread.as_str()).collect();
    let requests = sum(|row| row.requests);
    UsageSummaryResult {
        session_count: threads.len() as u64,
        total_requests: requests,
        total_responses: requests,
        total_tool_calls: calls,
        total_errors: sum(|row| row.errors),
        total_context_compactions: sum(|row| row.compactions),
        total_input_tokens: input,
        total_output_tokens: output,
        total_cached_input_tokens: cached,
        total_cache_write_input_tokens: 0,
        total_fresh_input_tokens: input.saturating_sub(cached),
        total_non_cached_input_tokens: input.saturating_sub(cached),
        total_reasoning_output_tokens: sum(|row| row.reasoning),
        total_tokens: input + output,
        total_tool_duration_ms: tool_ms,
        avg_tool_duration_ms: tool_ms.checked_div(calls).unwrap_or(0),
        max_tool_duration_ms: rows.iter().map(|row| row.tool_ms_max).max().unwrap_or(0),
        cache_hit_rate: share(cached, input),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share is read as a percentage")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

pub(super) fn history(client: &Client, params: UsageHistoryParams, responder: Responder) {
    let (metric, by) = (params.metric, params.group_by.unwrap_or_default());
    if !fits(metric, by) {
        return refuse_params(responder, "'groupBy' does not belong to this 'metric'.");
    }
    let asked = query(client, params.range)
        .and_then(|query| Ok((query, limit("topLimit", params.top_limit, 10, 20)?)));
    let (query, most) = match asked {
        Ok(asked) => asked,
        Err(detail) => return refuse_params(responder, detail),
    };
    let threads = client.threads().clone();
    client.spawn(async move {
        match threads.usage(query).await {
            Ok((rows, used)) => {
                let (days, series) = summed(&entries(metric, by, &rows, &used), most);
                responder.ok(UsageHistoryResult {
                    unit: if metric == UsageMetric::Tokens {
                        UsageUnit::Tokens
                    } else {
                        UsageUnit::Count
                    },
                    group_by: by,
                    days,
                    series,
                });
            }
            Err(error) => fail(responder, &error),
        }
    });
}

fn counts<'a>(rows: impl IntoIterator<Item = &'a UsageRow>) -> UsageCounts {
    let mut counts = UsageCounts::default();
    for row in rows {
        counts.turns += row.turns;
        counts.input_tokens += row.input;
        counts.output_tokens += row.output;
        counts.cached_input_tokens += row.cached;
    }
    counts.total_tokens = counts.input_tokens + counts.output_tokens;
    counts.cache_hit_rate = share(counts.cached_input_tokens, counts.input_tokens);
    counts
}

/// Sums rows by a key, those with most tokens first.
fn grouped<K: Ord>(rows: &[UsageRow], key: impl Fn(&UsageRow) -> K) -> Vec<(K, UsageCounts)> {
    let mut groups: BTreeMap<K, Vec<&UsageRow>> = BTreeMap::new();
    for row in rows {
        groups.entry(key(row)).or_default().push(row);
    }
    let mut groups: Vec<_> = groups
        .into_iter()
        .map(|(key, rows)| (key, counts(rows)))
        .collect();
    groups.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.total_tokens));
    groups
}

pub(super) fn threads(client: &Client, params: UsageThreadsParams, responder: Responder) {
    let asked =
        query(client, params.range).and_then(|query| Ok((query, limit("limit", params.limit, 5, 50)?)));
    let (query, most) = match asked {
        Ok(asked) => asked,
        Err(detail) => return refuse_params(responder, detail),
    };
    let threads = client.threads().clone();
    client.spawn(async move {
        let found = async {
            let (rows, _) = threads.usage(query).await?;
            let mut found = Vec::new();
            for (thread, counts) in grouped(&rows, |row| row.thread.clone()).into_iter().take(most) {
                found.extend(of_thread(&threads, thread, counts).await?);
            }
            Ok(UsageThreadsResult { threads: found })
        };
        match found.await {
            Ok(result) => responder.ok(result),
            Err(error) => fail(responder, &error),
        }
    });
}

/// Returns what a Thread used, unless it is gone.
async fn of_thread(
    threads: &Threads,
    thread: String,
    counts: UsageCounts,
) -> Result<Option<UsageOfThread>, CoreError> {
    let state = threads.stored(&ThreadId::new(thread.as_str())).await?;
    Ok(state.map(|state| UsageOfThread {
        thread_id: thread,
        title: state.header.display_name,
        origin_channel: state.header.origin_channel,
        last_active_at: time(state.header.last_active_at),
        archived: state.header.status == ThreadStatus::Archived,
        counts,
    }))
}

pub(super) fn thread(client: &Client, params: UsageThreadParams, responder: Responder) {
    let query = match query(client, UsageRange::default()) {
        Ok(query) => query,
        Err(detail) => return refuse_params(responder, detail),
    };
    let (threads, id) = (client.threads().clone(), ThreadId::new(params.thread_id));
    client.spawn(async move {
        let read = async {
            if threads.stored(&id).await?.is_none() {
                return Err(CoreError::from(Refusal::ThreadNotFound(id.clone())));
            }
            let query = UsageQuery {
                thread: Some(id.clone()),
                ..query
            };
            Ok(threads.usage(query).await?.0)
        };
        match read.await {
            Ok(rows) => {
                let groups = grouped(&rows, |row| (row.model.clone(), row.effort.clone())).into_iter();
                responder.ok(UsageThreadResult {
                    thread_id: id.to_string(),
                    counts: counts(&rows),
                    groups: groups
                        .map(|((model, reasoning_effort), counts)| UsageOfModel {
                            model,
                            reasoning_effort,
                            counts,
                        })
                        .collect(),
                });
            }
            Err(error) => fail(responder, &error),
        }
    });
}

pub(super) fn insights(client: &Client, params: ProfileInsightsParams, responder: Responder) {
    let asked = query(client, params.range)
        .and_then(|query| Ok((query, limit("topSkills", params.top_skills, 5, 20)?)));
    let (query, most) = match asked {
        Ok(asked) => asked,
        Err(detail) => return refuse_params(responder, detail),
    };
    let threads = client.threads().clone();
    client.spawn(async move {
        match threads.usage(query).await {
            Ok((rows, used)) => responder.ok(insight(&rows, &used, most)),
            Err(error) => fail(responder, &error),
        }
    });
}

fn insight(rows: &[UsageRow], used: &[UsedRow], most: usize) -> ProfileInsightsResult {
    let total: u64 = rows.iter().map(|row| row.turns).sum();
    let top = |key: fn(&UsageRow) -> &Option<String>| {
        let mut turns: BTreeMap<&str, u64> = BTreeMap::new();
        for row in rows {
            *turns.entry(key(row).as_deref().unwrap_or(USUAL)).or_default() += row.turns;
        }
        let top = turns.into_iter().max_by_key(|(_, turns)| *turns);
        top.map(|(key, count)| MostUsed {
            key: key.to_owned(),
            count,
            total,
        })
    };
    let mut uses: BTreeMap<&str, u64> = BTreeMap::new();
    for row in used {
        if let Some(skill) = row.key.strip_prefix(SKILL) {
            *uses.entry(skill).or_default() += row.count;
        }
    }
    let (explored, all) = (uses.len() as u64, uses.values().sum());
    let mut skills: Vec<SkillUses> = uses
        .into_iter()
        .map(|(name, count)| SkillUses {
            name: name.to_owned(),
            count,
        })
        .collect();
    skills.sort_by(|one, other| other.count.cmp(&one.count).then(one.name.cmp(&other.name)));
    skills.truncate(most);
    let threads: BTreeSet<&str> = rows.iter().map(|row| row.thread.as_str()).collect();
    ProfileInsightsResult {
        top_model: top(|row| &row.model),
        top_reasoning: top(|row| &row.effort),
        skills_explored: explored,
        total_skills_used: all,
        total_threads: threads.len() as u64,
        longest_task_ms: rows.iter().map(|row| row.turn_ms_max).max().unwrap_or(0),
        skills,
    }
}
