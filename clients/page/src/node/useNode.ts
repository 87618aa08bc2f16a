//! The live list of the node's workspaces, for components.
import { useSyncExternalStore } from "react";
import { node } from "./client";

export const useNode = () => useSyncExternalStore(node.use, node.getSnapshot);
