//! Settings, by section.
import type { ComponentType } from "react";
import { links } from "../app/route";
import { useMay } from "../server/context";
import { Icon } from "../ui/Icon";
import { Terminals } from "../side/Terminals";
import { Channels } from "./Channels";
import { Checks } from "./Checks";
import { Devices } from "./Devices";
import { Mcp } from "./Mcp";
import { Models } from "./Models";
import { PageSettings } from "./PageSettings";
import { Rules } from "./Rules";
import { Schedules } from "./Schedules";
import { ServerInfo } from "./ServerInfo";
import { Skills } from "./Skills";
import { Trust } from "./Trust";
import { Workspace } from "./Workspace";

interface Section {
  label: string;
  view: ComponentType;
  /** Whether it is for people with any role; the others are for owners. */
  forAll?: boolean;
}

const page: Section = { label: "This browser", forAll: true, view: PageSettings };

const sections: Record<string, Section> = {
  page,
  devices: { label: "Paired browsers", view: Devices },
  models: { label: "Models", view: Models },
  workspace: { label: "Workspace", view: Workspace },
  rules: { label: "Rules and approvals", view: Rules },
  mcp: { label: "MCP servers", view: Mcp },
  skills: { label: "Skills and plugins", view: Skills },
  schedules: { label: "Schedules", view: Schedules },
  channels: { label: "Channels", view: Channels },
  terminals: { label: "Terminals", forAll: true, view: Terminals },
  trust: { label: "Trust", view: Trust },
  checks: { label: "Checks", view: Checks },
  server: { label: "Server", forAll: true, view: ServerInfo },
};

export default function Settings({ section }: { section: string }) {
  const isOwner = useMay("owner");
  const mine = Object.entries(sections).filter(([, { forAll }]) => isOwner || forAll);
  const [name, { label, view: View }] = mine.find(([key]) => key === section) ?? ["page", page];
  return (
    <main className="page">
      <header className="bar">
        <a className="btn plain icon only-narrow" href={links.home} aria-label="Back to the Threads">
          <Icon name="back" />
        </a>
        <h1 className="grow">Settings</h1>
      </header>
      <div className="settings">
        <nav className="settings-nav" aria-label="Settings">
          {mine.map(([key, { label: text }]) => (
            <a
              key={key}
              ref={key === name ? intoView : undefined}
              href={links.settings(key)}
              aria-current={key === name ? "page" : undefined}
            >
              {text}
            </a>
          ))}
          {!isOwner && <p className="meta">An owner of the server changes the rest.</p>}
        </nav>
        <section className="settings-body" aria-label={label}>
          <h2>{label}</h2>
          <View />
        </section>
      </div>
    </main>
  );
}

/** The list of sections: on a narrow screen, a row that scrolls. */
const intoView = (link: HTMLElement | null) => link?.scrollIntoView({ block: "nearest", inline: "nearest" });
