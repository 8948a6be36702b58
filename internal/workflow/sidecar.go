package workflow

import (
	"context"
	"time"
)

// A Sidecar is what the decision needs of daprd. It is implemented once for each of daprd's APIs.
type Sidecar interface {
	// Exists asks once whether the instance exists. Its errors are *NotAnswered and *CannotTell.
	Exists(ctx context.Context) (State, error)

	// Connect makes the connection for the start and sends nothing of the start itself, so that a
	// deadline or a signal that comes while connecting still prevents it. Any error means that nothing
	// was sent.
	Connect(ctx context.Context) (Starter, error)
}

// A Starter sends the start on the connection it stands for.
type Starter interface {
	// Start sends the one request that creates the instance. It is called once at most. nil means that
	// the sidecar accepted it. Its errors are *TurnedAway, *Refused and, for all that leaves open
	// whether the start took, *NotKnown.
	Start(ctx context.Context) error

	Close() error
}

// Answer is what the sidecar said of the instance. The zero Answer says nothing, so that an answer that
// somebody forgot to fill in never leads to a start.
type Answer int

// The answers.
const (
	NoAnswer Answer = iota
	Found
	NotFound // in so many words
)

// A State is the instance as the sidecar describes it.
type State struct {
	Answer        Answer
	WorkflowName  string // "" if the sidecar does not say, as 1.16 for a PENDING one
	RuntimeStatus string // Dapr's word, such as RUNNING

	// Asked is when the ask went out on its connection. How long the answer took on its way, or lay unread
	// in a process that was frozen, nobody can tell; so it counts as old as this.
	Asked time.Time
}

// NotAnswered is an ask that may be answered the next time.
type NotAnswered struct {
	Why        string
	RetryAfter time.Duration // the pause that the sidecar asked for, 0 for none
}

func (e *NotAnswered) Error() string { return e.Why }

// CannotTell is an ask whose answer neither says that the instance exists nor that it does not, and that
// asking again would not change.
type CannotTell struct{ Why string }

func (e *CannotTell) Error() string { return e.Why }

// TurnedAway is a start that the sidecar did not process.
type TurnedAway struct{ Why string }

func (e *TurnedAway) Error() string { return e.Why }

// Refused is a start that the sidecar will never accept.
type Refused struct{ Answer string }

func (e *Refused) Error() string { return e.Answer }

// NotKnown is a start that may have taken.
type NotKnown struct{ Why string }

func (e *NotKnown) Error() string { return e.Why }
