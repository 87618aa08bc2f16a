//! FineCode: projects and their actions, runs with their results, and the runners.
import type { FineCodeAction, FineCodeProject } from "@bobbin/client";
import { type FormEvent, useEffect, useMemo, useState } from "react";
import { links } from "../app/route";
import { useClient, useStatus } from "../server/context";
import { useRequest } from "../server/useRequest";
import { Icon } from "../ui/Icon";
import { complain, say } from "../ui/toast";
import { RunView } from "./RunView";
import { Runners } from "./Runners";
import { start, useRuns } from "./runs";
import "./finecode.css";

export default function Actions() {
  const client = useClient();
  const isReady = useStatus().state === "ready";
  const [presets, setPresets] = useState(false);
  const projects = useRequest("finecode/project/list", {}, isReady);
  const actions = useRequest("finecode/action/list", presets ? { loadPresets: true } : {}, isReady);
  const runs = useRuns();
  const [chosen, setChosen] = useState<string>();
  useEffect(
    () =>
      client.on("finecode/message", ({ text, level, env, debugger: waits }) =>
        (level === "error" ? complain : say)(
          [`${env}: ${text}`, waits && `It waits for a debugger at ${waits}.`].filter(Boolean).join(" "),
        ),
      ),
    [client],
  );
  const all = actions.data?.actions ?? [];
  const names = useMemo(() => [...new Set(all.map(({ name }) => name))], [all]);
  const name = chosen !== undefined && names.includes(chosen) ? chosen : names[0];
  const again = () => {
    projects.again();
    actions.again();
  };

  return (
    <main className="page">
      <header className="bar">
        <a className="btn plain icon only-narrow" href={links.home} aria-label="Back to the Threads">
          <Icon name="back" />
        </a>
        <h1 className="grow">FineCode</h1>
        {!presets && (
          <button
            type="button"
            className="btn small"
            title="Starts runners to find the actions of presets"
            onClick={() => setPresets(true)}
          >
            Find actions of presets
          </button>
        )}
        <button type="button" className="btn small" onClick={again}>
          Read again
        </button>
      </header>
      <div className="fc">
        <nav className="fc-list" aria-label="Projects and actions">
          {(projects.error ?? actions.error) && <p className="note bad">{projects.error ?? actions.error}</p>}
          {projects.data?.projects.length === 0 && <p className="empty">No folder here is a FineCode project.</p>}
          {projects.data?.projects.map((project) => (
            <Project
              key={project.path}
              project={project}
              actions={all.filter(({ projectPath }) => projectPath === project.path)}
              chosen={name}
              onChoose={setChosen}
            />
          ))}
          {presets && !actions.data && <p className="meta pad">Starts runners…</p>}
        </nav>
        <div className="fc-main">
          {name !== undefined && (
            <RunForm
              key={name}
              name={name}
              actions={all.filter((action) => action.name === name)}
              projects={projects.data?.projects ?? []}
            />
          )}
          {runs.map((run) => (
            <RunView key={run.id} run={run} />
          ))}
          <Runners />
        </div>
      </div>
    </main>
  );
}

interface ProjectProps {
  project: FineCodeProject;
  actions: readonly FineCodeAction[];
  chosen: string | undefined;
  onChoose: (name: string) => void;
}

const statuses: Record<string, string> = {
  noConfig: "has no FineCode configuration",
  invalid: "has mistakes",
  untrusted: "waits for your trust",
};

function Project({ project: { name, path, problems, status }, actions, chosen, onChoose }: ProjectProps) {
  return (
    <section>
      <h2 className="cut" title={path}>
        {name} {statuses[status] && <span className="meta">{statuses[status]}</span>}
      </h2>
      {status === "untrusted" && (
        <p className="note">
          A project runs code of its folder. <a href={links.settings("trust")}>Look at what it brings</a>
        </p>
      )}
      {problems.map((problem) => (
        <p key={problem} className="note bad">
          {problem}
        </p>
      ))}
      <ul>
        {actions.map((action) => (
          <li key={action.name}>
            <button
              type="button"
              aria-pressed={action.name === chosen}
              onClick={() => onChoose(action.name)}
              title={action.source}
            >
              <span className="grow cut">{action.name}</span>
              <span className="meta cut">{action.envs.join(", ")}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function RunForm({
  name,
  actions,
  projects,
}: {
  name: string;
  actions: readonly FineCodeAction[];
  projects: readonly FineCodeProject[];
}) {
  const client = useClient();
  const [payload, setPayload] = useState("{}");
  const [project, setProject] = useState("");
  const [error, setError] = useState<string>();

  function submit(event: FormEvent) {
    event.preventDefault();
    try {
      const read: unknown = JSON.parse(payload.trim() || "{}");
      setError(undefined);
      start(client, name, read, project ? [project] : undefined);
    } catch (failed) {
      setError(`The payload is not JSON: ${(failed as Error).message}`);
    }
  }

  return (
    <form className="fc-form" onSubmit={submit} aria-label={`Run ${name}`}>
      <div className="row wrap">
        <h2 className="grow cut">
          {name} <span className="meta">{actions[0]?.handlers.join(", ")}</span>
        </h2>
        {actions.length > 1 && (
          <select
            className="pick boxed"
            aria-label="Project"
            value={project}
            onChange={(event) => setProject(event.target.value)}
          >
            <option value="">All {actions.length} projects</option>
            {actions.map(({ projectPath }) => (
              <option key={projectPath} value={projectPath}>
                {projects.find(({ path }) => path === projectPath)?.name ?? projectPath}
              </option>
            ))}
          </select>
        )}
        <button type="submit" className="btn primary">
          Run
        </button>
      </div>
      <label className="stack">
        Payload, JSON of the action's own type
        <textarea
          className="field mono"
          rows={Math.min(10, payload.split("\n").length + 1)}
          value={payload}
          spellCheck={false}
          onChange={(event) => setPayload(event.target.value)}
        />
      </label>
      {error && (
        <p className="note bad" role="alert">
          {error}
        </p>
      )}
    </form>
  );
}
