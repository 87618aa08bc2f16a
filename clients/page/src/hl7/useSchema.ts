//! What is known of the fields of segments, read once for each segment.
import type { HermesField } from "@bobbin/client";
import { useEffect, useState } from "react";
import { useClient } from "../server/context";

export type Schema = ReadonlyMap<string, readonly HermesField[]>;

/** `round` reads all again: extensions have changed, which add to the schema. */
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

/** Returns what is known of a place, and of the field that it is in. */
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
