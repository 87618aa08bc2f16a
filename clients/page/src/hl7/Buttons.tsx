//! The buttons of extensions.
import type { HermesToolbarButton } from "@bobbin/client";
import type { CSSProperties } from "react";
import { useClient } from "../server/context";
import { complain } from "../ui/toast";

interface Props {
  buttons: readonly HermesToolbarButton[];
  threadId: string;
  /** Stores the draft, so that the extension sees it. Returns whether it is stored. */
  before: () => Promise<boolean>;
}

export function Buttons({ buttons, threadId, before }: Props) {
  const client = useClient();
  if (buttons.length === 0) return null;
  const press = async (command: string) => {
    if (await before()) await client.request("hermes/command/execute", { command, threadId });
  };
  return (
    <div className="hl7-buttons" role="toolbar" aria-label="Extensions">
      {buttons.map(({ button, extensionId }, index) => (
        <span
          key={`${extensionId}/${button.id}`}
          className={index > 0 && buttons[index - 1]?.button.group !== button.group ? "hl7-group" : undefined}
        >
          <button type="button" className="btn small" onClick={() => void press(button.command).catch(complain)}>
            <Picture svg={button.icon} />
            {button.label}
          </button>
        </span>
      ))}
    </div>
  );
}

/** A picture, in which nothing runs and which fetches nothing. One in the colour of the text is a mask. */
function Picture({ svg }: { svg: string }) {
  if (!svg) return null;
  // An SVG in a document of its own needs its namespace.
  const whole = /^<svg[^>]*\sxmlns=/.test(svg) ? svg : svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"');
  const address = `data:image/svg+xml,${encodeURIComponent(whole)}`;
  if (!svg.includes("currentColor")) return <img className="icon-svg" src={address} alt="" />;
  return (
    <span
      className="icon-svg icon-mask"
      style={{ "--picture": `url("${address}")` } as CSSProperties}
      aria-hidden="true"
    />
  );
}
