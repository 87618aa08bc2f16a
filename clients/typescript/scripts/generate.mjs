// Writes src/protocol.ts (types) and src/values.ts (constants) from proto-schema/. `--check` only compares.
// They are two files since types alone change no bundle: the page is not built again for them.
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const schemas = new URL("../../../proto-schema/", import.meta.url);
const read = (path) => JSON.parse(readFileSync(new URL(path, schemas), "utf8"));
const index = read("index.json");
const definitions = read(index.types).$defs;

/** Returns a doc comment, or nothing. */
function doc(text, indent = "") {
  if (!text) return "";
  const lines = text.replaceAll("*/", "*\\/").split("\n");
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

const key = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

/** Returns the members of an object as the lines between its braces. */
function members(schema, indent) {
  const required = new Set(schema.required ?? []);
  const inner = `${indent}  `;
  const others = schema.additionalProperties ? `${inner}[name: string]: unknown;\n` : "";
  const own = Object.entries(schema.properties ?? {})
    .map(([name, shape]) => {
      const mark = required.has(name) ? "" : "?";
      return `${doc(shape.description, inner)}${inner}${key(name)}${mark}: ${type(shape, inner)};\n`;
    })
    .join("");
  return own + others;
}

function object(schema, indent) {
  if (schema.properties) return `{\n${members(schema, indent)}${indent}}`;
  const values = schema.additionalProperties;
  return `Record<string, ${values && values !== true ? type(values, indent) : "unknown"}>`;
}

const union = (shapes, indent) => [...new Set(shapes.map((shape) => type(shape, indent)))].join(" | ");

/** Whether a shape only describes what later versions may send. With it, the variants of a union could not be distinguished. */
const isUnknown = (shape) => shape.properties?.type?.not !== undefined;

/** Returns the TypeScript type of a schema. */
function type(schema, indent = "") {
  if (schema === true || schema === undefined) return "unknown";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.allOf) return schema.allOf.map((shape) => type(shape, indent)).join(" & ");
  const shapes = schema.oneOf ?? schema.anyOf;
  if (shapes)
    return union(
      shapes.filter((shape) => !isUnknown(resolved(shape))),
      indent,
    );
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (Array.isArray(schema.type))
    return union(
      schema.type.map((one) => ({ ...schema, type: one })),
      indent,
    );
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
    case "number":
      return "number";
    case "array": {
      const element = type(schema.items, indent);
      return /[ |&{]/.test(element) && !element.startsWith("Record<") ? `(${element})[]` : `${element}[]`;
    }
    case "object":
      return object(schema, indent);
    default:
      return schema.properties ? object(schema, indent) : "unknown";
  }
}

const resolved = (shape) => (shape.$ref ? definitions[shape.$ref.split("/").pop()] : shape);

const written = new Map();

/** Returns a named type, or nothing if it is written already. */
function named(name, schema) {
  const isObject = schema.type === "object" && schema.properties && !schema.oneOf && !schema.anyOf;
  const body = isObject ? `interface ${name} {\n${members(schema, "")}}` : `type ${name} = ${type(schema)};`;
  const before = written.get(name);
  if (before !== undefined) {
    if (before !== body) throw new Error(`${name} has two shapes`);
    return "";
  }
  written.set(name, body);
  return `${doc(schema.description)}export ${body}\n\n`;
}

/** Returns the types of a direction's messages, and the table of its methods. */
function table(name, about, rows) {
  let types = "";
  let lines = "";
  for (const row of rows.filter((row) => row.served)) {
    const [params, result] = [row.params, row.result].map((path) => path && read(path));
    for (const schema of [params, result]) if (schema) types += named(schema.title, schema);
    const shape = result ? `{ params: ${params.title}; result: ${result.title} }` : params.title;
    lines += `${doc(row.summary, "  ")}  ${key(row.method)}: ${shape};\n`;
  }
  return `${types}/** ${about} */\nexport interface ${name} {\n${lines}}\n\n`;
}

const head = "// Generated from proto-schema/ by `npm run generate`.\n\n";
let text = head;
for (const [name, schema] of Object.entries(definitions)) {
  if (!isUnknown(schema)) text += named(name, schema);
}
text += table("Requests", "What clients ask.", index.requests);
text += table("ClientNotifications", "What clients say without asking.", index.clientNotifications);
text += table("Notifications", "What the server says without asking.", index.notifications);
text += table("ServerRequests", "What the server asks.", index.serverRequests);

const carriesName = (row) => row.served && read(row.params).properties?.clientRequestId;
const once = index.requests.filter(carriesName).map((row) => `  ${JSON.stringify(row.method)},\n`);
let values = `${head}/** Requests that the server carries out once, however often they come with the same \`clientRequestId\`. */\n`;
values += `export const ONCE: ReadonlySet<string> = new Set([\n${once.join("")}]);\n\n`;

const codes = index.errors.map((error) => `${doc(error.description, "  ")}  ${key(error.name)}: ${error.code},\n`);
values += `/** The codes of {@link RpcError}. */\nexport const ErrorCode = {\n${codes.join("")}} as const;\n`;

const files = { "src/protocol.ts": `${text.trimEnd()}\n`, "src/values.ts": values };
for (const [path, wanted] of Object.entries(files)) {
  const file = new URL(`../${path}`, import.meta.url);
  if (!process.argv.includes("--check")) {
    writeFileSync(file, wanted);
  } else if (!existsSync(file) || readFileSync(file, "utf8") !== wanted) {
    console.error(`${path} is not what proto-schema/ says: npm run generate`);
    process.exitCode = 1;
  }
}
