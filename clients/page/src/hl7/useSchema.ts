//! The schema of segments, read once for each.
import type { HermesField } from "@bobbin/client";
import { useEffect, useState } from "react";
import { useClient } from "../server/context";

export type Schema = ReadonlyMap<string, readonly HermesField[]>;

/** Returns the schema of these segments. A new `round` reads it again, since extensions add to it. */
export function useSchema(names: readonly string[], round: number): Schema {
  const client = useClient();
  const [schema, setSchema] = useState<Schema>(new Map());
  const wanted = [...new Set(names)].join(" ");
  useEffect(() => {
    let current = true;
    const each = wanted.split(" ").filter((name) => /^[A-Z][A-Z0-9]{2}$/.test(name));
    const read = each.map(
      async (segment) => [segment, (await client.request("hermes/schema/segment", { segment })).fields] as const,
    );
    Promise.all(read).then(
      (all) => current && setSchema(new Map(all)),
      () => {},
    );
    return () => {
      current = false;
    };
  }, [client, wanted, round]);
  return schema;
}

/** Returns the schema of a place, and of its field. */
export function known(
  schema: Schema,
  segment: string,
  field: number,
  component?: number,
): { own?: HermesField; field?: HermesField } {
  const fields = schema.get(segment) ?? [];
  const whole = fields.find((one) => one.field === field && one.component === undefined);
  const own =
    component === undefined ? whole : fields.find((one) => one.field === field && one.component === component);
  return { own, field: whole };
}
