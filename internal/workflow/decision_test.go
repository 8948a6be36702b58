package workflow_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/input"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/outcome"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/workflow"
)

// reply is what the scripted sidecar says to one ask, and when.
type reply struct {
	state workflow.State
	err   error
	after time.Duration
}

var (
	notFound = reply{state: workflow.State{Answer: workflow.NotFound}}
	running  = found("RUNNING")
	pending  = found("PENDING")
	refused  = reply{err: &workflow.NotAnswered{Why: "connection refused"}}
	silent   = reply{after: time.Hour}
	strange  = reply{err: &workflow.CannotTell{Why: "403, go away"}}
)

func found(status string) reply {
	return reply{state: workflow.State{Answer: workflow.Found, WorkflowName: "W", RuntimeStatus: status}}
}

func retryAfter(pause time.Duration) reply {
	return reply{err: &workflow.NotAnswered{Why: "503, busy", RetryAfter: pause}}
}

// sidecar follows a script: the last reply is repeated. It counts what reaches it.
type sidecar struct {
	t       *testing.T
	replies []reply
	asked   []time.Time

	onAsk        func()
	connect      time.Duration // how long connecting takes
	connectErr   error
	onConnect    func()
	onConnected  func()
	connected    int
	startTakes   time.Duration
	startErr     error
	onStart      func()
	started      []time.Time
	startCut     time.Duration // when the start's context ended, after the start began
	startLasting bool          // whether the start ends only with its context
}

func (s *sidecar) Exists(ctx context.Context) (workflow.State, error) {
	r := s.replies[0]
	r.state.Asked = time.Now()
	s.asked = append(s.asked, r.state.Asked)
	if s.onAsk != nil {
		s.onAsk()
	}
	if len(s.replies) > 1 {
		s.replies = s.replies[1:]
	}
	select {
	case <-time.After(r.after):
		return r.state, r.err
	case <-ctx.Done():
	}
	if r.after == 0 { // the answer was there as well
		return r.state, r.err
	}
	return workflow.State{}, &workflow.NotAnswered{Why: context.Cause(ctx).Error()}
}

func (s *sidecar) Connect(ctx context.Context) (workflow.Starter, error) {
	s.connected++
	if s.onConnect != nil {
		s.onConnect()
	}
	select {
	case <-time.After(s.connect):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.connectErr != nil {
		return nil, s.connectErr
	}
	if s.onConnected != nil {
		s.onConnected()
	}
	return s, nil
}

func (s *sidecar) Start(ctx context.Context) error {
	begin := time.Now()
	s.started = append(s.started, begin)
	require.Len(s.t, s.started, 1, "a process sends one start at most")
	if s.onStart != nil {
		s.onStart()
	}
	takes := s.startTakes
	if s.startLasting {
		takes = 24 * time.Hour
	}
	select {
	case <-time.After(takes):
		return s.startErr
	case <-ctx.Done():
		s.startCut = time.Since(begin)
		return &workflow.NotKnown{Why: context.Cause(ctx).Error()}
	}
}

func (s *sidecar) Close() error { return nil }

// run is one run of the decision in fake time.
type run struct {
	outcome outcome.Outcome
	took    time.Duration
	log     string
}

func decide(t *testing.T, s *sidecar, change func(*input.Request, context.CancelCauseFunc)) (r run) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s.t = t
		ctx, stop := context.WithCancelCause(context.Background())
		defer stop(nil)
		request := input.Request{
			InstanceID: "cbw_a", WorkflowName: "W", Sidecar: input.Address{Scheme: "http", Host: "sidecar:3500"},
			RetryFor: 2 * time.Minute, RetryMaxInterval: 2 * time.Second, RequestTimeout: 10 * time.Second,
			StartTimeout: time.Minute, ConfirmFor: 30 * time.Second,
		}
		if change != nil {
			change(&request, stop)
		}
		var log bytes.Buffer
		begin := time.Now()
		r.outcome = workflow.Run(ctx, slog.New(slog.NewTextHandler(&log, nil)), s, request)
		r.took, r.log = time.Since(begin), log.String()
		stop(nil)
		time.Sleep(time.Hour) // anything left behind would act now
	})
	return r
}

func notAfter(d time.Duration) func(*input.Request, context.CancelCauseFunc) {
	return func(r *input.Request, _ context.CancelCauseFunc) {
		r.NotAfter = &input.Deadline{Time: time.Now().Add(d), Text: "THE DEADLINE"}
	}
}

func signalAfter(d time.Duration) func(*input.Request, context.CancelCauseFunc) {
	return func(_ *input.Request, stop context.CancelCauseFunc) {
		time.AfterFunc(d, func() { stop(errors.New("told to stop (terminated)")) })
	}
}

func TestAnInstanceThatDoesNotExistIsStartedOnce(t *testing.T) {
	s := &sidecar{replies: []reply{notFound}}
	r := decide(t, s, nil)
	assert.Equal(t, outcome.Started, r.outcome.Name)
	assert.Equal(t, "instance cbw_a started", r.outcome.Message())
	assert.Len(t, s.asked, 1)
	assert.Len(t, s.started, 1)
}

func TestAnInstanceThatExistsIsNotStarted(t *testing.T) {
	for _, status := range []string{"RUNNING", "COMPLETED", "FAILED", "TERMINATED", "SUSPENDED", "CONTINUED_AS_NEW", "CANCELED"} {
		t.Run(status, func(t *testing.T) {
			s := &sidecar{replies: []reply{found(status)}}
			r := decide(t, s, nil)
			assert.Equal(t, outcome.Exists, r.outcome.Name)
			assert.Equal(t, "instance cbw_a already exists, not starting it again", r.outcome.Message())
			assert.Equal(t, status, r.outcome.RuntimeStatus)
			assert.Zero(t, s.connected, "no connection is made for a start")
		})
	}
	for _, status := range []string{"PENDING", "UNKNOWN"} {
		t.Run(status+" says that it is not running yet", func(t *testing.T) {
			s := &sidecar{replies: []reply{found(status)}}
			r := decide(t, s, nil)
			assert.Equal(t, outcome.Exists, r.outcome.Name)
			assert.Contains(t, r.outcome.Message(), "accepted, not running yet")
			assert.Empty(t, s.started)
		})
	}
}

func TestAnInstanceOfAnotherWorkflowIsAConflict(t *testing.T) {
	s := &sidecar{replies: []reply{{state: workflow.State{Answer: workflow.Found, WorkflowName: "V", RuntimeStatus: "COMPLETED"}}}}
	r := decide(t, s, nil)
	assert.Equal(t, outcome.Conflict, r.outcome.Name)
	assert.Equal(t, "instance cbw_a exists but runs V, not W", r.outcome.Message())
	assert.Empty(t, s.started)
}

func TestAnInstanceWhoseWorkflowIsNotNamedExists(t *testing.T) {
	s := &sidecar{replies: []reply{{state: workflow.State{Answer: workflow.Found, RuntimeStatus: "PENDING"}}}}
	assert.Equal(t, outcome.Exists, decide(t, s, nil).outcome.Name)
}

func TestTheDeadlineStopsAStart(t *testing.T) {
	t.Run("passed before: nothing is even asked", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound}}
		r := decide(t, s, notAfter(-time.Nanosecond))
		assert.Equal(t, outcome.Expired, r.outcome.Name)
		assert.Equal(t, "notAfter THE DEADLINE has passed, not starting cbw_a", r.outcome.Message())
		assert.Empty(t, s.asked)
	})
	t.Run("equal to now is still in time", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound}}
		assert.Equal(t, outcome.Started, decide(t, s, notAfter(0)).outcome.Name)
	})
	t.Run("passed while asking", func(t *testing.T) {
		s := &sidecar{replies: []reply{{state: notFound.state, after: time.Second}}}
		assert.Equal(t, outcome.Expired, decide(t, s, notAfter(time.Second-1)).outcome.Name)
		assert.Zero(t, s.connected)
	})
	t.Run("passed while connecting", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound}, connect: time.Second}
		assert.Equal(t, outcome.Expired, decide(t, s, notAfter(time.Second-1)).outcome.Name)
		assert.Empty(t, s.started)
	})
	t.Run("reached while connecting is still in time", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound}, connect: time.Second}
		assert.Equal(t, outcome.Started, decide(t, s, notAfter(time.Second)).outcome.Name)
	})
	t.Run("passed while asking of one that exists", func(t *testing.T) {
		s := &sidecar{replies: []reply{{state: running.state, after: time.Second}}}
		assert.Equal(t, outcome.Exists, decide(t, s, notAfter(1)).outcome.Name)
	})
}

func TestASidecarThatIsNotAnsweringIsAskedAgain(t *testing.T) {
	s := &sidecar{replies: []reply{refused, silent, refused, notFound}}
	r := decide(t, s, nil)
	assert.Equal(t, outcome.Started, r.outcome.Name)
	assert.Len(t, s.asked, 4)
	assert.Len(t, s.started, 1)
	for _, line := range []string{
		`msg="asked whether the instance exists, asking again" attempt=1 answer="connection refused" in=`,
		`attempt=2 answer="no answer within 10s" in=`,
		`msg="asked whether the instance exists" attempt=4 answer="it does not exist"`,
	} {
		assert.Contains(t, r.log, line)
	}
}

func TestAskingEndsWithRetryFor(t *testing.T) {
	t.Run("a sidecar that never comes", func(t *testing.T) {
		s := &sidecar{replies: []reply{refused}}
		r := decide(t, s, nil)
		assert.Equal(t, outcome.Undetermined, r.outcome.Name)
		assert.Regexp(t, `^cannot tell whether cbw_a exists \(the sidecar http://sidecar:3500 did not answer for .*: connection refused\), refusing to start$`, r.outcome.Message())
		assert.Empty(t, s.started)
		assert.InDelta(t, 120, s.asked[len(s.asked)-1].Sub(s.asked[0]).Seconds(), 2, "the last ask uses the time")
		for i, at := range s.asked[1:] {
			pause := at.Sub(s.asked[i])
			assert.LessOrEqual(t, pause, 2*time.Second)
			assert.Positive(t, pause)
		}
		assert.Equal(t, len(s.asked), strings.Count(r.log, "attempt="), "every attempt is logged")
	})
	t.Run("the ask under way included", func(t *testing.T) {
		s := &sidecar{replies: []reply{silent}}
		r := decide(t, s, func(r *input.Request, _ context.CancelCauseFunc) { r.RetryFor = 15 * time.Second })
		assert.Equal(t, outcome.Undetermined, r.outcome.Name)
		assert.LessOrEqual(t, r.took, 15*time.Second)
	})
	t.Run("however short, one ask gets a chance", func(t *testing.T) {
		s := &sidecar{replies: []reply{{state: notFound.state, after: 20 * time.Millisecond}}}
		r := decide(t, s, func(r *input.Request, _ context.CancelCauseFunc) { r.RetryFor = time.Millisecond })
		assert.Equal(t, outcome.Started, r.outcome.Name)
	})
}

func TestAskingGoesOnForHours(t *testing.T) {
	s := &sidecar{replies: []reply{refused}}
	r := decide(t, s, func(r *input.Request, _ context.CancelCauseFunc) { r.RetryFor = 3 * time.Hour })
	assert.InDelta(t, 3*time.Hour, r.took, float64(2*time.Second))
}

func TestTheFirstPauseIsHalfASecondGiveOrTakeHalfOfIt(t *testing.T) {
	shortest, longest := time.Hour, time.Duration(0)
	for range 300 {
		s := &sidecar{replies: []reply{refused, running}}
		r := decide(t, s, nil)
		shortest, longest = min(shortest, r.took), max(longest, r.took)
	}
	assert.InDelta(t, 250*time.Millisecond, shortest, float64(25*time.Millisecond))
	assert.InDelta(t, 750*time.Millisecond, longest, float64(25*time.Millisecond))
}

func TestPausesGrowAndDiffer(t *testing.T) {
	lengths := map[time.Duration]bool{}
	for range 20 {
		s := &sidecar{replies: []reply{refused}}
		decide(t, s, func(r *input.Request, _ context.CancelCauseFunc) { r.RetryMaxInterval = 30 * time.Second })
		first, third := s.asked[1].Sub(s.asked[0]), s.asked[5].Sub(s.asked[4])
		assert.Less(t, first, time.Second)
		assert.Greater(t, third, first)
		lengths[first] = true
	}
	assert.Greater(t, len(lengths), 10, "triggers that begin together don't ask in step")
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Run("longer than our own pause", func(t *testing.T) {
		s := &sidecar{replies: []reply{retryAfter(45 * time.Second), notFound}}
		r := decide(t, s, nil)
		assert.Equal(t, outcome.Started, r.outcome.Name)
		assert.GreaterOrEqual(t, s.asked[1].Sub(s.asked[0]), 45*time.Second)
	})
	t.Run("beyond the time left: give up now", func(t *testing.T) {
		s := &sidecar{replies: []reply{retryAfter(2 * time.Minute)}}
		r := decide(t, s, nil)
		assert.Equal(t, outcome.Undetermined, r.outcome.Name)
		assert.Zero(t, r.took)
		assert.Equal(t, "cannot tell whether cbw_a exists (the sidecar http://sidecar:3500 did not answer: 503, busy), refusing to start", r.outcome.Message())
		assert.Len(t, s.asked, 1)
	})
}

func TestAnAnswerThatDoesNotTellStopsAtOnce(t *testing.T) {
	for name, r := range map[string]reply{"a strange answer": strange, "an answer that says nothing": {}} {
		t.Run(name, func(t *testing.T) {
			s := &sidecar{replies: []reply{r}}
			run := decide(t, s, nil)
			assert.Equal(t, outcome.Undetermined, run.outcome.Name)
			assert.Len(t, s.asked, 1)
			assert.Zero(t, s.connected)
		})
	}
	t.Run("also after others that were not answered", func(t *testing.T) {
		s := &sidecar{replies: []reply{refused, strange}}
		r := decide(t, s, nil)
		assert.Equal(t, "cannot tell whether cbw_a exists (403, go away; asked http://sidecar:3500), refusing to start", r.outcome.Message())
	})
}

func TestAStartThatWasNotSentOrNotProcessedIsUnstarted(t *testing.T) {
	t.Run("no connection was made", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound}, connectErr: errors.New("connection refused")}
		r := decide(t, s, nil)
		assert.Equal(t, outcome.Unstarted, r.outcome.Name)
		assert.Equal(t, "cbw_a not started: connection refused; asked http://sidecar:3500", r.outcome.Message())
		assert.Len(t, s.asked, 1, "there is nothing to confirm")
	})
	t.Run("no connection within the start's limit", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound}, connect: time.Hour}
		r := decide(t, s, nil)
		assert.Equal(t, outcome.Unstarted, r.outcome.Name)
		assert.Equal(t, "cbw_a not started: no connection within 1m0s; asked http://sidecar:3500", r.outcome.Message())
		assert.Equal(t, time.Minute, r.took)
	})
	t.Run("turned away", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound}, startErr: &workflow.TurnedAway{Why: "429, busy"}}
		r := decide(t, s, nil)
		assert.Equal(t, outcome.Unstarted, r.outcome.Name)
		assert.Len(t, s.asked, 1)
	})
}

func TestARefusedStartIsRejected(t *testing.T) {
	s := &sidecar{replies: []reply{notFound}, startErr: &workflow.Refused{Answer: "400, ERR_X: no"}}
	r := decide(t, s, nil)
	assert.Equal(t, outcome.Rejected, r.outcome.Name)
	assert.Contains(t, r.outcome.Message(), "the sidecar refused to start cbw_a (400, ERR_X: no); ")
	assert.True(t, strings.HasSuffix(r.outcome.Message(), "delete the Job (kro recreates it at once)"))
	assert.Len(t, s.asked, 1)
}

func TestAStartWhoseAnswerIsLostIsConfirmedAndNeverRepeated(t *testing.T) {
	lost := errors.New("connection reset")
	for name, c := range map[string]struct {
		afterwards []reply
		want       outcome.Name
		says       string
	}{
		"it runs":                             {[]reply{running}, outcome.Started, "instance cbw_a started"},
		"it has completed already":            {[]reply{found("COMPLETED")}, outcome.Started, "instance cbw_a started"},
		"it appears late":                     {[]reply{notFound, notFound, running}, outcome.Started, "started"},
		"it stays PENDING for a while":        {[]reply{pending, pending, running}, outcome.Started, "started"},
		"the sidecar is away for a while":     {[]reply{refused, silent, running}, outcome.Started, "started"},
		"a strange answer comes between":      {[]reply{strange, running}, outcome.Started, "started"},
		"it is not there":                     {[]reply{notFound}, outcome.Unknown, "cbw_a may or may not have been started (the start: connection reset; asked since: the instance does not exist; asked http://sidecar:3500)"},
		"it stays PENDING":                    {[]reply{pending}, outcome.Unknown, "PENDING"},
		"it is stalled":                       {[]reply{found("UNKNOWN")}, outcome.Unknown, "UNKNOWN"},
		"the sidecar is gone":                 {[]reply{refused}, outcome.Unknown, "asked since: connection refused"},
		"the answers stay strange":            {[]reply{strange}, outcome.Unknown, "403"},
		"the sidecar wants a pause too long":  {[]reply{retryAfter(time.Hour)}, outcome.Unknown, "503"},
		"another workflow has got the ID now": {[]reply{{state: workflow.State{Answer: workflow.Found, WorkflowName: "V", RuntimeStatus: "RUNNING"}}}, outcome.Conflict, "runs V, not W"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sidecar{replies: append([]reply{notFound}, c.afterwards...), startErr: lost}
			r := decide(t, s, nil)
			assert.Equal(t, c.want, r.outcome.Name)
			assert.Contains(t, r.outcome.Message(), c.says)
			assert.Len(t, s.started, 1)
			assert.LessOrEqual(t, r.took, 30*time.Second+250*time.Millisecond)
		})
	}
	t.Run("asked for as long as confirm-for says", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound}, startErr: lost}
		r := decide(t, s, nil)
		assert.InDelta(t, 30, r.took.Seconds(), 1)
		assert.Equal(t, 5, r.outcome.Name.ExitCode())
	})
	t.Run("no answer within the start's limit", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound, running}, startLasting: true}
		r := decide(t, s, nil)
		assert.Equal(t, outcome.Started, r.outcome.Name)
		assert.Equal(t, time.Minute, s.startCut)
		assert.Contains(t, r.log, `why="no answer within 1m0s"`)
	})
	t.Run("connecting counts towards the start's limit", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound, notFound, running}, connect: 20 * time.Second, startLasting: true}
		decide(t, s, nil)
		assert.Equal(t, 40*time.Second, s.startCut)
	})
}
