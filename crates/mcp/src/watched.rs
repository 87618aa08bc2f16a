//! A client for streamable HTTP whose streams are watched for results as the server writes them.
//!
//! `rmcp` reads JSON answers by itself, so only results in streams are seen.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt as _;
use http::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};

use crate::raw::RawResults;

/// A client whose streams are watched.
#[derive(Clone)]
pub(crate) struct Watched<C> {
    pub(crate) client: C,
    pub(crate) raw: Arc<RawResults>,
}

type Headers = HashMap<HeaderName, HeaderValue>;
type Answer<T, C> = Result<T, StreamableHttpError<<C as StreamableHttpClient>::Error>>;

impl<C> Watched<C> {
    fn stream(&self, stream: BoxedSseResponse) -> BoxedSseResponse {
        let raw = self.raw.clone();
        let watched = stream.inspect(move |event| {
            if let Ok(event) = event
                && let Some(data) = &event.data
                && raw.are_wanted()
            {
                raw.note(data.as_bytes());
            }
        });
        watched.boxed()
    }

    fn response(&self, response: StreamableHttpPostResponse) -> StreamableHttpPostResponse {
        match response {
            StreamableHttpPostResponse::Sse(stream, session) => {
                StreamableHttpPostResponse::Sse(self.stream(stream), session)
            }
            other => other,
        }
    }
}

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for Watched<C> {
    type Error = C::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
    ) -> Answer<StreamableHttpPostResponse, C> {
        let posted = self.client.post_message(uri, message, session, auth, headers);
        posted.await.map(|response| self.response(response))
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
        max: usize,
    ) -> Answer<StreamableHttpPostResponse, C> {
        let client = &self.client;
        let posted = client.post_message_with_max_sse_event_size(uri, message, session, auth, headers, max);
        posted.await.map(|response| self.response(response))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Answer<(), C> {
        self.client.delete_session(uri, session, auth, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
    ) -> Answer<BoxedSseResponse, C> {
        let got = self.client.get_stream(uri, session, last_event, auth, headers);
        got.await.map(|stream| self.stream(stream))
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
        max: usize,
    ) -> Answer<BoxedSseResponse, C> {
        let client = &self.client;
        let got = client.get_stream_with_max_sse_event_size(uri, session, last_event, auth, headers, max);
        got.await.map(|stream| self.stream(stream))
    }
}
