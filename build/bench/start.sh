#!/bin/sh
# What the trigger replaces, without its retries: the deadline by date, the ask and the start by curl.
set -eu
dir=$1
id=$(cat "$dir/instance-id")
name=$(cat "$dir/workflow-name")
deadline=$(cat "$dir/not-after")
if [ "$(date -u +%s)" -gt "$(date -u -d "$deadline" +%s)" ]; then
	echo "notAfter $deadline has passed, not starting $id"
	exit 0
fi
url=http://127.0.0.1:$DAPR_HTTP_PORT/v1.0/workflows/dapr
answer=$(curl -s -w '\n%{http_code}' "$url/$id")
case $answer in
*ERR_INSTANCE_ID_NOT_FOUND*404) ;;
*) echo "instance $id already exists, not starting it again"; exit 0 ;;
esac
curl -sf -X POST -H 'Content-Type: application/json' --data-binary "@$dir/input.json" "$url/$name/start?instanceID=$id" >/dev/null
echo "instance $id started"
