// Prints proto-schema/ as one document, for generators that take one file.
import { readdirSync, readFileSync } from "node:fs";

const schemas = new URL("../../../proto-schema/", import.meta.url);
const read = (path) => readFileSync(new URL(path, schemas), "utf8").replaceAll("../types.json#/", "#/");
const $defs = JSON.parse(read("types.json")).$defs;
for (const folder of ["requests", "client-notifications", "notifications", "server-requests"]) {
  for (const file of readdirSync(new URL(folder, schemas))) {
    const { title, $schema, $comment, ...schema } = JSON.parse(read(`${folder}/${file}`));
    $defs[title] = schema;
  }
}
const properties = Object.fromEntries(Object.keys($defs).map((name) => [name, { $ref: `#/$defs/${name}` }]));
console.log(JSON.stringify({ title: "Protocol", type: "object", properties, $defs }));
