package workflow_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/input"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/outcome"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/workflow"
)

// onceStarted are the asks around a start that took although its answer was lost; onceLost, around one
// that did not.
var (
	onceStarted = []behaviour{says(wireNotFound), says(wireRunning)}
	onceLost    = []behaviour{says(wireNotFound)}
)

func TestWhatAnAnswerToTheStartMeans(t *testing.T) {
	for _, c := range []struct {
		name, wire string
		want       outcome.Name
	}{
		{"202 with our instance", wireAccepted, outcome.Started},
		{"200 with our instance", answer(200, `{"instanceID":"cbw_a"}`), outcome.Started},
		{"202 in chunks", "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks(`{"instanceID":"cbw_a"}`), outcome.Started},
		{"202 behind a 100", "HTTP/1.1 100 Continue\r\n\r\n" + wireAccepted, outcome.Started},
		{"202 and a second answer", wireAccepted + answer(500, ``), outcome.Started},
		{"429, turned away", answer(429, `slow down`), outcome.Unstarted},
		{"301", "HTTP/1.1 301 Moved Permanently\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", outcome.Rejected},
		{"307 with our instance in it", answer(307, `{"instanceID":"cbw_a"}`), outcome.Rejected},
		{"304", "HTTP/1.1 304 Not Modified\r\n\r\n", outcome.Rejected},
		{"400", answer(400, `{"errorCode":"ERR_INSTANCE_ID_INVALID","message":"no"}`), outcome.Rejected},
		{"401", answer(401, `invalid api token`), outcome.Rejected},
		{"404", answer(404, ``), outcome.Rejected},
		{"405", answer(405, ``), outcome.Rejected},
		{"499", answer(499, ``), outcome.Rejected},
		// Not known, and then asked for.
		{"202 with another instance", answer(202, `{"instanceID":"cbw_b"}`), outcome.Unknown},
		{"202 with nothing", answer(202, ``), outcome.Unknown},
		{"200 with a page", answer(200, `<html>`), outcome.Unknown},
		{"204", "HTTP/1.1 204 No Content\r\n\r\n", outcome.Unknown},
		{"101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", outcome.Unknown},
		{"408", answer(408, ``), outcome.Unknown},
		{"500 of an active one", answer(500, `{"errorCode":"ERR_START_WORKFLOW","message":"an active workflow with ID 'cbw_a' already exists"}`), outcome.Unknown},
		{"502", answer(502, ``), outcome.Unknown},
		{"503", answer(503, ``), outcome.Unknown},
		{"504", answer(504, ``), outcome.Unknown},
		{"a status that is none", answer(999, `{"instanceID":"cbw_a"}`), outcome.Unknown},
		{"nothing, and closed", "", outcome.Unknown},
		{"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n", outcome.Unknown},
		{"an HTTP/2 server that resets the stream", "\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x04\x03\x00\x00\x00\x01\x00\x00\x00\x07", outcome.Unknown},
		{"half an answer", wireAccepted[:len(wireAccepted)-1], outcome.Unknown},
		{"a body that is too long", "HTTP/1.1 202 Accepted\r\n\r\n" + strings.Repeat(" ", 32<<20+1), outcome.Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, onceLost, []behaviour{says(c.wire)})
			assert.Equal(t, c.want, w.run(briefly).Name)
			assert.Equal(t, 1, w.sent("POST "))
			asks := w.sent("GET ")
			if c.want == outcome.Unknown {
				assert.Greater(t, asks, 1, "it is asked for")
				again := newWire(t, onceStarted, []behaviour{says(c.wire)})
				assert.Equal(t, outcome.Started, again.run(nil).Name, "and found if it took")
			} else {
				assert.Equal(t, 1, asks, "there is nothing to confirm")
			}
		})
	}
}

func TestTheAnswerToTheStartCutAtEveryByte(t *testing.T) {
	for k := range len(wireAccepted) {
		w := newWire(t, onceStarted, []behaviour{says(wireAccepted[:k])})
		o := w.run(nil)
		assert.Equal(t, outcome.Started, o.Name, "cut after byte %d: %s", k, o.Message())
		assert.Equal(t, 1, w.sent("POST "), "cut after byte %d", k)
		assert.Equal(t, 2, w.sent("GET "), "cut after byte %d", k)
	}
}

func TestTheAnswerToTheAskCutAtEveryByte(t *testing.T) {
	for k := range len(wireNotFound) {
		w := newWire(t, []behaviour{says(wireNotFound[:k]), says(wireRunning)}, nil)
		o := w.run(nil)
		assert.Equal(t, outcome.Exists, o.Name, "cut after byte %d: %s", k, o.Message())
		assert.Equal(t, 2, w.sent("GET "), "cut after byte %d", k)
	}
}

func TestTheStartIsSentByteForByteOnAFreshConnection(t *testing.T) {
	w := newWire(t, onceLost, []behaviour{says(wireAccepted)})
	content := "\n {\"a\" :1e400,\t\"ü\":\"\\u00fc $(id) `id` <&> \u2028\", \"n\": 12345678901234567890}\r\n"
	o := w.run(func(r *input.Request) {
		r.Input, r.WorkflowName, r.Token = []byte(content), "Ordner/A b?&#%ü+", "s3cret"
	})
	assert.Equal(t, outcome.Started, o.Name, o.Message())
	assert.Equal(t, []string{content}, w.bodies)
	assert.Equal(t, 1, w.sent("POST /v1.0/workflows/dapr/Ordner%2FA%20b%3F&%23%25%C3%BC%2B/start?instanceID=cbw_a HTTP/1.1\r\n"))
	assert.Equal(t, 1, w.sent("GET /v1.0/workflows/dapr/cbw_a HTTP/1.1\r\n"))
	assert.Equal(t, 1, w.sent("Content-Type: application/json\r\n"))
	assert.Equal(t, 2, w.sent("Dapr-Api-Token: s3cret\r\n"))
	assert.Equal(t, 2, w.sent("User-Agent: test\r\n"))
	assert.Len(t, w.conns, 2)
}

func TestAStartGoesOutOnceWhateverHappensToItsConnection(t *testing.T) {
	for name, c := range map[string]struct {
		starts behaviour
		accept func(n int, conn net.Conn) bool // n is 0 for the ask's, 1 for the start's
	}{
		"reset after it was read": {starts: resets},
		"silence":                 {starts: staysSilent},
		// A reset that comes any earlier can reach connect(), and nothing was sent then.
		"reset once its first byte was read": {accept: func(n int, conn net.Conn) bool {
			if n == 1 {
				_, _ = conn.Read(make([]byte, 1))
				resets(conn)
			}
			return n != 1
		}},
		"closed before it was read": {accept: func(n int, _ net.Conn) bool { return n != 1 }},
		"an answer before it was read": {accept: func(n int, conn net.Conn) bool {
			if n == 1 {
				_, _ = io.WriteString(conn, answer(503, ``))
			}
			return n != 1
		}},
		"accepted before it was read": {accept: func(n int, conn net.Conn) bool {
			if n == 1 {
				_, _ = io.WriteString(conn, wireAccepted)
				staysSilent(conn) // and reads no more than a byte
			}
			return n != 1
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for want, asks := range map[outcome.Name][]behaviour{outcome.Unknown: onceLost, outcome.Started: onceStarted} {
				w := newPickyWire(t, asks, []behaviour{c.starts}, c.accept)
				o := w.run(func(r *input.Request) {
					r.Input = []byte(`"` + strings.Repeat("x", 3<<20-2) + `"`)
					if name == "silence" {
						r.StartTimeout = 2 * time.Second
					}
					if want == outcome.Unknown {
						briefly(r)
					}
				})
				assert.Equal(t, want, o.Name, o.Message())
			}
		})
	}
	t.Run("cut off after every kilobyte of it", func(t *testing.T) {
		for k := 1; k < 20<<10; k += 1 << 10 {
			w := newPickyWire(t, onceLost, nil, func(n int, conn net.Conn) bool {
				if n == 1 {
					_, _ = io.ReadFull(conn, make([]byte, k))
				}
				return n != 1
			})
			o := w.run(func(r *input.Request) {
				r.Input, r.ConfirmFor = []byte(`"`+strings.Repeat("x", 20<<10)+`"`), time.Millisecond
			})
			assert.Equal(t, outcome.Unknown, o.Name, "cut after byte %d: %s", k, o.Message())
		}
	})
	t.Run("a server that lets no connection be used twice", func(t *testing.T) {
		// It invites to keep the connection and then closes it: a client that reuses one meets a reset.
		w := newWire(t, []behaviour{func(conn net.Conn) {
			says(strings.Replace(wireNotFound, "\r\n", "\r\nConnection: keep-alive\r\nKeep-Alive: timeout=60\r\n", 1))(conn)
			time.Sleep(20 * time.Millisecond)
			resets(conn)
		}}, []behaviour{says(wireAccepted)})
		assert.Equal(t, outcome.Started, w.run(nil).Name)
		assert.Len(t, w.conns, 2)
		assert.Equal(t, 2, w.sent("Connection: close\r\n"))
	})
}

func TestTheLastByteOfARequestIsHeldBackFromASidecarThatHasAnswered(t *testing.T) {
	for _, answered := range []bool{false, true} {
		client, server := net.Pipe()
		arrived := make(chan string)
		go func() {
			all, _ := io.ReadAll(server)
			arrived <- string(all)
		}()
		assert.Equal(t, !answered, workflow.Send(client, []byte("0123456789"), answered))
		client.Close()
		if answered {
			assert.Equal(t, "012345678", <-arrived)
		} else {
			assert.Equal(t, "0123456789", <-arrived)
		}
	}
}

func TestAStartThatMeetsAClosedPortIsUnstarted(t *testing.T) {
	w := newWire(t, nil, nil)
	w.mu.Lock()
	w.asks = []behaviour{func(conn net.Conn) {
		w.listener.Close()
		says(wireNotFound)(conn)
	}}
	w.mu.Unlock()
	o := w.run(nil)
	assert.Equal(t, outcome.Unstarted, o.Name)
	assert.Contains(t, o.Message(), "connection refused")
	assert.Equal(t, 1, w.sent("GET "))
}

func TestRedirectsAreNeverFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			elsewhere := newWire(t, []behaviour{says(wireNotFound)}, []behaviour{says(wireAccepted)})
			redirect := strings.Replace(answer(status, ``), "\r\n", "\r\nLocation: http://"+elsewhere.listener.Addr().String()+"/v1.0/workflows/dapr/cbw_a\r\n", 1)
			asked := newWire(t, []behaviour{says(redirect)}, nil)
			assert.Equal(t, outcome.Undetermined, asked.run(nil).Name)
			started := newWire(t, onceLost, []behaviour{says(redirect)})
			assert.Equal(t, outcome.Rejected, started.run(nil).Name)
			assert.Empty(t, elsewhere.conns)
		})
	}
}

func TestNoProxyIsUsed(t *testing.T) {
	proxy := newWire(t, []behaviour{says(wireNotFound)}, []behaviour{says(wireAccepted)})
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://"+proxy.listener.Addr().String())
	}
	t.Setenv("NO_PROXY", "")
	w := newWire(t, nil, nil)
	_, err := w.exists(func(r *input.Request) { r.Sidecar.Host = "sidecar.invalid:3500" })
	assert.ErrorContains(t, err, "sidecar.invalid")
	assert.Empty(t, proxy.conns)
}

func TestARefusalSaysWhatTheSidecarSaid(t *testing.T) {
	for wire, want := range map[string]string{
		answer(400, `{"errorCode":"ERR_X","message":"no\nway"}`): "the sidecar refused to start cbw_a (400, ERR_X: no\nway)",
		answer(400, `{"errorCode":"ERR_X"}`):                     "the sidecar refused to start cbw_a (400, ERR_X)",
		answer(403, ` `):                                         "the sidecar refused to start cbw_a (403, an empty body)",
		answer(403, `go away`):                                   "the sidecar refused to start cbw_a (403, go away)",
		answer(403, strings.Repeat("x", 70_000)):                 "the sidecar refused to start cbw_a (403, a body of 70000 bytes that does not say it)",
	} {
		w := newWire(t, onceLost, []behaviour{says(wire)})
		assert.Contains(t, w.run(nil).Message(), want+"; ")
	}
}
