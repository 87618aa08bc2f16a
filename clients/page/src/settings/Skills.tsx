//! Skills with their switches, slash commands, and plugins, which bring both.
import { useState } from "react";
import { useClient } from "../server/context";
import { useRequest } from "../server/useRequest";
import { Markdown } from "../text/Markdown";
import { Dialog } from "../ui/Dialog";
import { complain } from "../ui/toast";
import { Plugins } from "./Plugins";

export function Skills() {
  const client = useClient();
  const skills = useRequest("skills/list", {});
  const commands = useRequest("command/list", {});
  const [shown, setShown] = useState<{ name: string; content: string }>();
  return (
    <div className="stack-list">
      <section>
        <h3>Skills</h3>
        {skills.error && <p className="note bad">{skills.error}</p>}
        {skills.data?.skills.length === 0 && (
          <p className="meta">
            None. A skill is a file <code>.craft/skills/NAME/SKILL.md</code>.
          </p>
        )}
        <ul className="entries">
          {skills.data?.skills.map((skill) => (
            <li key={skill.name} className="entry">
              <div className="grow">
                <button
                  type="button"
                  className="link"
                  onClick={() => void client.request("skills/view", { name: skill.name }).then(setShown, complain)}
                >
                  {skill.displayName ?? skill.name}
                </button>
                <p className="meta">
                  {[skill.description, skill.source, !skill.available && skill.unavailableReason]
                    .filter(Boolean)
                    .join(" · ")}
                </p>
              </div>
              <label className="check">
                <input
                  type="checkbox"
                  checked={skill.enabled}
                  aria-label={`${skill.name} is on`}
                  onChange={() =>
                    void client
                      .request("skills/setEnabled", { name: skill.name, enabled: !skill.enabled })
                      .then(skills.again, complain)
                  }
                />
                on
              </label>
            </li>
          ))}
        </ul>
      </section>
      <section>
        <h3>Commands</h3>
        {commands.error && <p className="note bad">{commands.error}</p>}
        <ul className="entries">
          {commands.data?.commands.map((command) => (
            <li key={command.name} className="entry">
              <div className="grow">
                <code>{command.name}</code> <span className="meta">{command.description}</span>
              </div>
              <span className="meta">{command.category}</span>
            </li>
          ))}
        </ul>
      </section>
      <Plugins />
      {shown && (
        <Dialog title={shown.name} wide onClose={() => setShown(undefined)}>
          <Markdown text={shown.content} />
        </Dialog>
      )}
    </div>
  );
}
