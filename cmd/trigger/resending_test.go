package main_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/mockdapr"
)

// resends does what a mesh's retry policy does: it sends a request again whose answer was lost, a POST too.
type resends struct {
	retries int
	sent    atomic.Int64
	to      http.Transport
}

func (r *resends) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodPost {
		return r.to.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	for retry := 0; ; retry++ {
		request.Body = io.NopCloser(bytes.NewReader(body))
		r.sent.Add(1)
		response, err := r.to.RoundTrip(request)
		if err == nil || retry == r.retries {
			return response, err
		}
	}
}

// throughProxy runs the trigger against a sidecar that loses the answer to the first start, through a proxy that
// sends a request again that often. It returns how often the workflow ran.
func throughProxy(t *testing.T, lasts time.Duration, retries int) (ran int, r result) {
	t.Helper()
	lost, err := mockdapr.ParseFault("start drop-response")
	require.NoError(t, err)
	s, err := mockdapr.Start(mockdapr.Options{Duration: lasts, Faults: []mockdapr.Fault{lost}})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	target, err := url.Parse(s.URL())
	require.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	transport := &resends{retries: retries, to: http.Transport{DisableKeepAlives: true}}
	forward.Transport = transport
	proxy := httptest.NewServer(forward)
	t.Cleanup(proxy.Close)
	r = start(t, proxy.URL, "", "--confirm-for", "20s").wait()
	assert.Equal(t, int64(retries+1), transport.sent.Load(), "what the proxy made of the one start")
	return s.Starts()["a"], r
}

// Nothing that the trigger could send prevents this over HTTP. So the README says what to set, and this is its
// evidence: if it ever ends with one run, the README is out of date.
func TestAProxyThatResendsMakesAShortWorkflowRunTwice(t *testing.T) {
	t.Run("a workflow that has ended when the start comes again", func(t *testing.T) {
		t.Parallel()
		ran, r := throughProxy(t, 100*time.Millisecond, 1)
		assert.Equal(t, 2, ran)
		assert.Equal(t, "started", r.Outcome, "and nobody can tell")
	})
	t.Run("with retries off it runs once", func(t *testing.T) {
		t.Parallel()
		ran, r := throughProxy(t, 100*time.Millisecond, 0)
		assert.Equal(t, 1, ran)
		assert.Equal(t, "started", r.Outcome)
	})
	t.Run("Dapr refuses the second start of a longer one", func(t *testing.T) {
		t.Parallel()
		ran, r := throughProxy(t, time.Hour, 1)
		assert.Equal(t, 1, ran)
		assert.Equal(t, "started", r.Outcome)
	})
}
