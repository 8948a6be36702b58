package workflow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
)

const (
	// firstPause is short enough for a sidecar that starts beside us, and long enough that 200 triggers
	// waiting for one sidecar don't ask it much more than 200 times a second.
	firstPause = 500 * time.Millisecond
	// jitter is the part of a pause, up or down, that is left to chance.
	jitter = 0.5
	// lastAsk is what an ask is given at least. The pause before the last one is shortened to leave it.
	lastAsk = 250 * time.Millisecond
)

// poll asks, at once and then with pauses, until again does not want another answer or timeLimit, the ask
// under way included, is over. It returns the last answer. A reader of the log sees every ask.
func (d *decision) poll(ctx context.Context, timeLimit time.Duration, again func(State, error) bool) (State, error) {
	end := time.Now().Add(timeLimit)
	pauses := newPauses(d.request.RetryMaxInterval)
	for attempt := 1; ; attempt++ {
		state, err := d.askOnce(ctx, end)
		log := d.log.With("attempt", attempt, "answer", describe(state, err))
		if !again(state, err) {
			log.Info("asked whether the instance exists")
			return state, err
		}
		if ctx.Err() != nil {
			return state, context.Cause(ctx)
		}
		pause, enough := nextPause(pauses.NextBackOff(), time.Until(end), err)
		if !enough {
			log.Warn("asked whether the instance exists, giving up")
			return state, err
		}
		log.Warn("asked whether the instance exists, asking again",
			"in", pause.Round(time.Millisecond), "left", time.Until(end).Round(time.Millisecond))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return state, context.Cause(ctx)
		}
	}
}

func (d *decision) askOnce(ctx context.Context, end time.Time) (State, error) {
	limit := min(d.request.RequestTimeout, max(time.Until(end), lastAsk))
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit.Round(time.Millisecond)))
	defer cancel()
	return d.sidecar.Exists(ctx)
}

// newPauses returns the pauses between asks: growing, never longer than longest with the jitter that
// comes on top, no two alike.
func newPauses(longest time.Duration) backoff.BackOff {
	longest = max(time.Duration(float64(longest)/(1+jitter)), 1)
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(min(firstPause, longest)),
		backoff.WithMaxInterval(longest),
		backoff.WithRandomizationFactor(jitter),
		backoff.WithMaxElapsedTime(0), // poll itself knows when to stop
	)
}

// nextPause returns the pause before the next ask, and whether the time left is enough for one. A pause
// that the sidecar asked for is kept to; the others end early enough for a last ask.
func nextPause(pause, left time.Duration, err error) (time.Duration, bool) {
	pause = min(pause, left-lastAsk)
	var notAnswered *NotAnswered
	if errors.As(err, &notAnswered) && notAnswered.RetryAfter > 0 {
		return max(pause, notAnswered.RetryAfter), notAnswered.RetryAfter < left
	}
	return pause, pause > 0
}

// describe says in a few words what came back.
func describe(state State, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case state.Answer == Found:
		return "it exists, " + state.RuntimeStatus
	case state.Answer == NotFound:
		return "it does not exist"
	}
	return "nothing"
}
