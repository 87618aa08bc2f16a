//! Settings, by section.
import { links } from "../app/route";
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

const sections = {
  page: { label: "This browser", view: PageSettings },
  devices: { label: "Paired browsers", view: Devices },
  models: { label: "Models", view: Models },
  workspace: { label: "Workspace", view: Workspace },
  rules: { label: "Rules and approvals", view: Rules },
  mcp: { label: "MCP servers", view: Mcp },
  skills: { label: "Skills and plugins", view: Skills },
  schedules: { label: "Schedules", view: Schedules },
  channels: { label: "Channels", view: Channels },
  terminals: { label: "Terminals", view: Terminals },
  trust: { label: "Trust", view: Trust },
  checks: { label: "Checks", view: Checks },
  server: { label: "Server", view: ServerInfo },
};

export default function Settings({ section }: { section: string }) {
  const name = (section in sections ? section : "page") as keyof typeof sections;
  const { label, view: View } = sections[name];
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
          {Object.entries(sections).map(([key, { label: text }]) => (
            <a
              key={key}
              ref={key === name ? intoView : undefined}
              href={links.settings(key)}
              aria-current={key === name ? "page" : undefined}
            >
              {text}
            </a>
          ))}
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
