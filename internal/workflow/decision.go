// Package workflow decides whether a workflow is started, and starts it: once, and only after the
// sidecar has said that the instance does not exist (SPEC sections 1 and 3).
//
// Dapr runs a completed instance again when it is started again. That, and a Job that a controller
// recreated every five minutes, is how one workflow ran 237 times in 20 hours; it is why the ask comes
// first and why nothing here ever sends a second start.
package workflow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/input"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/outcome"
)

// grace is what a signal leaves to a start that is under way, and again to confirming it. Both fit into
// the 30 s that Kubernetes waits before it kills.
const grace = 10 * time.Second

// Run makes the decision and returns how it ended. The context ends when the process is told to stop;
// its cause says by what.
func Run(ctx context.Context, log *slog.Logger, sidecar Sidecar, request input.Request) outcome.Outcome {
	d := &decision{log, sidecar, request, outcome.About{
		InstanceID: request.InstanceID, WorkflowName: request.WorkflowName, Sidecar: request.Sidecar.String()}}

	if d.expired() {
		return d.about.Expired(request.NotAfter.String())
	}
	begin := time.Now()
	state, err := d.ask(ctx)
	if end := d.judge(ctx, state, err, time.Since(begin)); end != nil {
		return *end
	}
	return d.start(ctx, state)
}

type decision struct {
	log     *slog.Logger
	sidecar Sidecar
	request input.Request
	about   outcome.About
}

func (d *decision) expired() bool { return d.request.NotAfter.Passed(time.Now()) }

func (d *decision) stopped(ctx context.Context) outcome.Outcome {
	return d.about.Unstarted(context.Cause(ctx).Error())
}

// judge returns the outcome that asking for that long leads to, or nil if the sidecar said that the instance
// does not exist.
func (d *decision) judge(ctx context.Context, state State, err error, took time.Duration) *outcome.Outcome {
	var notAnswered *NotAnswered
	switch {
	case err == nil && state.Answer == Found: // also when a signal came with it
		return new(d.found(state))
	case ctx.Err() != nil:
		return new(d.stopped(ctx))
	case errors.As(err, &notAnswered):
		return new(d.about.Unanswered(took.Round(100*time.Millisecond), err.Error()))
	case err != nil:
		return new(d.about.Undetermined(err.Error()))
	case state.Answer != NotFound:
		return new(d.about.Undetermined("the answer says nothing"))
	}
	return nil
}

// found is the outcome for an instance that is there already.
func (d *decision) found(state State) outcome.Outcome {
	if state.WorkflowName != "" && state.WorkflowName != d.request.WorkflowName {
		return d.about.Conflict(state.WorkflowName, state.RuntimeStatus)
	}
	return d.about.Exists(state.RuntimeStatus)
}

// ask asks until the sidecar answers or RetryFor is over.
func (d *decision) ask(ctx context.Context) (State, error) {
	return d.poll(ctx, d.request.RetryFor, func(_ State, err error) bool {
		var notAnswered *NotAnswered
		return errors.As(err, &notAnswered)
	})
}

// confirm finds out whether a start took whose answer was lost. An instance that is still PENDING proves
// nothing: a start that failed half-way leaves one that never runs.
func (d *decision) confirm(ctx context.Context, lost error) outcome.Outcome {
	d.log.Warn("the answer to the start was lost, asking whether it took", "why", lost, "for", d.request.ConfirmFor)
	ctx, cancel := outlive(ctx, grace)
	defer cancel()
	state, err := d.poll(ctx, d.request.ConfirmFor, func(state State, err error) bool {
		return err != nil || !settled(state)
	})
	why := fmt.Sprintf("the start: %v; asked since: ", lost)
	switch {
	case err != nil:
		return d.about.Unknown("", why+err.Error())
	case state.Answer != Found:
		return d.about.Unknown("", why+"the instance does not exist")
	case !settled(state):
		return d.about.Unknown(state.RuntimeStatus, why+"the instance is "+state.RuntimeStatus+", which proves nothing")
	}
	if found := d.found(state); found.Name == outcome.Conflict {
		return found
	}
	return d.about.Started(state.RuntimeStatus)
}

// settled says whether the instance is there for good: past PENDING, and not UNKNOWN, Dapr's word for one
// that is stalled.
func settled(state State) bool {
	return state.Answer == Found && state.RuntimeStatus != "PENDING" && state.RuntimeStatus != "UNKNOWN"
}

// outlive returns a context that ends as long as extra after ctx does, for what a signal must not cut off.
func outlive(ctx context.Context, extra time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(extra)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(fmt.Errorf("%w, and %v more were not enough", context.Cause(ctx), extra))
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel(context.Canceled)
	}
}
