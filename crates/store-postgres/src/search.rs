//! Searches the history.
//!
//! The index of three letters in a row gives candidates, newest first. The candidates are then filtered to those that the
//! client may see. One answer reads at most [`CANDIDATES`]; the next page continues after them.

use bobbin_model::{ItemId, ThreadId, TurnId, UnixMillis};
use bobbin_store::{FoundThread, ListFilter, SearchFilter, SearchHit, SearchPage, ThreadOrder, ThreadSearch};
use sqlx::{PgPool, Postgres, QueryBuilder};

use crate::index::folded;
use crate::project::plain;
use crate::read::{self, Read, pattern, push_visible, small, snapshot};

/// Most entries that one answer reads.
const CANDIDATES: i64 = 1000;

#[derive(sqlx::FromRow)]
struct HitRow {
    entry: i64,
    thread_id: String,
    display_name: Option<String>,
    turn_no: Option<i64>,
    item_no: Option<i64>,
    kind: String,
    at: i64,
    text: String,
}

impl From<HitRow> for SearchHit {
    fn from(row: HitRow) -> Self {
        let item = row.turn_no.zip(row.item_no);
        Self {
            thread: ThreadId::new(row.thread_id),
            title: row.display_name,
            item: item.map(|(turn, item)| (TurnId(small(turn)), ItemId(small(item)))),
            kind: row.kind,
            at: UnixMillis(row.at),
            text: row.text,
        }
    }
}

/// The condition that the Turn of an `item` was not rolled back.
const IS_IN_THE_CONVERSATION: &str = "NOT EXISTS (SELECT 1 FROM turn WHERE turn.workspace = item.workspace \
    AND turn.thread_id = item.thread_id AND turn.turn_no = item.turn_no AND rolled_back_at IS NOT NULL)";

/// Answers a search.
pub(crate) async fn search(pool: &PgPool, workspace: &str, filter: SearchFilter) -> Read<SearchPage> {
    let mut connection = snapshot(pool).await?;
    let before = filter.after.unwrap_or(i64::MAX);
    let push_candidates = |query: &mut QueryBuilder<Postgres>| {
        query
            .push(" FROM search_item WHERE workspace = ")
            .push_bind(workspace.to_owned())
            .push(" AND entry < ")
            .push_bind(before);
        for word in filter.words.words() {
            query.push(" AND folded LIKE ").push_bind(pattern(&folded(word)));
        }
        query.push(" ORDER BY entry DESC LIMIT ");
    };
    // The end of this page's candidates, if there are more.
    let mut query = QueryBuilder::new("SELECT entry");
    push_candidates(&mut query);
    query.push("1 OFFSET ").push_bind(CANDIDATES - 1);
    let end: Option<i64> = query
        .build_query_scalar()
        .fetch_optional(&mut *connection)
        .await?;
    let mut query = QueryBuilder::new(
        "SELECT entry, thread_id, display_name, turn_no, item_no, kind, at, text FROM (SELECT *",
    );
    push_candidates(&mut query);
    query
        .push_bind(CANDIDATES)
        .push(") item JOIN thread USING (workspace, thread_id) WHERE deleted_at IS NULL AND ")
        .push(IS_IN_THE_CONVERSATION);
    let mut visible = filter.visible;
    // A client that names a Thread may search it, even if it is a subagent's.
    visible.include_sub_agents |= filter.thread.is_some();
    push_visible(&mut query, &visible);
    if let Some(thread) = filter.thread {
        query
            .push(" AND thread_id = ")
            .push_bind(plain(thread.as_str()).into_owned());
    }
    if !filter.kinds.is_empty() {
        let kinds: Vec<String> = filter.kinds.iter().map(|kind| plain(kind).into_owned()).collect();
        query.push(" AND kind = ANY(").push_bind(kinds).push(")");
    }
    query
        .push(" ORDER BY entry DESC LIMIT ")
        .push_bind(i64::from(filter.limit));
    let rows: Vec<HitRow> = query.build_query_as().fetch_all(&mut *connection).await?;
    let is_full = rows.len() >= filter.limit as usize;
    let next = if is_full {
        rows.last().map(|row| row.entry)
    } else {
        end
    };
    let pending: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM search_pending WHERE workspace = $1)")
            .bind(workspace)
            .fetch_one(&mut *connection)
            .await?;
    Ok(SearchPage {
        hits: rows.into_iter().map(SearchHit::from).collect(),
        next,
        complete: !pending,
    })
}

/// Finds Threads by what was said in them. The first place in each is read, and no other.
pub(crate) async fn threads(pool: &PgPool, workspace: &str, search: ThreadSearch) -> Read<Vec<FoundThread>> {
    let mut connection = snapshot(pool).await?;
    let mut query = QueryBuilder::<Postgres>::new(
        "SELECT thread_id, text FROM (SELECT min(entry) AS entry FROM search_item item WHERE workspace = ",
    );
    query
        .push_bind(workspace.to_owned())
        .push(" AND kind IN ('userMessage', 'agentMessage') AND folded LIKE ")
        .push_bind(pattern(&folded(&search.text)))
        .push(" AND ")
        .push(IS_IN_THE_CONVERSATION)
        .push(
            " GROUP BY thread_id) first JOIN search_item USING (entry) JOIN thread USING (workspace, thread_id) \
             WHERE deleted_at IS NULL AND workspace = ",
        )
        .push_bind(workspace.to_owned())
        .push(" AND status ");
    query.push(if search.archived {
        "= 'archived'"
    } else {
        "<> 'archived'"
    });
    let visible = ListFilter {
        include_archived: true,
        ..search.visible
    };
    push_visible(&mut query, &visible);
    let by = match search.order {
        ThreadOrder::Created => "created_at",
        ThreadOrder::Active => "last_active_at",
    };
    let (behind, order) = if search.ascending {
        (">", "ASC")
    } else {
        ("<", "DESC")
    };
    if let Some((at, id)) = search.after {
        query
            .push(format_args!(" AND ({by}, thread_id) {behind} ("))
            .push_bind(at.0)
            .push(", ")
            .push_bind(plain(id.as_str()).into_owned())
            .push(")");
    }
    query
        .push(format_args!(" ORDER BY {by} {order}, thread_id {order} LIMIT "))
        .push_bind(i64::from(search.limit));
    let rows: Vec<(String, String)> = query.build_query_as().fetch_all(&mut *connection).await?;
    let mut found = Vec::with_capacity(rows.len());
    for (thread, text) in rows {
        if let Some(thread) = read::summary(&mut connection, workspace, &thread).await? {
            found.push(FoundThread { thread, text });
        }
    }
    Ok(found)
}
