//! The server's default model and approval policy, read again when a setting changes.
import type { WorkspaceDefaultsResult } from "@bobbin/client";
import { useEffect } from "react";
import { useClient, useServer } from "./context";
import { useRequest } from "./useRequest";

export function useDefaults(): { defaults?: WorkspaceDefaultsResult; again: () => void } {
  const client = useClient();
  const can = useServer()?.capabilities.modelCatalogManagement === true;
  const { data, again } = useRequest("workspace/defaults/read", {}, can);
  useEffect(() => client.on("workspace/configChanged", again), [client, again]);
  return { defaults: data, again };
}
