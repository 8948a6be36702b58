# The targets' names are fixed: CI and the README use them.
SHELL := /bin/bash -o pipefail
.DELETE_ON_ERROR:
.PHONY: build demo test image bench fuzz lint

VERSION ?= dev
BIN     ?= bin
GOFLAGS := -buildvcs=false
export GOFLAGS

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The same bytes whoever builds it, wherever: no paths, no version control, no build ID, no C.
build:
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -buildid= -X main.version=$(VERSION)' -o $(BIN)/ ./cmd/trigger ./cmd/mocksidecar

# The main job on the embedded mock: it starts an instance, finds it, and meets a deadline that has passed.
demo: build
	@PATH="$(abspath $(BIN)):$$PATH" sh build/demo.sh

# Everything that needs only Go.
test:
	go test -race ./...

# The image as an OCI archive, for amd64 and arm64, and what it does in a container.
image: build
	build/image.sh trigger amd64 arm64
	go test -tags image -count=1 -v ./build

# Whole processes beside a shell script and a bare Go program, as ratios.
bench: build
	go run ./build/bench

fuzz:
	go test -run '^$$' -fuzz FuzzParseAnswer -fuzztime $(or $(FUZZTIME),30s) ./internal/workflow
	go test -run '^$$' -fuzz FuzzLoad -fuzztime $(or $(FUZZTIME),30s) ./internal/input
	go test -run '^$$' -fuzz FuzzLine -fuzztime $(or $(FUZZTIME),30s) ./internal/outcome
	go test -run '^$$' -fuzz FuzzClean -fuzztime $(or $(FUZZTIME),30s) ./internal/printable

lint:
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "gofmt: $$unformatted"; exit 1; }
	go vet ./...
	go vet -tags image ./build
	go run $(STATICCHECK) ./...
	shellcheck build/*.sh build/bench/*.sh .ci/run
