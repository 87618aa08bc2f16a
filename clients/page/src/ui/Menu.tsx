//! A small menu behind a button.
import { type ReactNode, useEffect, useRef, useState } from "react";

export interface MenuEntry {
  label: string;
  danger?: boolean;
  disabled?: boolean;
  run: () => void;
}

interface Props {
  label: string;
  /** Whether the list extends to the right of the button, which is at the left of the page. */
  toRight?: boolean;
  children: ReactNode;
  entries: MenuEntry[];
}

export function Menu({ label, toRight, children, entries }: Props) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);

  useEffect(() => {
    if (!open) return;
    root.current?.querySelector<HTMLButtonElement>("[role=menuitem]")?.focus();
    const away = (event: PointerEvent) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [open]);

  function keys(event: React.KeyboardEvent) {
    if (!open) return;
    const items = [...(root.current?.querySelectorAll<HTMLButtonElement>("[role=menuitem]:not(:disabled)") ?? [])];
    const at = items.indexOf(document.activeElement as HTMLButtonElement);
    if (event.key === "Escape") {
      event.stopPropagation();
      setOpen(false);
      button.current?.focus();
    } else if (event.key === "ArrowDown") items[(at + 1) % items.length]?.focus();
    else if (event.key === "ArrowUp") items[(at - 1 + items.length) % items.length]?.focus();
    else if (event.key === "Tab") setOpen(false);
    else return;
    if (event.key !== "Tab") event.preventDefault();
  }

  return (
    <div className={toRight ? "menu to-right" : "menu"} ref={root} onKeyDown={keys}>
      <button
        ref={button}
        type="button"
        className="btn plain icon"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        {children}
      </button>
      {open && (
        <div className="menu-list" role="menu" aria-label={label}>
          {entries.map((entry) => (
            <button
              key={entry.label}
              type="button"
              role="menuitem"
              className={entry.danger ? "danger" : undefined}
              disabled={entry.disabled}
              onClick={() => {
                setOpen(false);
                button.current?.focus();
                entry.run();
              }}
            >
              {entry.label}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
