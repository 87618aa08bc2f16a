//! Lists and reads. Tasks of their own wait for the disk.

use std::sync::Arc;

use bobbin_core::{CoreError, ListFilter, Snapshot, Threads};
use bobbin_model::{ThreadId, TurnId, UnixMillis};
use bobbin_native_wire::Nullable;
use bobbin_native_wire::thread::params::{
    ListIdentity, ListScope, ThreadListParams, ThreadListResult, ThreadReadParams, ThreadReadResult, TurnPage,
};
use bobbin_native_wire::thread::types::{SessionIdentity, Thread};
use bobbin_native_wire::turn::types::Turn;
use bobbin_peer::Responder;

use crate::client::{Client, fail, handle, refuse_params};
use crate::convert;
use crate::cursor;

/// Largest page of a list.
pub const MAX_PAGE: u32 = 100;
/// Size of a page that has a cursor and no limit.
const FURTHER_PAGE: u32 = 50;
/// Limit of a list without pages: about 4 MiB. A longer list ends with the cursor of the rest.
const MAX_LIST: u32 = 5000;
/// Limit of the text of Turns in one answer, in bytes: half of a connection's write queue.
pub(super) const MAX_TURN_BYTES: usize = 4 << 20;
/// Limit of channels whose Threads a list shows beside its own (a guess: a workspace has a handful).
const MAX_ORIGINS: usize = 256;
/// The error for a cursor that the server did not send.
pub const NO_CURSOR: &str = "'cursor' is not one that an earlier answer gave.";

pub(super) fn list(client: &Client, params: ThreadListParams, responder: Responder) {
    let identity = params
        .identity
        .filter(|identity| *identity != ListIdentity::default())
        .map(SessionIdentity::from);
    let every_user = identity.is_none() || params.scope == Some(ListScope::Workspace);
    let is_blank = |identity: &SessionIdentity| identity.channel_name.trim().is_empty();
    if !every_user && identity.as_ref().is_some_and(is_blank) {
        return refuse_params(responder, "'identity.channelName' must not be blank.");
    }
    if params.limit.is_some_and(|limit| !(1..=MAX_PAGE).contains(&limit)) {
        return refuse_params(responder, format!("'limit' must be 1 to {MAX_PAGE}."));
    }
    if let Err(detail) = check_origins(params.cross_channel_origins.as_deref()) {
        return refuse_params(responder, detail);
    }
    let after = match params.cursor.as_deref().map(place_in_list) {
        None => None,
        Some(Some(after)) => Some(after),
        Some(None) => return refuse_params(responder, NO_CURSOR),
    };
    let is_first = after.is_none();
    let limit = params
        .limit
        .unwrap_or(if is_first { MAX_LIST } else { FURTHER_PAGE });
    // Users and chats of two platforms may have the same names, so an adapter finds only the Threads of its own
    // channel.
    let is_for_others = params.cross_channel_origins.is_some();
    let own = || client.adapter_of().filter(|_| !is_for_others);
    let filter = ListFilter {
        include_sub_agents: params.include_sub_agents,
        include_archived: params.include_archived,
        every_user,
        cross_channel_origins: params.cross_channel_origins.unwrap_or_default(),
        origin_channel: params.channel_name.or_else(own),
        title: params.query.filter(|text| !text.is_empty()),
        after,
        // One more shows whether there is another page.
        limit: Some(limit + 1),
        ..visible_to(client, identity.unwrap_or_default())
    };
    let threads = client.threads().clone();
    client.answer_large(responder, async move |responder| {
        match threads.list(as_stored(&threads, filter).await).await {
            Ok(mut threads) => {
                let more = threads.len() > limit as usize;
                threads.truncate(limit as usize);
                let last = threads.last().filter(|_| more).map(|last| &last.header);
                let next_cursor = last.map(|last| list_cursor(last.last_active_at, &last.id));
                let data: Vec<_> = threads.into_iter().map(convert::summary).collect();
                let total_matched = (is_first && !more).then_some(data.len() as u64);
                responder.ok(ThreadListResult {
                    data,
                    next_cursor,
                    total_matched,
                });
            }
            Err(error) => fail(responder, &error),
        }
    });
}

/// Refuses more channels than one query of the store allows.
///
/// # Errors
/// The error, as a sentence for the client.
pub fn check_origins(origins: Option<&[String]>) -> Result<(), String> {
    match origins {
        Some(origins) if origins.len() > MAX_ORIGINS => Err(format!(
            "'crossChannelOrigins' has more than {MAX_ORIGINS} channels."
        )),
        _ => Ok(()),
    }
}

/// Returns the filter with its workspace as Threads store it. A client's path may lie on a disk that does not answer.
pub async fn as_stored(threads: &Arc<Threads>, filter: ListFilter) -> ListFilter {
    ListFilter {
        workspace_path: threads.normal_path_in_time(filter.workspace_path).await,
        ..filter
    }
}

/// Returns the filter of the Threads that an identity may see (02 §5.3), with the workspace as the client wrote it.
pub fn visible_to(client: &Client, identity: SessionIdentity) -> ListFilter {
    let workspace = client
        .threads()
        .settings()
        .workspace
        .to_string_lossy()
        .into_owned();
    ListFilter {
        workspace_path: identity
            .workspace_path
            .filter(|path| !path.trim().is_empty())
            .unwrap_or(workspace),
        user_id: identity.user_id,
        channel_context: identity.channel_context,
        ..ListFilter::default()
    }
}

pub(super) async fn read(client: &Client, params: ThreadReadParams, responder: Responder) {
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let before = match params.cursor.as_deref().map(str::parse::<TurnId>) {
        None => None,
        Some(Ok(before)) => Some(before),
        Some(Err(_)) => return refuse_params(responder, NO_CURSOR),
    };
    let limit = params.turn_limit.map_or(usize::MAX, |limit| limit as usize);
    if limit == 0 {
        return refuse_params(responder, "'turnLimit' must be at least 1.");
    }
    let reader = client.clone();
    client.answer_large(responder, async move |responder| {
        let client = reader;
        let answer = async {
            let snapshot = client.threads().snapshot(&thread).await?;
            let at = snapshot.at;
            let (turns, turn_page) = if params.include_turns {
                let (turns, page) = turns(&client, &snapshot, before, limit).await?;
                (Some(turns), page)
            } else {
                (None, None)
            };
            let plan = snapshot.state.plan.clone();
            let spent = client.threads().spent(&snapshot).await?.cost_micros;
            // The cost of the running Turn is added when it ends.
            let running = snapshot
                .state
                .live
                .as_ref()
                .map_or(0, |live| live.turn.cost_micros);
            let thread = Thread {
                turns,
                plan: Some(Nullable(plan)),
                cost: convert::cost(spent.saturating_sub(running)),
                ..client.native.thread(&snapshot.state)
            };
            Ok::<_, CoreError>(ThreadReadResult {
                thread,
                turn_page,
                seq: client.native.numbers().then(|| cursor::behind(at)),
            })
        };
        match answer.await {
            Ok(result) => responder.ok(result),
            Err(error) => fail(responder, &error),
        }
    });
}

/// Returns a page of Turns, with the running Turn at the end of the last page, and the cursor of the page before.
async fn turns(
    client: &Client,
    snapshot: &Snapshot,
    before: Option<TurnId>,
    limit: usize,
) -> Result<(Vec<Turn>, Option<TurnPage>), CoreError> {
    let id = &snapshot.state.header.id;
    let live = snapshot.state.live.as_ref().map(|live| &live.turn);
    let live = live.filter(|live| before.is_none_or(|before| live.id < before));
    let room = limit - usize::from(live.is_some());
    let (finished, more) = if room == 0 {
        let before = live.map_or(TurnId(0), |live| live.id);
        let more = client.threads().turn_back(id, before, 1).await?.is_some();
        (Vec::new(), more)
    } else {
        client
            .threads()
            .turns_of(snapshot, before, room, MAX_TURN_BYTES)
            .await?
    };
    let first = finished.first().or(live).map(|turn| turn.id);
    let page = TurnPage {
        next_cursor: first.filter(|_| more).map(|turn| turn.to_string()),
    };
    // A client that requests no pages gets one only if the Turns exceed an answer.
    let asked = limit < usize::MAX || before.is_some();
    let page = (asked || more).then_some(page);
    let turns = finished.iter().chain(live);
    Ok((turns.map(|turn| client.native.turn(id, turn)).collect(), page))
}

/// Returns the cursor of what follows a Thread in a list.
pub(crate) fn list_cursor(at: UnixMillis, id: &ThreadId) -> String {
    format!("{}_{id}", at.0)
}

/// Parses a list's cursor: the end of the last page.
pub(crate) fn place_in_list(cursor: &str) -> Option<(UnixMillis, ThreadId)> {
    let (at, id) = cursor.split_once('_')?;
    Some((UnixMillis(at.parse().ok()?), ThreadId::new(id)))
}
