//! Handlers of documents and the schema. The requests of a connection run in order, since each may depend on the one before.

use std::path::PathBuf;

use crate::{Change, DocumentError, DocumentStatus, Origin, SaveTo, Source};
use bobbin_hl7::{Format, Patch};
use bobbin_model::ThreadId;
use bobbin_native::client::{Client, handle, refuse};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::handshake::types::{EmptyParams, EmptyResult};
use bobbin_peer::Responder;
use serde::Serialize;

use crate::group::Hermes;
use crate::group::convert;
use crate::group::screen::client_id;
use crate::group::wire::documents::{
    HermesChangeParams, HermesCloseParams, HermesDocumentListResult, HermesFocusParams, HermesGetParams,
    HermesOpenParams, HermesPatchParams, HermesSaveParams, HermesSegment, HermesSegmentParams,
    HermesSetParams, HermesStepParams, HermesText,
};

pub(crate) async fn open(client: &Client, host: &Hermes, asked: HermesOpenParams, responder: Responder) {
    let source = match (asked.path, asked.text) {
        (Some(path), None) => Source::File(in_workspace(client, &path)),
        (None, text) => Source::Text(text.unwrap_or_default()),
        (Some(_), Some(_)) => {
            let error = RpcError::invalid_params("give 'path' or 'text', not both.");
            return refuse(responder, error);
        }
    };
    // Refuses an unknown Thread.
    let Some((_, responder)) = handle(client, &asked.thread_id, responder).await else {
        return;
    };
    let thread = ThreadId::new(asked.thread_id);
    let opened = host.open(&thread, source, asked.discard).await;
    host.focus(&thread, client_id(client));
    status(responder, opened);
}

pub(crate) async fn list(_: &Client, host: &Hermes, _: EmptyParams, responder: Responder) {
    let open = host.open_documents().await;
    responder.ok(HermesDocumentListResult {
        documents: open.iter().map(convert::document).collect(),
    });
}

pub(crate) async fn get(_: &Client, host: &Hermes, asked: HermesGetParams, responder: Responder) {
    let Some(format) = format(asked.format.as_deref()) else {
        return unknown_format(responder);
    };
    let shape = asked.shape.unwrap_or_default();
    let thread = ThreadId::new(asked.thread_id);
    let read = match asked.format {
        Some(_) => host.get(&thread, format, shape).await,
        None => host.text(&thread).await,
    };
    answer(
        responder,
        read.map(|(text, version)| HermesText { text, version }),
    );
}

pub(crate) async fn change(_: &Client, host: &Hermes, asked: HermesChangeParams, responder: Responder) {
    let change = Change::Edits(asked.edits);
    changed(host, asked.thread_id, Some(asked.version), change, responder).await;
}

pub(crate) async fn set(_: &Client, host: &Hermes, asked: HermesSetParams, responder: Responder) {
    let Some(format) = format(asked.format.as_deref()) else {
        return unknown_format(responder);
    };
    let change = Change::Set(asked.text, format);
    changed(host, asked.thread_id, asked.version, change, responder).await;
}

pub(crate) async fn undo(_: &Client, host: &Hermes, asked: HermesStepParams, responder: Responder) {
    changed(host, asked.thread_id, asked.version, Change::Undo, responder).await;
}

pub(crate) async fn redo(_: &Client, host: &Hermes, asked: HermesStepParams, responder: Responder) {
    changed(host, asked.thread_id, asked.version, Change::Redo, responder).await;
}

async fn changed(host: &Hermes, thread: String, version: Option<u64>, change: Change, responder: Responder) {
    status(
        responder,
        host.change(&ThreadId::new(thread), version, change).await,
    );
}

pub(crate) async fn patch(_: &Client, host: &Hermes, asked: HermesPatchParams, responder: Responder) {
    let patches = asked.patches.into_iter().map(|patch| Patch {
        path: patch.path,
        value: patch.value,
        remove: patch.remove,
        create: patch.create,
    });
    let patches = patches.collect();
    let thread = ThreadId::new(asked.thread_id);
    let patched = host.patch(&thread, asked.version, patches, Origin::Client).await;
    answer(responder, patched);
}

pub(crate) async fn save(client: &Client, host: &Hermes, asked: HermesSaveParams, responder: Responder) {
    let to = match asked.path.map(|path| in_workspace(client, &path)) {
        None => SaveTo::OwnFile,
        Some(path) if asked.replace => SaveTo::AnyFile(path),
        Some(path) => SaveTo::NewFile(path),
    };
    status(responder, host.save(&ThreadId::new(asked.thread_id), to).await);
}

pub(crate) async fn close(_: &Client, host: &Hermes, asked: HermesCloseParams, responder: Responder) {
    let closed = host.close(&ThreadId::new(asked.thread_id), asked.discard).await;
    answer(responder, closed.map(|()| EmptyResult {}));
}

pub(crate) fn focus(client: &Client, host: &Hermes, asked: HermesFocusParams, responder: Responder) {
    host.focus(&ThreadId::new(asked.thread_id), client_id(client));
    responder.ok(EmptyResult {});
}

pub(crate) async fn validate(_: &Client, host: &Hermes, asked: HermesFocusParams, responder: Responder) {
    let found = host.validate(&ThreadId::new(asked.thread_id)).await;
    answer(responder, found.map(convert::findings));
}

pub(crate) fn segment(
    _: &Client,
    host: &Hermes,
    HermesSegmentParams { segment }: HermesSegmentParams,
    responder: Responder,
) {
    let schema = host.schema();
    responder.ok(HermesSegment {
        fields: schema.segment(&segment).to_vec(),
    });
}

fn in_workspace(client: &Client, path: &str) -> PathBuf {
    // `join` returns an absolute path unchanged.
    client.threads().settings().workspace.join(path)
}

fn format(name: Option<&str>) -> Option<Format> {
    name.map_or(Some(Format::Hl7), |name| name.parse().ok())
}

fn unknown_format(responder: Responder) {
    refuse(
        responder,
        RpcError::invalid_params("'format' is hl7, json, yaml or toml."),
    );
}

fn status(responder: Responder, status: Result<DocumentStatus, DocumentError>) {
    answer(responder, status.map(|status| convert::document(&status)));
}

fn answer(responder: Responder, result: Result<impl Serialize, DocumentError>) {
    match result {
        Ok(result) => responder.ok(result),
        Err(error) => refuse(responder, convert::document_error(&error)),
    }
}
