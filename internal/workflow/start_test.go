package workflow_test

import (
	"context"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/input"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/outcome"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/workflow"
)

func TestTheLastCheckWantsAFreshNotFound(t *testing.T) {
	late := reply{state: notFound.state, after: time.Second + 1}
	for name, c := range map[string]struct {
		connect time.Duration
		replies []reply
		want    outcome.Name
		says    string
		asks    int
	}{
		"a second old is fresh":                   {time.Second, []reply{notFound}, outcome.Started, "started", 1},
		"older is asked for again":                {time.Second + 1, []reply{notFound}, outcome.Started, "started", 2},
		"somebody started it meanwhile":           {9 * time.Second, []reply{notFound, found("COMPLETED")}, outcome.Exists, "already exists", 2},
		"and it is another workflow's":            {9 * time.Second, []reply{notFound, {state: workflow.State{Answer: workflow.Found, WorkflowName: "V", RuntimeStatus: "RUNNING"}}}, outcome.Conflict, "runs V", 2},
		"the sidecar can't tell any more":         {9 * time.Second, []reply{notFound, strange}, outcome.Undetermined, "403, go away", 2},
		"it does not answer for once":             {9 * time.Second, []reply{notFound, refused, refused, notFound}, outcome.Started, "started", 4},
		"it does not answer any more":             {9 * time.Second, []reply{notFound, refused}, outcome.Unstarted, "cbw_a not started: it was not there 9s before the start could go out, at most 1s is allowed, and asking again did not help: connection refused", 4},
		"it wants to be left alone":               {9 * time.Second, []reply{notFound, retryAfter(time.Second)}, outcome.Unstarted, "asking again did not help: 503, busy", 2},
		"it never answers in time":                {0, []reply{late}, outcome.Unstarted, "not started: it was not there 1s before the start could go out", 4},
		"it answers in time for the third time":   {0, []reply{late, late, late, notFound}, outcome.Started, "started", 4},
		"an answer that says nothing is none":     {9 * time.Second, []reply{notFound, {}}, outcome.Undetermined, "says nothing", 2},
		"all of the start's time goes by with it": {55 * time.Second, []reply{notFound, silent}, outcome.Unstarted, "connecting and checking took all of the start's 1m0s", 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sidecar{replies: c.replies, connect: c.connect}
			r := decide(t, s, nil)
			assert.Equal(t, c.want, r.outcome.Name, r.outcome.Message())
			assert.Contains(t, r.outcome.Message(), c.says)
			assert.Len(t, s.asked, c.asks)
			assert.Equal(t, 1, s.connected, "the start's connection is held")
			assert.Equal(t, c.want == outcome.Started, len(s.started) == 1)
		})
	}
}

func TestTheLastCheckLooksAtDeadlineAndSignalEachTime(t *testing.T) {
	slow := reply{state: notFound.state, after: 3 * time.Second}
	t.Run("the deadline passes while it asks again", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound, slow}, connect: 2 * time.Second}
		assert.Equal(t, outcome.Expired, decide(t, s, notAfter(4*time.Second)).outcome.Name)
		assert.Empty(t, s.started)
	})
	t.Run("a signal comes while it asks again", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound, slow}, connect: 2 * time.Second}
		r := decide(t, s, signalAfter(4*time.Second))
		assert.Equal(t, "cbw_a not started: told to stop (terminated)", r.outcome.Message())
		assert.Equal(t, 4*time.Second, r.took)
		assert.Empty(t, s.started)
	})
	t.Run("both while it connects", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound}, connect: 500 * time.Millisecond}
		r := decide(t, s, func(r *input.Request, stop context.CancelCauseFunc) {
			notAfter(100*time.Millisecond)(r, stop)
			s.onConnected = func() { stop(context.Canceled) }
		})
		assert.Equal(t, outcome.Expired, r.outcome.Name)
	})
}

// clocks returns the moment with the wall clock of one and the monotonic clock of the other.
func clocks(wall, monotonic time.Time) time.Time {
	type layout struct {
		wall uint64
		ext  int64 // the monotonic clock, if there is one
		loc  *time.Location
	}
	(*layout)(unsafe.Pointer(&wall)).ext = (*layout)(unsafe.Pointer(&monotonic)).ext
	return wall
}

func TestAnAnswerIsAsOldAsTheClockSaysThatSaysMore(t *testing.T) {
	now := time.Now()
	later := now.Add(5 * time.Second)
	suspended, setBack := clocks(later, now), clocks(now, later)
	assert.Zero(t, suspended.Sub(now), "the monotonic clock stood still")
	assert.Zero(t, setBack.Round(0).Sub(now.Round(0)), "the wall clock was set back")

	assert.Equal(t, 5*time.Second, workflow.Age(now, later))
	assert.Equal(t, 5*time.Second, workflow.Age(now, suspended))
	assert.Equal(t, 5*time.Second, workflow.Age(now, setBack))
}
