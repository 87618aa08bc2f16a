//! The Hub over HTTP, with servers that are this test's own program.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod kettle;
#[cfg(test)]
mod starts;
#[cfg(test)]
mod support;
#[cfg(test)]
mod who;

/// The server that the Hub starts.
#[tokio::test]
#[ignore = "not a test: the process that the Hub starts"]
async fn kettle_server() {
    kettle::serve().await;
}
