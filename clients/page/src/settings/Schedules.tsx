//! Scheduled jobs: those of agents, and the tasks of automations.
import type { AutomationTask, CronJobInfo, JobSchedule } from "@bobbin/client";
import { useEffect } from "react";
import { links } from "../app/route";
import { useClient, useServer } from "../server/context";
import { useRequest } from "../server/useRequest";
import { markedInLine } from "../text/marked";
import { duration, fullTime } from "../ui/format";
import { complain, say } from "../ui/toast";

export function Schedules() {
  const can = useServer()?.capabilities;
  return (
    <div className="stack-list">
      {can?.cronManagement && <Jobs />}
      {can?.automations && <Tasks />}
    </div>
  );
}

function Jobs() {
  const client = useClient();
  const { data, error, again } = useRequest("cron/list", { includeDisabled: true });
  useEffect(() => client.on("cron/stateChanged", again), [client, again]);
  return (
    <section>
      <h3>Jobs of agents</h3>
      {error && <p className="note bad">{error}</p>}
      {data?.jobs.length === 0 && <p className="meta">None. Ask the agent to do something every day, or at a time.</p>}
      <ul className="entries">
        {data?.jobs.map((job) => (
          <Job key={job.id} job={job} />
        ))}
      </ul>
    </section>
  );
}

function Job({ job: { id, name, enabled, schedule, state } }: { job: CronJobInfo }) {
  const client = useClient();
  const run = async () => {
    const { queued } = await client.request("cron/run", { jobId: id });
    if (!queued) say("A run of it goes on.");
  };
  return (
    <li className="entry">
      <div className="grow">
        <strong>{markedInLine(name)}</strong> <span className="meta">{spelled(schedule)}</span>
        <p className="meta">
          {[
            state.running && "runs now",
            !enabled && "off",
            enabled && state.nextRunAtMs != null && `next ${at(state.nextRunAtMs)}`,
            state.lastRunAtMs != null && `last ${at(state.lastRunAtMs)}`,
          ]
            .filter(Boolean)
            .join(" · ")}
        </p>
        <Outcome thread={state.lastThreadId} good={state.lastResult} bad={state.lastError} note={state.note} />
      </div>
      <span className="row">
        <button
          type="button"
          className="btn small"
          aria-label={`Run ${name} now`}
          onClick={() => void run().catch(complain)}
        >
          Run now
        </button>
        <button
          type="button"
          className="btn small"
          onClick={() => void client.request("cron/enable", { jobId: id, enabled: !enabled }).catch(complain)}
        >
          {enabled ? "Switch off" : "Switch on"}
        </button>
        <button
          type="button"
          className="btn small danger"
          aria-label={`Remove ${name}`}
          onClick={() => void client.request("cron/remove", { jobId: id }).catch(complain)}
        >
          Remove
        </button>
      </span>
    </li>
  );
}

function Tasks() {
  const client = useClient();
  const { data, error, again } = useRequest("automation/task/list", {});
  useEffect(() => client.on("automation/task/updated", again), [client, again]);
  return (
    <section>
      <h3>Tasks</h3>
      {error && <p className="note bad">{error}</p>}
      {data?.tasks.length === 0 && <p className="meta">None.</p>}
      <ul className="entries">
        {data?.tasks.map((task) => (
          <Task key={task.id} task={task} again={again} />
        ))}
      </ul>
    </section>
  );
}

function Task({
  task: { id, title, schedule, status, nextRunAt, threadId, agentSummary, note },
  again,
}: {
  task: AutomationTask;
  again: () => void;
}) {
  const client = useClient();
  return (
    <li className="entry">
      <div className="grow">
        <strong>{markedInLine(title)}</strong> <span className="meta">{schedule ? spelled(schedule) : "once"}</span>
        <p className={status === "failed" ? "del" : "meta"}>
          {[status, nextRunAt && `next ${fullTime(nextRunAt)}`].filter(Boolean).join(" · ")}
        </p>
        <Outcome thread={threadId} good={agentSummary} note={note} />
      </div>
      <span className="row">
        <button
          type="button"
          className="btn small"
          aria-label={`Run ${title} now`}
          onClick={() => void client.request("automation/task/run", { taskId: id }).then(again, complain)}
        >
          Run now
        </button>
        <button
          type="button"
          className="btn small danger"
          aria-label={`Delete ${title}`}
          onClick={() => void client.request("automation/task/delete", { taskId: id }).then(again, complain)}
        >
          Delete
        </button>
      </span>
    </li>
  );
}

function Outcome({
  thread,
  good,
  bad,
  note,
}: {
  thread?: string | null;
  good?: string | null;
  bad?: string | null;
  note?: string | null;
}) {
  return (
    <>
      {bad ? <p className="del">{bad}</p> : good && <p>{good}</p>}
      {note && <p className="meta">{note}</p>}
      {thread && <a href={links.thread(thread)}>The last run</a>}
    </>
  );
}

const at = (ms: number) => fullTime(new Date(ms).toISOString());

function spelled({ kind, atMs, everyMs, dailyHour, dailyMinute, expr, tz }: JobSchedule): string {
  const two = (n: number | null | undefined) => String(n ?? 0).padStart(2, "0");
  const when =
    kind === "at"
      ? `at ${atMs == null ? "?" : at(atMs)}`
      : kind === "every"
        ? `every ${duration(everyMs ?? 0)}`
        : kind === "daily"
          ? `every day at ${two(dailyHour)}:${two(dailyMinute)}`
          : markedInLine(expr ?? kind);
  return tz ? `${when}, ${tz}` : when;
}
