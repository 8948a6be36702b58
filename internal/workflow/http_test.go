package workflow_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/input"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/outcome"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/workflow"
)

// What an ask's answer means, in the words of the decision.
const (
	exists       = "exists"
	doesNotExist = "does not exist"
	askAgain     = "not answered, ask again"
	cannotTell   = "cannot tell, stop"
)

func meaning(t *testing.T, state workflow.State, err error) string {
	t.Helper()
	var notAnswered *workflow.NotAnswered
	var stop *workflow.CannotTell
	switch {
	case errors.As(err, &notAnswered):
		assert.NotEmpty(t, notAnswered.Why)
		return askAgain
	case errors.As(err, &stop):
		assert.NotEmpty(t, stop.Why)
		return cannotTell
	case err != nil:
		return err.Error()
	case state.Answer == workflow.Found:
		return exists
	case state.Answer == workflow.NotFound:
		return doesNotExist
	}
	return "nothing"
}

func TestWhatAnAnswerToAnAskMeans(t *testing.T) {
	const known = `{"instanceID":"cbw_a","workflowName":"W","runtimeStatus":"RUNNING"}`
	const unknown = `{"errorCode":"ERR_INSTANCE_ID_NOT_FOUND","message":"unable to find workflow with the provided instance ID: cbw_a"}`
	for _, c := range []struct{ name, wire, want string }{
		{"200 of our instance", wireRunning, exists},
		{"200 of one that 1.16 has not picked up", answer(200, `{"instanceID":"cbw_a","createdAt":"0001-01-01T00:00:00Z","runtimeStatus":"PENDING"}`), exists},
		{"200 with a status we have never heard of", answer(200, `{"instanceID":"cbw_a","runtimeStatus":"NEW"}`), exists},
		{"200 in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks(known), exists},
		{"200 until the connection is closed", "HTTP/1.1 200 OK\r\n\r\n" + known, exists},
		{"200 behind a 103", "HTTP/1.1 103 Early Hints\r\n\r\n" + wireRunning, exists},
		{"200 and a second answer behind it", wireRunning + wireNotFound, exists},
		{"200 of another instance", answer(200, `{"instanceID":"cbw_b","runtimeStatus":"RUNNING"}`), cannotTell},
		{"200 without a status", answer(200, `{"instanceID":"cbw_a"}`), cannotTell},
		{"200 with an empty status", answer(200, `{"instanceID":"cbw_a","runtimeStatus":""}`), cannotTell},
		{"200 with a number as status", answer(200, `{"instanceID":"cbw_a","runtimeStatus":0}`), cannotTell},
		{"200 with nothing", answer(200, ``), cannotTell},
		{"200 with a page", answer(200, `<html>login</html>`), cannotTell},
		{"200 with not found in it", answer(200, unknown), cannotTell},
		{"200 with a list", answer(200, `[`+known+`]`), cannotTell},
		{"200 with two objects", answer(200, known+known), cannotTell},
		{"200 with something behind the object", answer(200, known+` x`), cannotTell},
		{"204", "HTTP/1.1 204 No Content\r\n\r\n", cannotTell},
		{"202 of our instance", answer(202, known), cannotTell},
		{"101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", cannotTell},

		{"404 that says so", wireNotFound, doesNotExist},
		{"404 that says so in chunks", "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks(unknown), doesNotExist},
		{"404 and a second answer behind it", wireNotFound + wireRunning, doesNotExist},
		{"404 of a wrong path", answer(404, `{"errorCode":"ERR_DIRECT_INVOKE","message":"failed getting app id"}`), cannotTell},
		{"404 of a proxy", answer(404, `404 page not found`), cannotTell},
		{"404 with nothing", answer(404, ``), cannotTell},
		{"404 with the code in its message", answer(404, `{"errorCode":"X","message":"ERR_INSTANCE_ID_NOT_FOUND"}`), cannotTell},
		{"404 with a longer code", answer(404, `{"errorCode":"ERR_INSTANCE_ID_NOT_FOUND_X"}`), cannotTell},
		{"404 with the code in small letters", answer(404, `{"errorCode":"err_instance_id_not_found"}`), cannotTell},
		{"404 with the code under another key", answer(404, `{"errorcode":"ERR_INSTANCE_ID_NOT_FOUND"}`), cannotTell},
		{"404 with the code deeper down", answer(404, `{"error":{"errorCode":"ERR_INSTANCE_ID_NOT_FOUND"}}`), cannotTell},
		{"404 with two codes", answer(404, `{"errorCode":"X","errorCode":"ERR_INSTANCE_ID_NOT_FOUND"}`), cannotTell},
		{"404 with two codes alike", answer(404, `{"errorCode":"ERR_INSTANCE_ID_NOT_FOUND","errorCode":"ERR_INSTANCE_ID_NOT_FOUND"}`), cannotTell},
		{"404 with the code and blanks", answer(404, `{"errorCode":" ERR_INSTANCE_ID_NOT_FOUND"}`), cannotTell},
		{"404 in a list", answer(404, `["ERR_INSTANCE_ID_NOT_FOUND"]`), cannotTell},
		{"404 with broken JSON behind the code", answer(404, `{"errorCode":"ERR_INSTANCE_ID_NOT_FOUND",}`), cannotTell},
		{"404 cut off in the body", wireNotFound[:len(wireNotFound)-1], askAgain},

		{"408", answer(408, ``), askAgain},
		{"429", answer(429, ``), askAgain},
		{"500 while the store hiccups", answer(500, `{"errorCode":"ERR_GET_WORKFLOW","message":"…"}`), askAgain},
		{"500 with not found in it", answer(500, unknown), askAgain},
		{"502", answer(502, ``), askAgain},
		{"503", answer(503, ``), askAgain},
		{"504", answer(504, ``), askAgain},

		{"301", "HTTP/1.1 301 Moved Permanently\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", cannotTell},
		{"307", "HTTP/1.1 307 Temporary Redirect\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", cannotTell},
		{"400", answer(400, ``), cannotTell},
		{"401", answer(401, `invalid api token`), cannotTell},
		{"403 with not found in it", answer(403, unknown), cannotTell},
		{"410", answer(410, unknown), cannotTell},
		{"501", answer(501, ``), cannotTell},
		{"505", answer(505, ``), cannotTell},
		{"a status that is none", "HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n", cannotTell},

		{"nothing, and closed", "", askAgain},
		{"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n", askAgain},
		{"HTTP/2", "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64\x00\x00\x04\x03\x00\x00\x00\x01\x00\x00\x00\x02", askAgain},
		{"a broken chunk", "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + unknown, askAgain},
		{"chunks without their end", "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.TrimSuffix(chunks(unknown), "0\r\n\r\n"), askAgain},
		{"two lengths", "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n" + unknown, askAgain},
		{"404 behind more than a MiB of headers", "HTTP/1.1 404 Not Found\r\n" + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 1100) +
			fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(unknown), unknown), askAgain},
		{"404 with 999 lists in it", answer(404, `{"x":`+strings.Repeat("[", 999)+strings.Repeat("]", 999)+`,`+unknown[1:]), doesNotExist},
		{"404 with 1,000 lists in it", answer(404, `{"x":`+strings.Repeat("[", 1000)+strings.Repeat("]", 1000)+`,`+unknown[1:]), cannotTell},
		{"404 of HTTP/2", strings.Replace(wireNotFound, "HTTP/1.1", "HTTP/2.0", 1), askAgain},
		{"404 that a cache kept", strings.Replace(wireNotFound, "\r\n", "\r\nAge: 0\r\n", 1), cannotTell},
		{"headers without end", "HTTP/1.1 404 Not Found\r\n" + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 1100), askAgain},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, []behaviour{says(c.wire)}, nil)
			state, err := w.exists(nil)
			assert.Equal(t, c.want, meaning(t, state, err), "%v", err)
		})
	}
}

func TestARedirectNamesWhereTo(t *testing.T) {
	for _, status := range []int{301, 302, 307, 308} {
		wire := fmt.Sprintf("HTTP/1.1 %d X\r\nLocation: https://other.example/v1.0\r\nContent-Length: 4\r\n\r\nmove", status)
		want := fmt.Sprintf("(%d, Location: https://other.example/v1.0, move", status)
		w := newWire(t, []behaviour{says(wire)}, nil)
		o := w.run(nil)
		assert.Equal(t, "cannot tell whether cbw_a exists "+want+"; asked http://"+w.listener.Addr().String()+"), refusing to start", o.Message())
		w = newWire(t, onceLost, []behaviour{says(wire)})
		o = w.run(nil)
		assert.Equal(t, outcome.Rejected, o.Name)
		assert.Contains(t, o.Message(), "the sidecar refused to start cbw_a "+want+"); asked http://"+w.listener.Addr().String()+"; ")
	}
	t.Run("and an answer that is none does not", func(t *testing.T) {
		w := newWire(t, []behaviour{says("HTTP/1.1 403 X\r\nLocation: https://other.example\r\nContent-Length: 0\r\n\r\n")}, nil)
		assert.NotContains(t, w.run(nil).Message(), "Location")
	})
	t.Run("a long one is only counted", func(t *testing.T) {
		w := newWire(t, []behaviour{says("HTTP/1.1 301 X\r\nLocation: /" + strings.Repeat("x", 5000) + "\r\nContent-Length: 0\r\n\r\n")}, nil)
		assert.Contains(t, w.run(nil).Message(), "(301, Location: a text of 5001 bytes, an empty body; asked ")
	})
}

func TestAnAddressWithAnIPv6ZoneIsAsked(t *testing.T) {
	listener := listen(t, "[::1]:0")
	w := newWireOn(t, listener, onceLost, []behaviour{says(wireAccepted)}, nil)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	o := w.run(func(r *input.Request) { r.Sidecar.Host = "[::1%lo]:" + port })
	assert.Equal(t, outcome.Started, o.Name, o.Message())
	assert.Equal(t, 2, w.sent("\r\nHost: [::1]:"+port+"\r\n"), "the zone means nothing to the other side")
}

func TestARequestThatCantBeMadeIsAnErrorBeforeAnythingIsAsked(t *testing.T) {
	w := newWire(t, nil, nil)
	for name, change := range map[string]func(*input.Request){
		"a host with a blank":    func(r *input.Request) { r.Sidecar.Host = "a b:1" },
		"a host without a port":  func(r *input.Request) { r.Sidecar.Host = "h" },
		"an ID that ends a path": func(r *input.Request) { r.InstanceID = "\x7f" },
	} {
		request := w.request("http")
		change(&request)
		_, err := workflow.NewHTTP(request, "test")
		assert.Error(t, err, name)
	}
}

func TestAnAnswerThatNobodyAskedForIsNone(t *testing.T) {
	for status, body := range map[int]string{
		404: `{"errorCode":"ERR_INSTANCE_ID_NOT_FOUND"}`, 200: `{"instanceID":"cbw_a","runtimeStatus":"RUNNING"}`,
	} {
		state, err := workflow.Told(status, body, true)
		assert.NoError(t, err)
		assert.NotEqual(t, workflow.NoAnswer, state.Answer)
		state, err = workflow.Told(status, body, false)
		assert.Equal(t, askAgain, meaning(t, state, err))
	}
}

// chunks is a body in chunks of three bytes.
func chunks(body string) string {
	var b strings.Builder
	for len(body) > 0 {
		n := min(3, len(body))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return b.String() + "0\r\n\r\n"
}

func TestAnAskThatIsNotAnsweredIsAskedAgain(t *testing.T) {
	for name, behave := range map[string]behaviour{
		"reset after it was read":  resets,
		"closed after it was read": says(""),
		"silence":                  staysSilent,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, []behaviour{behave, says(wireNotFound)}, []behaviour{says(wireAccepted)})
			o := w.run(func(r *input.Request) { r.RequestTimeout = 2 * time.Second })
			assert.Equal(t, outcome.Started, o.Name, o.Message())
			assert.Equal(t, 2, w.sent("GET "))
		})
	}
	t.Run("reset before it was read", func(t *testing.T) {
		w := newPickyWire(t, []behaviour{says(wireRunning)}, nil, func(n int, conn net.Conn) bool {
			if n == 0 {
				resets(conn)
			}
			return n > 0
		})
		assert.Equal(t, outcome.Exists, w.run(nil).Name)
	})
	t.Run("refused", func(t *testing.T) {
		w := newWire(t, nil, nil)
		w.listener.Close()
		o := w.run(briefly)
		assert.Equal(t, outcome.Undetermined, o.Name)
		assert.Contains(t, o.Message(), "connection refused")
	})
	t.Run("no such host", func(t *testing.T) {
		w := newWire(t, nil, nil)
		state, err := w.exists(func(r *input.Request) { r.Sidecar.Host = "no-such-host.invalid:3500" })
		assert.Equal(t, askAgain, meaning(t, state, err))
	})
}

func TestAnAnswerMayBeLargeButNotEndless(t *testing.T) {
	t.Run("20 MiB of escaped input and output", func(t *testing.T) {
		body := `{"instanceID":"cbw_a","properties":{"dapr.workflow.input":"` + strings.Repeat(`\"`, 10<<20) + `"},"runtimeStatus":"COMPLETED"}`
		w := newWire(t, []behaviour{says(answer(200, body))}, nil)
		state, err := w.exists(nil)
		assert.Equal(t, exists, meaning(t, state, err), "%v", err)
	})
	t.Run("a body that never ends", func(t *testing.T) {
		w := newWire(t, []behaviour{func(conn net.Conn) {
			_, err := conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\n{"))
			for filler := []byte(strings.Repeat(" ", 1<<20)); err == nil; {
				_, err = conn.Write(filler)
			}
		}}, nil)
		state, err := w.exists(func(r *input.Request) { r.RequestTimeout = time.Minute })
		assert.Equal(t, cannotTell, meaning(t, state, err))
		assert.ErrorContains(t, err, "more than 32 MiB")
	})
	t.Run("a body that drips", func(t *testing.T) {
		w := newWire(t, []behaviour{func(conn net.Conn) {
			_, err := conn.Write([]byte("HTTP/1.1 404 Not Found\r\n\r\n"))
			for err == nil {
				time.Sleep(10 * time.Millisecond)
				_, err = conn.Write([]byte(" "))
			}
		}}, nil)
		state, err := w.exists(func(r *input.Request) { r.RequestTimeout = 200 * time.Millisecond })
		assert.Equal(t, askAgain, meaning(t, state, err))
	})
}

func TestRetryAfterIsReadInSecondsAndAsADate(t *testing.T) {
	date := time.Now().Add(time.Hour).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
	for text, want := range map[string]time.Duration{
		"7": 7 * time.Second, "0": 0, "-7": 0, "soon": 0, "": 0, date: time.Hour, "Mon, 02 Jan 2006 15:04:05 GMT": 0,
		"99999999999999999999999": 100 * 365 * 24 * time.Hour, "9999999999999": 100 * 365 * 24 * time.Hour,
	} {
		t.Run(text, func(t *testing.T) {
			w := newWire(t, []behaviour{says("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: " + text + "\r\n\r\n")}, nil)
			_, err := w.exists(nil)
			var notAnswered *workflow.NotAnswered
			require.ErrorAs(t, err, &notAnswered)
			assert.InDelta(t, want.Seconds(), notAnswered.RetryAfter.Seconds(), 10)
		})
	}
}
