//! Names of documents on the page.
import type { HermesDocument } from "@bobbin/client";

export const fileName = ({ filePath }: HermesDocument) => filePath?.split("/").at(-1) ?? "New message";
