//! A modal `<dialog>`: the browser handles focus, Escape and the backdrop.
import { type ReactNode, useEffect, useId, useRef } from "react";
import { Icon } from "./Icon";

interface Props {
  title: string;
  wide?: boolean;
  onClose: () => void;
  children: ReactNode;
}

export function Dialog({ title, wide, onClose, children }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (!dialog || dialog.open) return;
    const before = document.activeElement;
    dialog.showModal();
    // A text field gets the focus first, else the browser's choice: the button that closes.
    dialog.querySelector<HTMLElement>(".sheet-body :is(input:not([type=checkbox]), textarea)")?.focus();
    return () => {
      // React removes a dialog without closing it, and then nothing has the focus.
      if (before instanceof HTMLElement && document.activeElement === document.body) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      className={wide ? "sheet wide" : "sheet"}
      aria-labelledby={heading}
      onClose={onClose}
      onClick={(event) => event.target === ref.current && onClose()}
    >
      <div className="sheet-head">
        <h2 id={heading}>{title}</h2>
        <button type="button" className="btn plain icon" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      <div className="sheet-body">{children}</div>
    </dialog>
  );
}
