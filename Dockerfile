# The image of the trigger: one static binary, and the CA certificates that an https:// sidecar is verified
# with. `--target mocksidecar` builds an image of the mock instead, for clusters without Dapr.
ARG GO_VERSION=1.26

FROM --platform=$BUILDPLATFORM docker.io/library/golang:${GO_VERSION} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY internal internal
ARG TARGETOS=linux
ARG TARGETARCH=amd64
ARG VERSION=dev
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
    -ldflags "-s -w -buildid= -X main.version=$VERSION" -o /out/ ./cmd/trigger ./cmd/mocksidecar

FROM scratch AS mocksidecar
COPY --from=build /out/mocksidecar /mocksidecar
USER 65532:65532
ENTRYPOINT ["/mocksidecar"]

FROM scratch AS trigger
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="dapr-workflow-trigger" \
      org.opencontainers.image.description="Starts one Dapr workflow, once, from a Kubernetes Job" \
      org.opencontainers.image.source="https://github.com/stuttgart-things/dapr-workflow-trigger" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/trigger /trigger
USER 65532:65532
ENTRYPOINT ["/trigger"]
