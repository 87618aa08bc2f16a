//! The name of the workspace that the page shows, with a way to the others.
import { NODE, workspacePage } from "../app/place";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { useNode } from "./useNode";

export function Switcher({ name }: { name: string }) {
  const { workspaces } = useNode();
  const others = workspaces.filter((one) => one.name !== name);
  const waiting = others.reduce((sum, one) => sum + one.waiting, 0);
  const entries = others.map((one) => ({
    label: one.waiting > 0 ? `${one.name} (${one.waiting})` : one.name,
    run: () => location.assign(workspacePage(one.name)),
  }));
  return (
    <span className="switcher">
      <span className="meta cut" title={workspaces.find((one) => one.name === name)?.path}>
        {name}
      </span>
      <Menu
        toRight
        label={waiting > 0 ? `Workspaces: ${waiting} waiting in others` : "Workspaces"}
        entries={[{ label: "All workspaces", run: () => location.assign(NODE) }, ...entries]}
      >
        {waiting > 0 ? <span className="badge">{waiting}</span> : <Icon name="chevron" />}
      </Menu>
    </span>
  );
}
