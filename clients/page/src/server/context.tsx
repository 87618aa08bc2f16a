//! The page's one client, and hooks that read its state.
import {
  type ActorInfo,
  Client,
  type InitializeResult,
  type Question,
  type SessionIdentity,
  type Status,
} from "@bobbin/client";
import { createContext, useContext, useSyncExternalStore } from "react";
import { place } from "../app/place";
import { followScreens, handlers } from "./screens";
import { socketOf, ticket } from "./session";

export const identity: SessionIdentity = { channelName: "web" };

/** Makes a client of a workspace: of the one that this page shows, if none is named. */
export function makeClient(workspace = place.at === "workspace" ? place.name : undefined): Client {
  const client = new Client({
    url: socketOf(workspace === undefined ? "/ws" : `/w/${workspace}/ws`),
    ticket,
    handlers,
    clientInfo: { name: "bobbin-page", title: "Web page", version: "0.1.0" },
    capabilities: {
      approvalSupport: true,
      userInputSupport: true,
      streamingSupport: true,
      commandExecutionStreaming: true,
      toolExecutionLifecycle: true,
      backgroundTerminals: true,
      sandboxedPolicy: true,
      workspaceTrust: true,
      person: true,
      extensions: { hermesUi: { windows: true, dialogs: true, files: true }, finecode: true },
    },
  });
  followScreens(client);
  return client;
}

export const ClientContext = createContext<Client | null>(null);

export function useClient(): Client {
  const client = useContext(ClientContext);
  if (!client) throw new Error("there is no client here");
  return client;
}

export function useStatus(): Status {
  const client = useClient();
  return useSyncExternalStore(client.subscribe, client.getSnapshot);
}

let last: InitializeResult | undefined;

/** Returns the server's capabilities, as the last handshake named them. */
export function useServer(): InitializeResult | undefined {
  const status = useStatus();
  if (status.state === "ready") last = status.server;
  return last;
}

const roles = ["viewer", "author", "approver", "owner"] as const;
export type Role = (typeof roles)[number];

/** Returns whether the user of this page has a role, or one that includes it. The user of the server is its owner. */
export function useMay(role: Role): boolean {
  const own = useServer()?.actor?.role ?? "owner";
  return roles.indexOf(own) >= roles.indexOf(role);
}

/** Returns whether the user of this page may stop, steer or take back an input of this actor; without one it is the owner's. */
export function useMayChange(): (actor?: ActorInfo) => boolean {
  const own = useServer()?.actor?.name;
  const mayAll = useMay("approver");
  return (actor) => mayAll || actor?.name === own;
}

/** Returns a person's name with the device that they used. */
export const called = ({ name, device }: ActorInfo) => (device ? `${name}, on ${device}` : name);

/** Returns whether the server has an extension of the protocol. */
export function useHas(extension: string): boolean {
  const extensions = useServer()?.capabilities.extensions as Record<string, unknown> | undefined;
  return extensions?.[extension] === true;
}

export function useQuestions(): readonly Question[] {
  const { questions } = useClient();
  return useSyncExternalStore(questions.subscribe, questions.getSnapshot);
}
