//! Traces for a collector: Turns, requests to models and calls of tools, as OTLP over HTTP.
//!
//! The standard variables `OTEL_*` set the endpoint and the sampling. Without an endpoint nothing is sent and no
//! thread runs.

use anyhow::Context as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use parking_lot::Mutex;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

use crate::models::variable;

/// The sender of spans, for [`finish`].
static PROVIDER: Mutex<Option<SdkTracerProvider>> = Mutex::new(None);

/// Returns the layer that sends spans, if the environment names a collector.
///
/// # Errors
/// A variable cannot be used.
pub(super) fn layer<S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync>()
-> anyhow::Result<Option<impl Layer<S> + Send + Sync>> {
    let named = [
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    ];
    let is_off = variable("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true"));
    if is_off || named.iter().all(|name| variable(name).is_none()) {
        return Ok(None);
    }
    let exporter = SpanExporter::builder()
        .with_http()
        .build()
        .context("the variables OTEL_EXPORTER_OTLP_* cannot be used")?;
    let mut resource = Resource::builder();
    if variable("OTEL_SERVICE_NAME").is_none() {
        resource = resource.with_service_name("bobbin");
    }
    let provider = SdkTracerProvider::builder()
        .with_resource(resource.build())
        .with_batch_exporter(exporter)
        .build();
    let tracer = provider.tracer("bobbin");
    *PROVIDER.lock() = Some(provider);
    let ours = Targets::new().with_target("bobbin", tracing::Level::INFO);
    Ok(Some(
        tracing_opentelemetry::layer()
            .with_tracer(tracer)
            .with_filter(ours),
    ))
}

/// Sends the last spans.
pub(super) fn finish() {
    if let Some(provider) = PROVIDER.lock().take() {
        // A missing collector is no reason to fail.
        drop(provider.shutdown());
    }
}
