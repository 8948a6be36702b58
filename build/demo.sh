#!/bin/sh
# What the trigger does, on the mock: three runs, of which one starts something.
set -eu
testdata=$(dirname "$0")/../testdata

if [ "${1:-}" != inside ]; then
	exec mocksidecar --summary -- sh "$0" inside
fi
for dir in cluster-build-watch cluster-build-watch expired; do
	printf '\n$ trigger --input-dir testdata/%s\n' "$dir"
	trigger --input-dir "$testdata/$dir"
done
echo
