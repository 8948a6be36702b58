package workflow_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/input"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/outcome"
)

func TestASignalBeforeTheStartEndsItAtOnceAndSendsNothing(t *testing.T) {
	const told = "cbw_a not started: told to stop (terminated)"
	for name, c := range map[string]struct {
		sidecar sidecar
		at      time.Duration
	}{
		"while an ask is not answered":   {sidecar{replies: []reply{silent}}, 3 * time.Second},
		"in the pause between two asks":  {sidecar{replies: []reply{refused}}, 10 * time.Millisecond},
		"while connecting for the start": {sidecar{replies: []reply{notFound}, connect: time.Minute}, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			r := decide(t, &c.sidecar, signalAfter(c.at))
			assert.Equal(t, outcome.Unstarted, r.outcome.Name)
			assert.Equal(t, told, r.outcome.Message())
			assert.Equal(t, c.at, r.took)
			assert.Empty(t, c.sidecar.started)
		})
	}
	t.Run("together with the answer", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound}}
		r := decide(t, s, func(_ *input.Request, stop context.CancelCauseFunc) {
			s.onConnect = func() { stop(errors.New("told to stop (terminated)")) }
		})
		assert.Equal(t, told, r.outcome.Message())
		assert.Empty(t, s.started)
	})
	t.Run("but one that comes with the answer that it exists changes nothing", func(t *testing.T) {
		s := &sidecar{replies: []reply{running}}
		r := decide(t, s, func(_ *input.Request, stop context.CancelCauseFunc) {
			s.onAsk = func() { stop(errors.New("told to stop (terminated)")) }
		})
		assert.Equal(t, outcome.Exists, r.outcome.Name)
	})
	t.Run("before the first ask", func(t *testing.T) {
		s := &sidecar{replies: []reply{silent}}
		r := decide(t, s, func(_ *input.Request, stop context.CancelCauseFunc) { stop(errors.New("told to stop (terminated)")) })
		assert.Equal(t, told, r.outcome.Message())
		assert.Zero(t, r.took)
	})
}

func TestASignalDoesNotCutAStartOff(t *testing.T) {
	t.Run("it is given ten seconds more", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound}, startTakes: 12 * time.Second}
		r := decide(t, s, signalAfter(3*time.Second))
		assert.Equal(t, outcome.Started, r.outcome.Name)
		assert.Equal(t, 12*time.Second, r.took)
	})
	t.Run("and not more", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound, running}, startLasting: true}
		r := decide(t, s, signalAfter(3*time.Second))
		assert.Equal(t, outcome.Started, r.outcome.Name)
		assert.Equal(t, 13*time.Second, s.startCut)
	})
	t.Run("nor more than its own limit", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound, running}, startLasting: true}
		decide(t, s, signalAfter(59*time.Second))
		assert.Equal(t, time.Minute, s.startCut)
	})
	t.Run("confirming gets ten seconds, so that all of it fits into thirty", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound}, startLasting: true}
		r := decide(t, s, signalAfter(3*time.Second))
		assert.Equal(t, outcome.Unknown, r.outcome.Name)
		assert.Equal(t, 23*time.Second, r.took)
		assert.Contains(t, r.outcome.Message(), "told to stop (terminated), and 10s more were not enough")
	})
	t.Run("a signal while confirming leaves ten seconds", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound}, startErr: errors.New("connection reset")}
		r := decide(t, s, signalAfter(5*time.Second))
		assert.Equal(t, outcome.Unknown, r.outcome.Name)
		assert.Equal(t, 15*time.Second, r.took)
	})
	t.Run("an instance found while confirming after a signal is started", func(t *testing.T) {
		s := &sidecar{replies: []reply{notFound, notFound, notFound, running}, startErr: errors.New("connection reset")}
		r := decide(t, s, signalAfter(time.Millisecond))
		assert.Equal(t, outcome.Started, r.outcome.Name)
	})
}
