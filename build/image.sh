#!/bin/bash
# Builds an image from the Dockerfile into an OCI archive, without a Docker daemon:
#
#   build/image.sh trigger|mocksidecar amd64|arm64 …     makes dist/<name>-<arch>.oci.tar
#
#   VERSION   the release, "dev" by default
#   BUILDER   where the Dockerfile's builder image comes from: "pull"; "local", made from this machine's Go;
#             by default, local if it can't be pulled
#
# The same sources give the same digest: every date in the image is that of the last commit.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { echo "usage: build/image.sh trigger|mocksidecar amd64|arm64 …" >&2; exit 2; }
[ $# -ge 2 ] || usage
name=$1; shift
case $name in trigger | mocksidecar) ;; *) usage ;; esac
for arch; do case $arch in amd64 | arm64) ;; *) usage ;; esac; done
command -v buildah >/dev/null || { echo "buildah is missing: apt-get install buildah" >&2; exit 1; }

version=${VERSION:-dev}
repository=ghcr.io/stuttgart-things/dapr-workflow-trigger
[ "$name" = trigger ] || repository+=-$name
go_version=$(sed -n 's/^ARG GO_VERSION=//p' Dockerfile)
builder=docker.io/library/golang:$go_version

mkdir -p dist .cache
storage=$(mktemp -d "$PWD/.cache/image.XXXXXX")
trap 'rm -rf "$storage"' EXIT
b() { timeout 600 buildah --root "$storage/root" --runroot "$storage/run" --storage-driver vfs "$@"; }

# standin makes the builder image from scratch: a static shell, this machine's Go, and CA certificates. Its
# modules, and what is compiled already, come from this machine's caches.
volumes=()
standin() {
	local busybox root=$storage/standin
	busybox=$(command -v busybox) || { echo "busybox is missing: apt-get install busybox-static" >&2; exit 1; }
	mkdir -p "$root"/{bin,usr/local,etc/ssl/certs,tmp,root}
	cp "$busybox" "$root/bin/sh"
	mkdir "$root/usr/local/go" "$root/usr/local/go/pkg"
	(cd "$(go env GOROOT)" && cp -r bin src go.env VERSION "$root/usr/local/go/" && cp -r pkg/include pkg/tool "$root/usr/local/go/pkg/")
	cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
	printf 'FROM scratch\nCOPY . /\nENV PATH=/usr/local/go/bin:/bin GOPATH=/go HOME=/root GOTOOLCHAIN=local GOPROXY=off\n' >"$storage/Standin"
	b build --isolation chroot --tag "$builder" --file "$storage/Standin" "$root" >"$storage/log" 2>&1 || { cat "$storage/log" >&2; exit 1; }
	rm -rf "$root"
	go mod download
	volumes=(--volume "$(go env GOMODCACHE):/go/pkg/mod" --volume "$(go env GOCACHE):/root/.cache/go-build")
}
pull() { b pull --quiet "$builder" >/dev/null; }

case ${BUILDER:-} in
pull) pull ;;
local) standin ;;
"") pull 2>/dev/null || { echo "$builder can't be pulled: standing in with this machine's Go" && standin; } ;;
*) echo "BUILDER is pull or local" >&2; exit 2 ;;
esac

# Dates and revision are those of the last commit.
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
date=$(git log -1 --format=%ct 2>/dev/null || echo 0)
for arch; do
	b build --isolation chroot --pull=never --identity-label=false --target "$name" \
		--platform "linux/$arch" --build-arg BUILDPLATFORM="linux/$(go env GOHOSTARCH)" --build-arg TARGETARCH="$arch" \
		--build-arg VERSION="$version" --build-arg REVISION="$revision" --timestamp "$date" \
		"${volumes[@]}" --tag "$repository:$version" . >"$storage/log" 2>&1 || { cat "$storage/log" >&2; exit 1; }
	archive=dist/$name-$arch.oci.tar
	rm -f "$archive"
	b push --quiet "$repository:$version" "oci-archive:$archive:$repository:$version"
	b rmi "$repository:$version" >/dev/null
	echo "$archive $repository:$version"
done
