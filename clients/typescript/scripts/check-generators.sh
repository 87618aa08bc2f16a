#!/usr/bin/env bash
# Has the common generators of code read proto-schema/, and looks at what they make of it. Takes npx and a
# Python with venv; downloads the generators.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
node "$here/bundle.mjs" > "$work/schema.json"

fail() { echo "$1" >&2; exit 1; }
# A number at the end of a name: two types were made of one.
doubled() { grep -oE "^(export (interface|type|enum)|class) [A-Za-z]+[0-9]+\b" "$1" && fail "$2 doubles these names" || true; }

npx -y json-schema-to-typescript@15 -i "$work/schema.json" -o "$work/jstt.ts" --additionalProperties=false
doubled "$work/jstt.ts" json-schema-to-typescript
grep -A5 "interface TextPart " "$work/jstt.ts" | grep -q " text: string" || fail "a text part has no text"

npx -y quicktype@23 -s schema "$work/schema.json" -l ts --just-types -o "$work/quicktype.ts"
doubled "$work/quicktype.ts" quicktype

python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install datamodel-code-generator pydantic
"$work/venv/bin/datamodel-codegen" --input "$work/schema.json" --input-file-type jsonschema \
    --output-model-type pydantic_v2.BaseModel --output "$work/models.py" 2>/dev/null
doubled "$work/models.py" datamodel-code-generator
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import models

item = {"id": "item_001", "turnId": "turn_001", "status": "started", "createdAt": "2027-01-01T00:00:00Z"}
message = models.Item.model_validate({**item, "type": "agentMessage", "payloadKind": "agentMessage", "payload": {"text": "hot"}})
assert message.root.payload.text == "hot"
other = models.Item.model_validate({**item, "type": "aroma", "payloadKind": "aroma", "payload": {}})
assert type(other.root).__name__ == "UnknownItem"
assert models.InputPart.model_validate({"type": "text", "text": "hot"}).root.text == "hot"
PYTHON
echo "the generators agree"
