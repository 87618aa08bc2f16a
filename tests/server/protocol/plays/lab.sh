#!/bin/sh
# A Hermes extension with one button. Its command opens a window, asks with every dialog, and then sets a place.
send() { printf 'Content-Length: %d\r\n\r\n%s' "${#1}" "$1"; }
ask() { send "{\"jsonrpc\":\"2.0\",\"id\":$1,\"method\":\"$2\",\"params\":$3}"; }
while IFS= read -r head; do
  length=$(printf %s "$head" | tr -dc 0-9)
  IFS= read -r blank
  body=$(dd bs=1 count="$length" 2>/dev/null)
  case $body in
    *'"initialize"'*) send '{"jsonrpc":"2.0","id":1,"result":{"name":"Lab","version":"1.2.0","toolbarButtons":[{"id":"order","label":"Order","icon":"<svg></svg>","command":"lab/order"}]}}' ;;
    *'"shutdown"'*) send '{"jsonrpc":"2.0","id":2,"result":{}}'; exit 0 ;;
    *'"command/execute"'*) echo '[WARN] the centrifuge is warm' >&2
      ask 1 ui/openWindow '{"url":"http://127.0.0.1:8080/","title":"Lab","width":800,"height":600}' ;;
    *'"id":1,'*|*'"id":1}'*) window=$(printf %s "$body" | sed 's/.*"windowId":"\([^"]*\)".*/\1/')
      ask 2 ui/showMessage '{"message":"The sample is here.","title":"Lab"}' ;;
    *'"id":2,'*|*'"id":2}'*) ask 3 ui/showConfirm '{"message":"Order it?","title":"Lab"}' ;;
    *'"id":3,'*|*'"id":3}'*) ask 4 ui/openFile '{"title":"Which message?","filters":[{"name":"HL7","extensions":["hl7"]}]}' ;;
    *'"id":4,'*|*'"id":4}'*) ask 5 ui/openFiles '{"title":"Which messages?"}' ;;
    *'"id":5,'*|*'"id":5}'*) ask 6 ui/saveFile '{"title":"Where to?","defaultName":"order.hl7"}' ;;
    *'"id":6,'*|*'"id":6}'*) ask 7 ui/selectDirectory '{"title":"Which folder?"}' ;;
    *'"id":7,'*|*'"id":7}'*) ask 8 editor/patchMessage '{"patches":[{"path":"PID.8","value":"F"}]}' ;;
    *'"id":8,'*|*'"id":8}'*) ask 9 ui/closeWindow "{\"windowId\":\"$window\"}" ;;
  esac
done
