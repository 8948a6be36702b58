package mockdapr_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/mockdapr"
)

func start(t *testing.T, o mockdapr.Options, faults ...string) *mockdapr.Sidecar {
	t.Helper()
	for _, text := range faults {
		fault, err := mockdapr.ParseFault(text)
		require.NoError(t, err)
		o.Faults = append(o.Faults, fault)
	}
	s, err := mockdapr.Start(o)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// call sends one request below the workflow API, on a connection of its own.
func call(t *testing.T, s *mockdapr.Sidecar, method, path, body string) (int, string, error) {
	t.Helper()
	return callWith(t.Context(), s, method, "/v1.0/workflows/dapr"+path, body, "")
}

func callWith(ctx context.Context, s *mockdapr.Sidecar, method, path, body, token string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("dapr-api-token", token)
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, string(answer), err
}

// expect is call for a request that is answered.
func expect(t *testing.T, s *mockdapr.Sidecar, method, path, body string, status int, contains string) string {
	t.Helper()
	got, answer, err := call(t, s, method, path, body)
	require.NoError(t, err)
	assert.Equal(t, status, got, answer)
	assert.Contains(t, answer, contains)
	return answer
}

func TestItAnswersAsDaprDoes(t *testing.T) {
	s := start(t, mockdapr.Options{})
	long := strings.Repeat("a", 65)
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		answer                   string
	}{
		{"get of an unknown ID", "GET", "/cbw_x", "", 404, `{"errorCode":"ERR_INSTANCE_ID_NOT_FOUND","message":"unable to find workflow with the provided instance ID: cbw_x"}`},
		{"start", "POST", "/W/start?instanceID=cbw_a", `{"name":"a"}`, 202, `{"instanceID":"cbw_a"}`},
		{"get of a known ID", "GET", "/cbw_a", "", 200, `"runtimeStatus":"RUNNING","properties":{"dapr.workflow.input":"{\"name\":\"a\"}"}}`},
		{"pause", "POST", "/cbw_a/pause", "", 202, `{}`},
		{"get of a paused one", "GET", "/cbw_a", "", 200, `"runtimeStatus":"SUSPENDED"`},
		{"resume", "POST", "/cbw_a/resume", "", 202, `{}`},
		{"get of a resumed one", "GET", "/cbw_a", "", 200, `"runtimeStatus":"RUNNING"`},
		{"purge of a running one", "POST", "/cbw_a/purge", "", 500, `"errorCode":"ERR_PURGE_WORKFLOW"`},
		{"terminate", "POST", "/cbw_a/terminate", "", 202, `{}`},
		{"get of a terminated one", "GET", "/cbw_a", "", 200, `"runtimeStatus":"TERMINATED"`},
		{"start of an ended one runs it again", "POST", "/V/start?instanceID=cbw_a", `2`, 202, `{"instanceID":"cbw_a"}`},
		{"its history is wiped", "GET", "/cbw_a", "", 200, `"workflowName":"V"`},
		{"terminate again", "POST", "/cbw_a/terminate", "", 202, `{}`},
		{"purge", "POST", "/cbw_a/purge", "", 202, `{}`},
		{"get of a purged one", "GET", "/cbw_a", "", 404, `ERR_INSTANCE_ID_NOT_FOUND`},
		{"terminate of an unknown ID", "POST", "/cbw_x/terminate", "", 404, `ERR_INSTANCE_ID_NOT_FOUND`},
		{"purge of an unknown ID", "POST", "/cbw_x/purge", "", 404, `ERR_INSTANCE_ID_NOT_FOUND`},
		{"pause of an unknown ID", "POST", "/cbw_x/pause", "", 500, `{"errorCode":"ERR_PAUSE_WORKFLOW",`},
		{"resume of an unknown ID", "POST", "/cbw_x/resume", "", 500, `{"errorCode":"ERR_RESUME_WORKFLOW",`},
		{"an event for an unknown ID", "POST", "/cbw_x/raiseEvent/go", "", 500, `{"errorCode":"ERR_RAISE_EVENT_WORKFLOW",`},
		{"a wrong method", "POST", "/cbw_x", "", 404, `{"errorCode":"ERR_DIRECT_INVOKE",`},
		{"start without an ID gets one", "POST", "/W/start", "1", 202, `{"instanceID":"`},
		{"start of a bad ID", "POST", "/W/start?instanceID=bad.id", "1", 400, `{"errorCode":"ERR_INSTANCE_ID_INVALID",`},
		{"start of a long ID", "POST", "/W/start?instanceID=" + long, "1", 400, `{"errorCode":"ERR_INSTANCE_ID_TOO_LONG",`},
		{"start of a body that is not JSON", "POST", "/W/start?instanceID=nojson", "no", 202, `{"instanceID":"nojson"}`},
		{"start of a body that is too large", "POST", "/W/start?instanceID=large", strings.Repeat("x", 4<<20+2), 400, `"errorCode":"ERR_BODY_READ"`},
		{"a name with a slash and blanks", "POST", "/a%2Fb%20c/start?instanceID=slash", "1", 202, `{"instanceID":"slash"}`},
		{"which is kept", "GET", "/slash", "", 200, `"workflowName":"a/b c"`},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, s, c.method, c.path, c.body, c.status, c.answer) })
	}
	t.Run("another component and the older API", func(t *testing.T) {
		status, answer, err := callWith(t.Context(), s, "GET", "/v1.0-beta1/workflows/other/slash", "", "")
		assert.NoError(t, err)
		assert.Equal(t, 200, status, answer)
	})
	t.Run("a wrong path", func(t *testing.T) {
		status, answer, err := callWith(t.Context(), s, "GET", "/v1.0/workflow/dapr/slash", "", "")
		assert.NoError(t, err)
		assert.Equal(t, 404, status)
		assert.Contains(t, answer, `{"errorCode":"ERR_DIRECT_INVOKE"`)
	})
	t.Run("healthz", func(t *testing.T) {
		status, _, err := callWith(t.Context(), s, "GET", "/v1.0/healthz/outbound", "", "")
		assert.NoError(t, err)
		assert.Equal(t, 204, status)
	})
	t.Run("the count", func(t *testing.T) {
		starts := s.Starts()
		assert.Equal(t, 2, starts["cbw_a"], "two runs, whatever was purged")
		assert.Equal(t, 1, starts["slash"])
		assert.NotContains(t, starts, "bad.id")
		status, answer, err := callWith(t.Context(), s, "GET", "/mock/starts", "", "")
		assert.NoError(t, err)
		assert.Equal(t, 200, status)
		var counted map[string]int
		assert.NoError(t, json.Unmarshal([]byte(answer), &counted))
		assert.Equal(t, starts, counted)
	})
	t.Run("the bodies", func(t *testing.T) {
		_, answer, err := callWith(t.Context(), s, "GET", "/mock/requests", "", "")
		assert.NoError(t, err)
		var requests []mockdapr.Request
		assert.NoError(t, json.Unmarshal([]byte(answer), &requests))
		assert.Equal(t, "GET", requests[0].Method)
		assert.Equal(t, "POST", requests[1].Method)
		assert.Equal(t, "/v1.0/workflows/dapr/W/start", requests[1].Path)
		assert.Equal(t, "cbw_a", requests[1].InstanceID)
		assert.Equal(t, `{"name":"a"}`, requests[1].Body)
	})
}

func TestAnActiveInstanceIsTriedAgainForThreeSeconds(t *testing.T) {
	t.Run("then it is refused", func(t *testing.T) {
		t.Parallel()
		s := start(t, mockdapr.Options{})
		expect(t, s, "POST", "/W/start?instanceID=long1", "1", 202, "long1")
		begin := time.Now()
		expect(t, s, "POST", "/W/start?instanceID=long1", "1", 500,
			`{"errorCode":"ERR_START_WORKFLOW","message":"error starting workflow 'W': unable to start workflow: failed to start workflow: an active workflow with ID 'long1' already exists"}`)
		assert.GreaterOrEqual(t, time.Since(begin), 3*time.Second)
		assert.Equal(t, map[string]int{"long1": 1}, s.Starts())
	})
	t.Run("unless it completes meanwhile and runs again", func(t *testing.T) {
		t.Parallel()
		s := start(t, mockdapr.Options{Duration: 500 * time.Millisecond})
		expect(t, s, "POST", "/W/start?instanceID=short", "1", 202, "short")
		expect(t, s, "POST", "/W/start?instanceID=short", "1", 202, "short")
		assert.Equal(t, map[string]int{"short": 2}, s.Starts())
	})
	t.Run("six at once are one run if it is long", func(t *testing.T) {
		t.Parallel()
		s := start(t, mockdapr.Options{})
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() { _, _, _ = call(t, s, "POST", "/W/start?instanceID=six", "1") })
		}
		all.Wait()
		assert.Equal(t, map[string]int{"six": 1}, s.Starts())
	})
}

func TestATerminationWaitsForTheResume(t *testing.T) {
	s := start(t, mockdapr.Options{})
	expect(t, s, "POST", "/W/start?instanceID=a", "1", 202, "a")
	expect(t, s, "POST", "/a/pause", "", 202, "{}")
	expect(t, s, "POST", "/a/terminate", "", 202, "{}")
	expect(t, s, "GET", "/a", "", 200, `"runtimeStatus":"SUSPENDED"`)
	expect(t, s, "POST", "/a/raiseEvent/go", "1", 202, "{}")
	expect(t, s, "POST", "/a/resume", "", 202, "{}")
	expect(t, s, "GET", "/a", "", 200, `"runtimeStatus":"TERMINATED"`)
}

func TestAWorkflowEndsByItself(t *testing.T) {
	s := start(t, mockdapr.Options{Duration: time.Nanosecond, Workflows: []string{"W"}})
	expect(t, s, "POST", "/W/start?instanceID=a", "1", 202, "a")
	expect(t, s, "GET", "/a", "", 200, `"runtimeStatus":"COMPLETED"`)
	expect(t, s, "POST", "/a/terminate", "", 202, "{}")
	expect(t, s, "GET", "/a", "", 200, `"runtimeStatus":"COMPLETED"`)
	expect(t, s, "POST", "/NotRegistered/start?instanceID=b", "1", 202, "b")
	expect(t, s, "GET", "/b", "", 200, `"runtimeStatus":"FAILED"`)
}

func TestAStartWaitsForTheWorker(t *testing.T) {
	t.Run("and is not there meanwhile", func(t *testing.T) {
		s := start(t, mockdapr.Options{WorkerAfter: 300 * time.Millisecond})
		started := make(chan struct{})
		go func() {
			defer close(started)
			_, _, _ = call(t, s, "POST", "/W/start?instanceID=a", "1")
		}()
		expect(t, s, "GET", "/a", "", 404, "ERR_INSTANCE_ID_NOT_FOUND")
		<-started
		expect(t, s, "GET", "/a", "", 200, "RUNNING")
	})
	t.Run("and never takes effect if the client hangs up", func(t *testing.T) {
		s := start(t, mockdapr.Options{WorkerAfter: 300 * time.Millisecond})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, _, err := callWith(ctx, s, "POST", "/v1.0/workflows/dapr/W/start?instanceID=a", "1", "")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(500 * time.Millisecond)
		assert.Empty(t, s.Starts())
	})
}

func TestTheTokenIsDemanded(t *testing.T) {
	s := start(t, mockdapr.Options{Token: "s3cret"})
	for token, want := range map[string]int{"": 401, "wrong": 401, "s3cret": 404} {
		status, answer, err := callWith(t.Context(), s, "GET", "/v1.0/workflows/dapr/a", "", token)
		assert.NoError(t, err)
		assert.Equal(t, want, status, answer)
	}
	_, answer, err := callWith(t.Context(), s, "GET", "/mock/requests", "", "")
	assert.NoError(t, err)
	assert.NotContains(t, answer, "s3cret")
}

func TestItsURLLeadsToItWhateverItListensOn(t *testing.T) {
	for address, want := range map[string]string{
		"":            `^http://127\.0\.0\.1:\d+$`,
		"127.0.0.1:0": `^http://127\.0\.0\.1:\d+$`,
		"0.0.0.0:0":   `^http://127\.0\.0\.1:\d+$`,
		":0":          `^http://127\.0\.0\.1:\d+$`,
		"localhost:0": `^http://(127\.0\.0\.1|\[::1\]):\d+$`,
		"[::1]:0":     `^http://\[::1\]:\d+$`,
		"[::]:0":      `^http://\[::1\]:\d+$`,
	} {
		t.Run(address, func(t *testing.T) {
			if strings.HasPrefix(address, "[") {
				listener, err := net.Listen("tcp", "[::1]:0")
				if err != nil {
					t.Skip("no IPv6 here: ", err)
				}
				listener.Close()
			}
			s := start(t, mockdapr.Options{Address: address})
			assert.Regexp(t, want, s.URL())
			expect(t, s, "GET", "/a", "", 404, "ERR_INSTANCE_ID_NOT_FOUND")
		})
	}
}
