//! Results of a server as it wrote them: `rmcp` drops the members that it does not know.
//!
//! Only results of requests of [`RawResults::call`] are stored, until the request is answered or given up. Each is
//! bounded by [`MAX_MESSAGE`](crate::large::MAX_MESSAGE). Results in
//! JSON answers over HTTP are not seen here (`watched`).

use std::collections::HashMap;

use bobbin_model::Json;
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::model::{CancelledNotificationParam, ClientRequest, RequestId, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::runtime::Handle;

/// Most results that wait for the ids of their requests. One more is left out: its caller gets what `rmcp` has read.
const MAX_EARLY: usize = 4;

/// The results of the requests that are open.
#[derive(Debug, Default)]
pub(crate) struct RawResults(Mutex<Wanted>);

#[derive(Debug, Default)]
struct Wanted {
    /// Requests whose ids are not known yet.
    sending: usize,
    /// Results that came while some were being sent.
    early: Vec<(i64, Json)>,
    /// The known requests, and their results.
    results: HashMap<i64, Option<Json>>,
}

/// A request whose id is not known yet.
struct Sending<'a>(&'a RawResults);

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        let mut wanted = self.0.0.lock();
        wanted.sending -= 1;
        if wanted.sending == 0 {
            wanted.early.clear();
        }
    }
}

/// A request whose result is stored.
struct Known<'a> {
    of: &'a RawResults,
    id: i64,
}

impl Known<'_> {
    fn take(&self) -> Option<Json> {
        self.of.0.lock().results.get_mut(&self.id)?.take()
    }
}

impl Drop for Known<'_> {
    fn drop(&mut self) {
        self.of.0.lock().results.remove(&self.id);
    }
}

/// Cancels a request at the server unless it is answered.
struct Unanswered(Option<(Peer<RoleClient>, RequestId)>);

impl Drop for Unanswered {
    fn drop(&mut self) {
        let Some((peer, id)) = self.0.take() else { return };
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let params = CancelledNotificationParam::new(Some(id), None);
        // It ends with the connection at the latest.
        runtime.spawn(async move { drop(peer.notify_cancelled(params).await) });
    }
}

impl RawResults {
    /// Whether a result that starts now may be wanted.
    pub(crate) fn are_wanted(&self) -> bool {
        let wanted = self.0.lock();
        wanted.sending > 0 || !wanted.results.is_empty()
    }

    /// Stores the result in a message of the server, if it is wanted.
    pub(crate) fn note(&self, message: &[u8]) {
        #[derive(Deserialize)]
        struct Answer {
            id: i64,
            result: Box<RawValue>,
        }
        let Ok(Answer { id, result }) = serde_json::from_slice(message) else {
            return;
        };
        let mut wanted = self.0.lock();
        if let Some(slot) = wanted.results.get_mut(&id) {
            *slot = Some(Json::from_raw(result));
        } else if wanted.sending > 0 && wanted.early.len() < MAX_EARLY {
            wanted.early.push((id, Json::from_raw(result)));
        }
    }

    fn sending(&self) -> Sending<'_> {
        self.0.lock().sending += 1;
        Sending(self)
    }

    fn known(&self, id: i64) -> Known<'_> {
        let mut wanted = self.0.lock();
        let early = wanted.early.iter().position(|(early, _)| *early == id);
        let early = early.map(|at| wanted.early.swap_remove(at).1);
        wanted.results.insert(id, early);
        Known { of: self, id }
    }

    /// Sends a request. Returns its result, and that as the server wrote it if it is known.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the request at the server.
    pub(crate) async fn call(
        &self,
        peer: &Peer<RoleClient>,
        request: ClientRequest,
    ) -> Result<(ServerResult, Option<Json>), ServiceError> {
        let sending = self.sending();
        let options = PeerRequestOptions::no_options();
        let handle = peer.send_cancellable_request(request, options).await?;
        let known = match handle.id {
            RequestId::Number(id) => Some(self.known(id)),
            RequestId::String(_) => None,
        };
        drop(sending);
        let mut unanswered = Unanswered(Some((peer.clone(), handle.id.clone())));
        let result = handle.await_response().await;
        unanswered.0 = None;
        Ok((result?, known.and_then(|known| known.take())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: Option<Json>) -> Option<String> {
        json.map(|json| json.get().to_owned())
    }

    #[test]
    fn a_result_is_stored_for_its_request_alone_even_before_its_id_is_known() {
        let results = RawResults::default();
        let answer = |id: i64, text: &str| format!("{{\"id\":{id},\"jsonrpc\":\"2.0\",\"result\":{text}}}\n");
        assert!(!results.are_wanted());
        results.note(answer(1, "{}").as_bytes());
        let sending = results.sending();
        assert!(results.are_wanted());
        results.note(answer(2, "{ \"x\": 1.0 }").as_bytes());
        results.note(answer(3, "{}").as_bytes());
        let known = results.known(2);
        drop(sending);
        assert!(results.0.lock().early.is_empty() && results.are_wanted());
        assert_eq!(text(known.take()).as_deref(), Some("{ \"x\": 1.0 }"));
        assert_eq!(text(known.take()), None);
        results.note(br#"{"id":2,"error":{"code":1,"message":"no"}}"#);
        assert_eq!(text(known.take()), None);
        results.note(answer(2, "[]").as_bytes());
        results.note(answer(4, "[]").as_bytes());
        assert_eq!(text(known.take()).as_deref(), Some("[]"));
        drop(known);
        assert!(!results.are_wanted() && results.0.lock().results.is_empty());
        let sending = results.sending();
        (10..99).for_each(|id| results.note(answer(id, "{}").as_bytes()));
        assert_eq!(
            results.0.lock().early.len(),
            MAX_EARLY,
            "a server that answers what nobody asked"
        );
        drop(sending);
    }
}
