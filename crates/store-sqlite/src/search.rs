//! Searches the index.
//!
//! The index gives candidates, newest first. The candidates are then filtered to those that the client may see. One
//! answer reads at most [`CANDIDATES`]; the next page continues after them.

use bobbin_model::{ItemId, ThreadId, TurnId, UnixMillis};
use bobbin_store::{
    FoundThread, ListFilter, SearchFilter, SearchHit, SearchPage, SearchWords, ThreadOrder, ThreadSearch,
};
use sqlx::SqlitePool;

use crate::failure::Failure;
use crate::read::{self, push_like, push_visible};

/// Most index entries that one answer reads.
const CANDIDATES: u32 = 1000;

/// Returns words in the index's query language: strings that must all occur.
fn expression(words: &SearchWords) -> String {
    let quoted = words.words().iter().map(|word| format!("\"{word}\""));
    quoted.collect::<Vec<_>>().join(" AND ")
}

#[derive(sqlx::FromRow)]
struct HitRow {
    entry: i64,
    thread_id: String,
    display_name: Option<String>,
    turn_no: Option<u32>,
    item_no: Option<u32>,
    kind: String,
    at: i64,
    text: String,
}

/// Answers a search.
pub(crate) async fn search(pool: &SqlitePool, filter: SearchFilter) -> Result<SearchPage, Failure> {
    let mut connection = pool.begin().await?;
    let expression = expression(&filter.words);
    let before = filter.after.unwrap_or(i64::MAX);
    // The end of this page's candidates, if there are more.
    let end: Option<(i64,)> = sqlx::query_as(
        "SELECT rowid FROM search_text WHERE search_text MATCH ? AND rowid < ? \
         ORDER BY rowid DESC LIMIT 1 OFFSET ?",
    )
    .bind(expression.clone())
    .bind(before)
    .bind(CANDIDATES - 1)
    .fetch_optional(&mut *connection)
    .await?;
    let mut query = sqlx::QueryBuilder::<sqlx::Sqlite>::new(
        "SELECT entry, thread_id, display_name, turn_no, item_no, kind, at, text FROM \
         (SELECT rowid AS entry FROM search_text WHERE search_text MATCH ",
    );
    query
        .push_bind(expression)
        .push(" AND rowid < ")
        .push_bind(before)
        .push(" ORDER BY rowid DESC LIMIT ")
        .push_bind(CANDIDATES)
        .push(
            ") CROSS JOIN search_item item USING (entry) CROSS JOIN thread USING (thread_id) \
             WHERE NOT EXISTS (SELECT 1 FROM turn WHERE turn.thread_id = item.thread_id \
             AND turn.turn_no = item.turn_no AND rolled_back_at IS NOT NULL) \
             AND deleted_at IS NULL AND workspace_path = ",
        );
    let mut visible = filter.visible;
    // A client that names a Thread may search it, even if it is a subagent's.
    visible.include_sub_agents |= filter.thread.is_some();
    push_visible(&mut query, visible);
    if let Some(thread) = filter.thread {
        query
            .push(" AND thread_id = ")
            .push_bind(thread.as_str().to_owned());
    }
    if !filter.kinds.is_empty() {
        query.push(" AND kind IN (");
        let mut kinds = query.separated(", ");
        for kind in filter.kinds {
            kinds.push_bind(kind);
        }
        query.push(")");
    }
    query.push(" ORDER BY entry DESC LIMIT ").push_bind(filter.limit);
    let rows: Vec<HitRow> = query.build_query_as().fetch_all(&mut *connection).await?;
    let full = rows.len() >= filter.limit as usize;
    let next = if full {
        rows.last().map(|row| row.entry)
    } else {
        end.map(|end| end.0)
    };
    let pending: Option<(i64,)> = sqlx::query_as("SELECT 1 FROM search_pending LIMIT 1")
        .fetch_optional(&mut *connection)
        .await?;
    Ok(SearchPage {
        hits: rows.into_iter().map(hit).collect(),
        next,
        complete: pending.is_none(),
    })
}

/// Shortest text that the index has, in characters. A shorter one is compared with every message.
const INDEXED: usize = 3;

/// Finds Threads by what was said in them. The first place in each is read, and no other.
pub(crate) async fn threads(pool: &SqlitePool, search: ThreadSearch) -> Result<Vec<FoundThread>, Failure> {
    let mut connection = pool.begin().await?;
    let mut query = sqlx::QueryBuilder::<sqlx::Sqlite>::new(
        "SELECT thread_id, text FROM (SELECT min(entry) AS entry FROM (",
    );
    if search.text.chars().count() < INDEXED {
        query.push("SELECT entry FROM search_item WHERE text");
        push_like(&mut query, &search.text);
    } else {
        let quoted = format!("\"{}\"", search.text.replace('"', "\"\""));
        query
            .push("SELECT rowid AS entry FROM search_text WHERE search_text MATCH ")
            .push_bind(quoted);
    }
    query.push(
        ") CROSS JOIN search_item item USING (entry) WHERE kind IN ('userMessage', 'agentMessage') \
         AND NOT EXISTS (SELECT 1 FROM turn WHERE turn.thread_id = item.thread_id \
         AND turn.turn_no = item.turn_no AND rolled_back_at IS NOT NULL) GROUP BY thread_id) \
         CROSS JOIN search_item USING (entry) CROSS JOIN thread USING (thread_id) \
         WHERE deleted_at IS NULL AND status ",
    );
    query.push(if search.archived {
        "= 'archived'"
    } else {
        "<> 'archived'"
    });
    query.push(" AND workspace_path = ");
    let visible = ListFilter {
        include_archived: true,
        ..search.visible
    };
    push_visible(&mut query, visible);
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
            .push_bind(id.as_str().to_owned())
            .push(")");
    }
    query
        .push(format_args!(" ORDER BY {by} {order}, thread_id {order} LIMIT "))
        .push_bind(search.limit);
    let rows: Vec<(String, String)> = query.build_query_as().fetch_all(&mut *connection).await?;
    let mut found = Vec::with_capacity(rows.len());
    for (thread, text) in rows {
        if let Some(thread) = read::summary(&mut connection, &thread).await? {
            found.push(FoundThread { thread, text });
        }
    }
    Ok(found)
}

fn hit(row: HitRow) -> SearchHit {
    SearchHit {
        thread: ThreadId::new(row.thread_id),
        title: row.display_name,
        item: row
            .turn_no
            .zip(row.item_no)
            .map(|(turn, item)| (TurnId(turn), ItemId(item))),
        kind: row.kind,
        at: UnixMillis(row.at),
        text: row.text,
    }
}
