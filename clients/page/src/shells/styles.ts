//! Styles of xterm without inline styles, which the page's policy refuses.
//!
//! xterm writes its styles into `style` elements. The build has it make these elements instead (`vite.config.ts`), whose
//! text becomes a sheet of the document, as scripts may make them.

class Styles extends HTMLElement {
  readonly #sheet = new CSSStyleSheet();

  override set textContent(text: string) {
    this.#sheet.replaceSync(text);
  }

  connectedCallback() {
    document.adoptedStyleSheets.push(this.#sheet);
  }

  disconnectedCallback() {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== this.#sheet);
  }
}

customElements.define("xterm-styles", Styles);
