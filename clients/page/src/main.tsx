//! Starts the page.
import "./styles/base.css";
import "./styles/ui.css";
import "./styles/text.css";
import "./styles/layout.css";
import "./styles/thread.css";
import "./styles/compose.css";
import "./styles/side.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { recall } from "./app/remember";

const theme = recall("theme");
if (theme) document.documentElement.dataset.theme = theme;

// An installed page outlives the server, so it needs an address that the next server has too.
if (!location.hostname.endsWith(".localhost")) {
  const manifest = Object.assign(document.createElement("link"), { rel: "manifest", href: "/manifest.webmanifest" });
  document.head.append(manifest);
}

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
