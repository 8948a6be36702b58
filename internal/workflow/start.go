package workflow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/outcome"
)

// start connects, checks a last time, and sends. The limit of the start counts from here.
func (d *decision) start(ctx context.Context, state State) outcome.Outcome {
	if d.expired() {
		return d.about.Expired(d.request.NotAfter.String())
	}
	giveUp := time.Now().Add(d.request.StartTimeout)
	starter, err := d.connect(ctx, giveUp)
	switch {
	case err != nil && ctx.Err() != nil:
		return d.stopped(ctx)
	case err != nil:
		return d.about.TurnedAway(err.Error())
	}
	defer func() { _ = starter.Close() }()

	sending, cancel := outlive(ctx, grace)
	defer cancel()
	sending, cancel = context.WithDeadlineCause(sending, giveUp, fmt.Errorf("no answer within %v", d.request.StartTimeout))
	defer cancel()
	d.log.Info("connected, starting the instance, once, if the last check allows it", "timeout", d.request.StartTimeout)
	if end := d.lastCheck(ctx, state, giveUp); end != nil {
		return *end
	}
	return d.sent(ctx, starter.Start(sending)) // with nothing in between
}

func (d *decision) connect(ctx context.Context, giveUp time.Time) (Starter, error) {
	ctx, cancel := context.WithDeadlineCause(ctx, giveUp, fmt.Errorf("no connection within %v", d.request.StartTimeout))
	defer cancel()
	return d.sidecar.Connect(ctx)
}

const (
	// maxAge is how old a "not found" may be when the start goes out. Connecting can take as long as the
	// start, a pod can be frozen and a machine suspended; meanwhile somebody else's start may have come and
	// its run be over, and Dapr would run the instance again.
	maxAge = time.Second
	// maxRounds is how often a "not found" that is too old is asked for again. A sidecar that takes longer
	// than maxAge for each of them never says anything to start on.
	maxRounds = 3
)

// lastCheck returns nil if the start may go out now, or how the run ends. While an answer is too old it asks
// again, on a connection of its own beside the start's.
func (d *decision) lastCheck(ctx context.Context, state State, giveUp time.Time) *outcome.Outcome {
	var unanswered *NotAnswered
	for round := 0; ; round++ {
		old := age(state.Asked, time.Now())
		switch {
		case d.expired():
			return new(d.about.Expired(d.request.NotAfter.String()))
		case ctx.Err() != nil:
			return new(d.stopped(ctx))
		case !time.Now().Before(giveUp):
			return new(d.about.Unstarted(fmt.Sprintf("connecting and checking took all of the start's %v", d.request.StartTimeout)))
		case old <= maxAge:
			return nil
		case round == maxRounds || unanswered != nil && unanswered.RetryAfter > 0: // by then it would be too old again
			return new(d.about.TurnedAway(tooOld(old, unanswered)))
		}
		d.log.Warn("the answer is too old to start on, asking once more", "age", old.Round(time.Millisecond))
		unanswered = nil
		newer, err := d.askOnce(ctx, giveUp)
		d.log.Info("asked whether the instance exists", "answer", describe(newer, err))
		if errors.As(err, &unanswered) {
			continue
		}
		if end := d.judge(ctx, newer, err, 0); end != nil {
			return end
		}
		state = newer
	}
}

func tooOld(age time.Duration, unanswered *NotAnswered) string {
	why := fmt.Sprintf("it was not there %v before the start could go out, at most %v is allowed, and asking again did not help",
		age.Round(100*time.Millisecond), maxAge)
	if unanswered != nil {
		why += ": " + unanswered.Why
	}
	return why
}

// age returns how long ago something was asked, by the clock that says longer: the monotonic one stands still
// while a machine is suspended, and the wall clock can be set back.
func age(asked, now time.Time) time.Duration {
	return max(now.Sub(asked), now.Round(0).Sub(asked.Round(0)))
}

// sent is the outcome of a start that went out.
func (d *decision) sent(ctx context.Context, err error) outcome.Outcome {
	var turnedAway *TurnedAway
	var refused *Refused
	switch {
	case err == nil:
		return d.about.Started("")
	case errors.As(err, &turnedAway):
		return d.about.TurnedAway(turnedAway.Why)
	case errors.As(err, &refused):
		return d.about.Rejected(refused.Answer)
	}
	return d.confirm(ctx, err)
}
