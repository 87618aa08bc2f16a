//! Agents between the Turns of their Threads. Most take seconds to start, so the next Turn gets the same process.
//!
//! A task owns each of them: it serves the agent until the next Turn takes it or its time is over. At most [`MOST`] wait; a
//! further one ends that which has waited longest. The last clone of [`IdleAgents`] ends all of them.

use std::sync::Arc;
use std::time::Duration;

use bobbin_model::ThreadId;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Most agents that wait. Each is some 100 to 400 MB of memory.
const MOST: usize = 4;
/// The longest wait for the next Turn.
const LONGEST: Duration = Duration::from_mins(10);

/// An agent that can wait.
pub(crate) trait Idle: Send + 'static {
    /// Serves it until it is of no more use.
    ///
    /// # Cancel safety
    /// Cancel safe.
    fn serve(&mut self) -> BoxFuture<'_, ()>;

    /// Ends it.
    fn end(self) -> BoxFuture<'static, ()>;
}

/// The agents that wait for the next Turn of their Threads.
pub(crate) struct IdleAgents<A>(Arc<Mutex<Waiting<A>>>);

struct Waiting<A> {
    /// Those that have waited longest come first.
    agents: Vec<(ThreadId, Back<A>)>,
    tasks: JoinSet<()>,
}

/// Asks the task that owns an agent for it. Dropping it ends the agent.
type Back<A> = oneshot::Sender<oneshot::Sender<A>>;

impl<A> Clone for IdleAgents<A> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<A: Idle> IdleAgents<A> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Waiting {
            agents: Vec::new(),
            tasks: JoinSet::new(),
        })))
    }

    /// Has an agent wait for the next Turn of a Thread.
    pub(crate) fn put(&self, thread: ThreadId, agent: A) {
        let (back, asked) = oneshot::channel();
        let mut waiting = self.0.lock();
        waiting.clear();
        waiting.agents.retain(|(other, _)| *other != thread);
        if waiting.agents.len() >= MOST {
            waiting.agents.remove(0);
        }
        waiting.agents.push((thread, back));
        waiting.tasks.spawn(wait(agent, asked));
    }

    /// Returns the agent that waits for a Thread.
    pub(crate) async fn take(&self, thread: &ThreadId) -> Option<A> {
        let back = self.0.lock().remove(thread)?;
        let (to, agent) = oneshot::channel();
        back.send(to).ok()?;
        agent.await.ok()
    }
}

impl<A> Waiting<A> {
    /// Forgets those that have ended.
    fn clear(&mut self) {
        self.agents.retain(|(_, back)| !back.is_closed());
        while self.tasks.try_join_next().is_some() {}
    }

    fn remove(&mut self, thread: &ThreadId) -> Option<Back<A>> {
        self.clear();
        let at = self.agents.iter().position(|(other, _)| other == thread)?;
        Some(self.agents.remove(at).1)
    }
}

async fn wait<A: Idle>(mut agent: A, asked: oneshot::Receiver<oneshot::Sender<A>>) {
    let to = tokio::select! {
        biased;
        () = agent.serve() => None,
        to = asked => to.ok(),
        () = sleep(LONGEST) => None,
    };
    let unwanted = match to {
        Some(to) => to.send(agent).err(),
        None => Some(agent),
    };
    if let Some(agent) = unwanted {
        agent.end().await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::time::advance;

    use super::*;

    type Ended = Arc<Mutex<Vec<u32>>>;

    struct Tea {
        number: u32,
        ended: Ended,
        dies: Option<oneshot::Receiver<()>>,
    }

    impl Idle for Tea {
        fn serve(&mut self) -> BoxFuture<'_, ()> {
            async {
                match &mut self.dies {
                    Some(dies) => drop(dies.await),
                    None => std::future::pending().await,
                }
            }
            .boxed()
        }

        fn end(self) -> BoxFuture<'static, ()> {
            async move { self.ended.lock().push(self.number) }.boxed()
        }
    }

    fn thread(number: u32) -> ThreadId {
        ThreadId::new(format!("thread_{number}"))
    }

    /// Returns idle agents, those that have ended, and what puts the agent of a Thread there.
    fn agents() -> (IdleAgents<Tea>, Ended, impl Fn(u32)) {
        let (agents, ended) = (IdleAgents::new(), Ended::default());
        let (to, all) = (agents.clone(), ended.clone());
        let put = move |number| {
            let ended = all.clone();
            let tea = Tea {
                number,
                ended,
                dies: None,
            };
            to.put(thread(number), tea);
        };
        (agents, ended, put)
    }

    /// Has the tasks do what they can.
    async fn settle() {
        for _ in 0..16 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_waits_ten_minutes_for_the_next_turn() {
        let (agents, ended, put) = agents();
        put(1);
        advance(LONGEST / 2).await;
        let taken = agents.take(&thread(1)).await;
        assert_eq!(taken.map(|tea| tea.number), Some(1));
        assert!(agents.take(&thread(1)).await.is_none(), "a Turn has it");
        put(1);
        settle().await;
        advance(LONGEST).await;
        settle().await;
        assert_eq!(*ended.lock(), [1]);
        assert!(agents.take(&thread(1)).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn one_too_many_ends_the_one_that_has_waited_longest() {
        let (agents, ended, put) = agents();
        for number in 0..=u32::try_from(MOST).unwrap() {
            put(number);
        }
        settle().await;
        assert_eq!(*ended.lock(), [0]);
        // A place that an agent has left is free.
        assert!(agents.take(&thread(1)).await.is_some());
        put(9);
        settle().await;
        assert_eq!(*ended.lock(), [0]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_dies_is_not_there_for_the_next_turn() {
        let (agents, ended, _) = agents();
        let (die, dies) = oneshot::channel();
        let tea = Tea {
            number: 1,
            ended: ended.clone(),
            dies: Some(dies),
        };
        agents.put(thread(1), tea);
        settle().await;
        die.send(()).unwrap();
        settle().await;
        assert_eq!(*ended.lock(), [1]);
        assert!(agents.take(&thread(1)).await.is_none());
    }
}
