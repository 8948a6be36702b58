package workflow_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/input"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/outcome"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/workflow"
)

// The answers of a real daprd, as they stand on the wire.
var (
	wireNotFound = answer(404, `{"errorCode":"ERR_INSTANCE_ID_NOT_FOUND","message":"unable to find workflow with the provided instance ID: cbw_a"}`)
	wireRunning  = answer(200, `{"instanceID":"cbw_a","workflowName":"W","createdAt":"2026-11-30T09:15:42Z","lastUpdatedAt":"2026-11-30T09:15:42Z","runtimeStatus":"RUNNING","properties":{"dapr.workflow.input":"{\"name\":\"a\"}"}}`)
	wireAccepted = answer(202, `{"instanceID":"cbw_a"}`)
)

func answer(status int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, http.StatusText(status), len(body), body)
}

// A behaviour is what the server does with a connection once a whole request was read from it; the
// connection is closed when it returns.
type behaviour func(conn net.Conn)

func says(text string) behaviour {
	return func(conn net.Conn) { _, _ = io.WriteString(conn, text) }
}

func resets(conn net.Conn) { _ = conn.(interface{ SetLinger(int) error }).SetLinger(0) }

func staysSilent(conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, _ = conn.Read(make([]byte, 1)) // until the client hangs up
}

// A wire is a sidecar of raw connections that records what reached it, to the byte. Its behaviours
// are used one after another, the last one again and again.
type wire struct {
	t        *testing.T
	listener net.Listener
	accept   func(n int, conn net.Conn) bool

	mu     sync.Mutex
	asks   []behaviour
	starts []behaviour
	conns  []*bytes.Buffer
	bodies []string
	served sync.WaitGroup
}

func newWire(t *testing.T, asks, starts []behaviour) *wire {
	t.Helper()
	return newPickyWire(t, asks, starts, nil)
}

// newPickyWire returns a wire that may drop connection n before anything is read from it.
func newPickyWire(t *testing.T, asks, starts []behaviour, accept func(n int, conn net.Conn) bool) *wire {
	t.Helper()
	return newWireOn(t, listen(t, "127.0.0.1:0"), asks, starts, accept)
}

// listen returns a listener. Some containers have no IPv6 at all.
func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRNOTAVAIL) && strings.HasPrefix(address, "[") {
		t.Skip(err)
	}
	require.NoError(t, err)
	return listener
}

func newWireOn(t *testing.T, listener net.Listener, asks, starts []behaviour, accept func(n int, conn net.Conn) bool) *wire {
	t.Helper()
	w := &wire{t: t, listener: listener, accept: accept, asks: asks, starts: starts}
	go w.serve()
	t.Cleanup(func() {
		listener.Close()
		w.served.Wait()
		assert.LessOrEqual(t, w.sent("POST "), 1, "a process sends one start at most")
		assert.Zero(t, w.sent("PRI * HTTP/2"), "HTTP/1.1 only")
	})
	return w
}

func (w *wire) serve() {
	for n := 0; ; n++ {
		conn, err := w.listener.Accept()
		if err != nil {
			return
		}
		if w.accept != nil && !w.accept(n, conn) {
			conn.Close()
			continue
		}
		arrived := &bytes.Buffer{}
		w.mu.Lock()
		w.conns = append(w.conns, arrived)
		w.mu.Unlock()
		w.served.Go(func() {
			defer conn.Close()
			w.handle(conn, arrived)
		})
	}
}

func (w *wire) handle(conn net.Conn, arrived *bytes.Buffer) {
	reader := bufio.NewReader(io.TeeReader(conn, lockedWriter{&w.mu, arrived}))
	request, err := http.ReadRequest(reader)
	if err != nil {
		return
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	w.mu.Lock()
	queue := &w.asks
	if request.Method == http.MethodPost {
		queue = &w.starts
		w.bodies = append(w.bodies, string(body))
	}
	behave := (*queue)[0]
	if len(*queue) > 1 {
		*queue = (*queue)[1:]
	}
	w.mu.Unlock()
	behave(conn)
}

type lockedWriter struct {
	mu *sync.Mutex
	to io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}

// sent counts how often a text reached the server.
func (w *wire) sent(text string) (count int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range w.conns {
		count += strings.Count(conn.String(), text)
	}
	return count
}

// request is what a run on the wire is told. Its limits are far off, since a machine can be slow; a test of a
// limit sets its own.
func (w *wire) request(scheme string) input.Request {
	return input.Request{
		InstanceID: "cbw_a", WorkflowName: "W", Input: []byte(`{"name": "a"}`),
		Sidecar:  input.Address{Scheme: scheme, Host: w.listener.Addr().String()},
		RetryFor: 30 * time.Second, RetryMaxInterval: 50 * time.Millisecond, RequestTimeout: 30 * time.Second,
		StartTimeout: 30 * time.Second, ConfirmFor: 30 * time.Second,
	}
}

// briefly is for a run that can't end well: one ask confirms it.
func briefly(r *input.Request) { r.RetryFor, r.ConfirmFor = 500*time.Millisecond, time.Millisecond }

// run makes the whole decision over the wire.
func (w *wire) run(change func(*input.Request)) outcome.Outcome {
	request := w.request("http")
	if change != nil {
		change(&request)
	}
	return runOn(overHTTP(w.t, request), request)
}

func overHTTP(t *testing.T, request input.Request) *workflow.HTTP {
	t.Helper()
	s, err := workflow.NewHTTP(request, "test")
	require.NoError(t, err)
	return s
}

func runOn(s workflow.Sidecar, request input.Request) outcome.Outcome {
	return workflow.Run(context.Background(), slog.New(slog.DiscardHandler), fresh{s}, request)
}

// fresh is a sidecar whose answers are never too old, however slow the machine is.
type fresh struct{ workflow.Sidecar }

func (f fresh) Exists(ctx context.Context) (workflow.State, error) {
	state, err := f.Sidecar.Exists(ctx)
	state.Asked = time.Now().Add(time.Hour)
	return state, err
}

// Connect makes a connection that does not take a large start if the sidecar does not.
func (f fresh) Connect(ctx context.Context) (workflow.Starter, error) {
	starter, err := f.Sidecar.Connect(ctx)
	if err == nil {
		workflow.Narrow(starter)
	}
	return starter, err
}

// exists asks once.
func (w *wire) exists(change func(*input.Request)) (workflow.State, error) {
	request := w.request("http")
	if change != nil {
		change(&request)
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), request.RequestTimeout, errors.New("no answer"))
	defer cancel()
	return overHTTP(w.t, request).Exists(ctx)
}
