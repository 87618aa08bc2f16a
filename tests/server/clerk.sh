# An MCP server written by hand: its answers have members that no library knows, and it asks its client.
say() { printf '%s\n' "{\"jsonrpc\":\"2.0\",$1}"; }
result() { say "\"id\":$id,\"result\":$1"; }
tool() { printf '{"name":"%s","description":"%s","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}' "$1" "$1"; }
last=null
ask() {
  gone=
  say "\"id\":\"q\",\"method\":\"elicitation/create\",\"params\":$1"
  while IFS= read -r answer; do
    case $answer in
      *'"id":"q"'*) last=$answer
        [ "$gone" ] || result "{\"content\":[],\"structuredContent\":{\"answer\":$answer}}"
        break ;;
      *'notifications/cancelled'*) gone=1 ;;
    esac
  done
}
form='"requestedSchema":{"type":"object","properties":{"leaf":{"type":"string","minLength":2},"cups":{"type":"integer","minimum":1}},"required":["leaf"]}'
while IFS= read -r line; do
  id=$(printf %s "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
  case $line in
    *'"method":"initialize"'*) hello=$line
      info="{\"name\":\"clerk\",\"title\":\"process $$\",\"version\":\"2.1\"}"
      result "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{},\"resources\":{}},\"serverInfo\":$info}" ;;
    *'"method":"tools/list"'*)
      tools=$(tool hello),$(tool plain),$(tool echo),$(tool form),$(tool page),$(tool script),$(tool broken)
      spill='{"name":"spill","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}'
      result "{\"tools\":[$tools,$spill]}" ;;
    *'"method":"resources/list"'*) result '{"resources":[{"uri":"tea://menu","name":"menu","mimeType":"text/plain"}]}' ;;
    *'"method":"resources/templates/list"'*)
      result '{"resourceTemplates":[{"uriTemplate":"tea://{leaf}","name":"leaf","description":"One leaf."}]}' ;;
    *'"method":"resources/read"'*'"tea://menu"'*)
      result '{"contents":[{"uri":"tea://menu","text":"Assam","steam":1.50}],"kettle":true}' ;;
    *'"method":"resources/read"'*) say "\"id\":$id,\"error\":{\"code\":-32002,\"message\":\"there is no such leaf\"}" ;;
    *'"name":"hello"'*) result "{\"content\":[],\"structuredContent\":{\"hello\":$hello,\"last\":$last}}" ;;
    *'"name":"plain"'*)
      result '{"content":[{"type":"text","text":"42","mint":1.50},{"type":"aroma","strength":2}],"isError":false,"_meta":{"a":1},"steam":[1.0]}' ;;
    *'"name":"echo"'*) result "{\"content\":[{\"type\":\"text\",\"text\":\"said\",\"mint\":1.50}],\"structuredContent\":$line,\"steam\":1.0}" ;;
    *'"name":"form"'*) ask "{\"message\":\"Which leaf?\",$form}" ;;
    *'"name":"page"'*) ask '{"mode":"url","message":"Pay here.","url":"https://tea.example/pay","elicitationId":"e-1"}' ;;
    *'"name":"script"'*) ask '{"mode":"url","message":"Pay here.","url":"javascript:alert(1)","elicitationId":"e-2"}' ;;
    *'"name":"broken"'*) say "\"id\":$id,\"error\":{\"code\":-32603,\"message\":\"the pot is broken\"}" ;;
    *'"name":"spill"'*) result '{"content":[{"type":"text","text":"spilt"}]}' ;;
    *'"method":"ping"'*) result '{}' ;;
  esac
done
