//! All workspaces of a node: what needs an answer in any of them, and the workspaces themselves.
import type { Client, DeviceInviteResult } from "@bobbin/client";
import { type FormEvent, useEffect, useMemo, useRef, useState } from "react";
import { links } from "../app/route";
import { NODE, workspacePage } from "../app/place";
import { ClientContext, makeClient, useQuestions } from "../server/context";
import { ThreadListProvider, useAllThreads } from "../server/threads";
import { Invitation } from "../settings/Devices";
import { marked, markedInLine, threadTitle } from "../text/marked";
import { fullTime, shortTime } from "../ui/format";
import { Dialog } from "../ui/Dialog";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { complain, say } from "../ui/toast";
import { notify } from "../waiting/Announcer";
import { FollowWaiting } from "../waiting/FollowWaiting";
import { NotifySwitch } from "../waiting/NotifySwitch";
import { QuestionCard } from "../waiting/QuestionCard";
import { node, type WorkspaceInfo } from "./client";
import { useNode } from "./useNode";
import "./node.css";

/** Workspaces whose questions are shown at one time. */
const MOST = 12;

export default function Overview({ onOut }: { onOut: (why: string) => void }) {
  const { workspaces, live, problem, isOut } = useNode();
  const waiting = workspaces.filter((one) => one.waiting > 0).slice(0, MOST);
  const count = workspaces.reduce((sum, one) => sum + one.waiting, 0);
  useEffect(() => {
    if (isOut) onOut("This browser is no longer paired.");
  }, [isOut, onOut]);
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ""}Workspaces`;
  }, [count]);
  const known = useRef(new Map<string, number>());
  useEffect(() => {
    for (const { name, waiting, latest } of workspaces) {
      if (waiting > (known.current.get(name) ?? 0))
        notify(`${name} needs your answer`, latest?.title ?? "", `w.${name}`, () => {});
      known.current.set(name, waiting);
    }
  }, [workspaces]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.target as HTMLElement).matches("input, textarea, select")) return;
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      if (document.querySelector("dialog[open], [role=menu]")) return;
      const row = document.querySelectorAll<HTMLAnchorElement>("a.workspace-name")[Number(event.key) - 1];
      row?.click();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <main className="overview">
      <header className="bar">
        <h1 className="grow">Workspaces</h1>
        <NotifySwitch />
        <Pair disabled={!live} />
      </header>
      <div role="status" className={problem && !live ? "offline" : undefined}>
        {problem && !live && `No connection: ${problem} Trying again…`}
      </div>
      {waiting.length > 0 && (
        <section aria-label="Needs attention" className="stack-list">
          <h2>Needs attention</h2>
          {waiting.map(({ name }) => (
            <Answers key={name} name={name} />
          ))}
        </section>
      )}
      <section aria-label="All workspaces" className="stack-list">
        {live && workspaces.length === 0 && (
          <p className="empty">No workspaces yet. Add a folder, here or with bobbin workspace add.</p>
        )}
        <ul className="workspaces">
          {[...workspaces].sort(byActivity).map((workspace) => (
            <Row key={workspace.name} workspace={workspace} />
          ))}
        </ul>
        <Add disabled={!live} />
      </section>
    </main>
  );
}

function byActivity(one: WorkspaceInfo, other: WorkspaceInfo): number {
  const rank = ({ waiting, openTurns }: WorkspaceInfo) => (waiting > 0 ? 2 : openTurns > 0 ? 1 : 0);
  const later = (other.latest?.activeAt ?? "").localeCompare(one.latest?.activeAt ?? "");
  return rank(other) - rank(one) || later || one.name.localeCompare(other.name);
}

function Row({ workspace }: { workspace: WorkspaceInfo }) {
  const { name, path, isRunning, openTurns, waiting, latest, problem } = workspace;
  const works = openTurns - waiting;
  return (
    <li className="workspace">
      <div className="row">
        <a className="workspace-name" href={workspacePage(name)}>
          {name}
        </a>
        {waiting > 0 && (
          <span className="badge">{waiting === 1 ? "needs your answer" : `${waiting} need your answer`}</span>
        )}
        {works > 0 && (
          <span className="thread-state">
            {isRunning && <span className="ring" />} {works} {isRunning ? "running" : "unfinished"}
          </span>
        )}
        <span className="grow meta cut" title={path}>
          {markedInLine(path)}
        </span>
        <Menu label={`More for ${name}`} entries={[{ label: "Take out of the list", run: () => remove(workspace) }]}>
          <Icon name="more" />
        </Menu>
      </div>
      {problem && <p className="meta bad">{problem}</p>}
      {latest && (
        <a className="workspace-latest" href={`${workspacePage(name)}${links.thread(latest.threadId)}`}>
          <span className="row">
            <span className="cut grow" dir="auto">
              {markedInLine(latest.title ?? "Thread")}
            </span>
            <time className="meta num" dateTime={latest.activeAt} title={fullTime(latest.activeAt)}>
              {shortTime(latest.activeAt)}
            </time>
          </span>
          {latest.words && (
            <span className="meta workspace-words" dir="auto">
              {marked(latest.words)}
            </span>
          )}
        </a>
      )}
    </li>
  );
}

function remove({ name, path }: WorkspaceInfo) {
  node.request("workspace/remove", { name }).then(
    () =>
      say(`${name} is no longer in the list. Its conversations stay.`, {
        act: "Undo",
        run: () => void node.request("workspace/add", { path, name }).catch(complain),
      }),
    complain,
  );
}

/** A code for another browser, such as that of a phone. It is for all workspaces. */
function Pair({ disabled }: { disabled: boolean }) {
  const [invited, setInvited] = useState<DeviceInviteResult>();
  const path = (url: string) => new URL(NODE, url).href;
  const invite = () =>
    node
      .request("device/invite", {})
      .then(
        ({ code, pageUrl, remoteUrls }) =>
          setInvited({ ...(code && { code }), pageUrl: path(pageUrl), remoteUrls: remoteUrls.map(path) }),
        complain,
      );
  return (
    <>
      <button type="button" className="btn small" disabled={disabled} onClick={() => void invite()}>
        Pair a device…
      </button>
      {invited && (
        <Dialog title="Pair a device" onClose={() => setInvited(undefined)}>
          <Invitation invited={invited} />
        </Dialog>
      )}
    </>
  );
}

/** The form that adds a folder. */
function Add({ disabled }: { disabled: boolean }) {
  const [path, setPath] = useState("");
  const [error, setError] = useState("");
  function submit(event: FormEvent) {
    event.preventDefault();
    node.request("workspace/add", { path: path.trim() }).then(
      ({ name }) => {
        setPath("");
        setError("");
        say(`Added as ${name}.`);
      },
      (failed: Error) => setError(failed.message),
    );
  }
  return (
    <form className="row wrap" onSubmit={submit}>
      <input
        className="field mono grow"
        placeholder="/home/me/project"
        aria-label="Folder on the node's machine"
        value={path}
        onChange={(event) => setPath(event.target.value)}
        autoComplete="off"
        spellCheck={false}
      />
      <button type="submit" className="btn" disabled={disabled || !path.trim()}>
        Add folder
      </button>
      <div role="alert" className="only-text">
        {error && <p className="note bad">{error}</p>}
      </div>
    </form>
  );
}

/** The open questions of one workspace. Its server is started for them. */
function Answers({ name }: { name: string }) {
  const client = useMemo(() => makeClient(name), [name]);
  useEffect(() => () => closeSoon(client), [client]);
  return (
    <ClientContext value={client}>
      <ThreadListProvider>
        <Asked name={name} />
        <FollowWaiting />
      </ThreadListProvider>
    </ClientContext>
  );
}

/** An answer that was just given is sent before the connection ends. */
const closeSoon = (client: Client) => void setTimeout(() => client.close(), 1000);

function Asked({ name }: { name: string }) {
  const questions = useQuestions();
  const threads = useAllThreads();
  if (questions.length === 0) return <p className="meta">{name}: loading its questions…</p>;
  return questions.map((question) => {
    const thread = threads.find(({ id }) => id === question.threadId);
    return (
      <section key={question.requestId} className="waiting-thread">
        <h3 className="cut">
          <a href={`${workspacePage(name)}${links.thread(question.threadId)}`}>
            {name}: {threadTitle(thread, "Thread")}
          </a>
        </h3>
        <QuestionCard question={question} />
      </section>
    );
  });
}
