//! The task of one service: runs it while that is requested, and starts it again when it fails.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::service::LONGEST_END;
use crate::supervised::{Request, Supervised, Wanted};
use crate::{Failure, Service};

/// How long a service must have run for its earlier failures to be forgotten.
pub(crate) const STABLE: Duration = Duration::from_mins(1);

/// Runs a service until it is removed. `before` is the task of the service that it replaces.
pub(crate) async fn run<S: Service>(one: Arc<Supervised<S>>, before: Option<JoinHandle<()>>) {
    if let Some(before) = before
        && let Err(error) = before.await
    {
        tracing::error!(%error, "the task of a service ended badly");
    }
    let mut requests = one.requests();
    // The sender lives in `one`.
    let mut now = *requests.borrow_and_update();
    loop {
        match now.wanted {
            Wanted::Remove => return,
            Wanted::Stop => {}
            Wanted::Run => {
                run_and_restart(&one, &mut requests).await;
                if requests.borrow().wanted == Wanted::Stop {
                    one.stopped();
                }
            }
        }
        // The request is done, or another has replaced it.
        if *requests.borrow() == now && requests.changed().await.is_err() {
            return;
        }
        now = *requests.borrow_and_update();
    }
}

/// Runs a service until something else is requested or it is given up.
async fn run_and_restart<S: Service>(one: &Supervised<S>, requests: &mut watch::Receiver<Request>) {
    let service = one.service();
    let mut failures = 0;
    loop {
        one.starting(failures);
        let started = tokio::select! {
            biased;
            _ = requests.changed() => return,
            started = service.start() => started,
        };
        let failure = match started {
            Ok((handle, connection)) => {
                let since = Instant::now();
                one.running(&handle);
                tracing::info!(service = service.name(), "service started");
                let Some(failure) = serve(one, connection, requests).await else {
                    return;
                };
                if since.elapsed() >= STABLE {
                    failures = 0;
                }
                failure
            }
            Err(failure) => failure,
        };
        failures += 1;
        tracing::warn!(
            service = service.name(),
            problem = failure.problem,
            failures,
            "a service does not run"
        );
        let Some(pause) = service.restart().pause(failures).filter(|_| !failure.lasting) else {
            one.failed(failure);
            return;
        };
        one.waiting(failure.problem, pause);
        tokio::select! {
            biased;
            _ = requests.changed() => return,
            () = sleep(pause) => {}
        }
    }
}

/// Serves a connection until it is lost (returns why) or something else is requested (`None`).
async fn serve<S: Service>(
    one: &Supervised<S>,
    mut connection: S::Connection,
    requests: &mut watch::Receiver<Request>,
) -> Option<Failure> {
    let service = one.service();
    let publish = |handle| one.running(&handle);
    let lost = tokio::select! {
        biased;
        _ = requests.changed() => false,
        () = service.serve(&mut connection, &publish) => true,
    };
    let ended = timeout(LONGEST_END, service.end(connection)).await;
    let failure = ended.unwrap_or_else(|_| Failure::passing("it did not end and was killed"));
    tracing::info!(service = service.name(), lost, "service ended");
    lost.then_some(failure)
}
