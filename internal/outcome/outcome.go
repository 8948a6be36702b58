// Package outcome holds the ways a run of the trigger can end: their names, exit codes, messages and
// the JSON line that tells them (SPEC section 4).
package outcome

import (
	"fmt"
	"time"
)

// Name says how a run ended.
type Name string

// The outcomes. Only the first three exit with 0: the instance exists now, or its deadline has passed.
const (
	Started      Name = "started"
	Exists       Name = "exists"
	Expired      Name = "expired"
	Undetermined Name = "undetermined"
	Unstarted    Name = "unstarted"
	Rejected     Name = "rejected"
	Conflict     Name = "conflict"
	Unknown      Name = "unknown"
	Invalid      Name = "invalid"
)

// ExitCode returns the process's exit code: 0 done, 3 nothing was started and running again may help, 4
// and 9 running again can't help, 5 it may or may not have been started. A Job's podFailurePolicy is
// built on these. 1 and 2 are left to crashes: a panic exits with 2.
func (n Name) ExitCode() int {
	switch n {
	case Started, Exists, Expired:
		return 0
	case Undetermined, Unstarted:
		return 3
	case Rejected, Conflict:
		return 4
	case Unknown:
		return 5
	case Invalid:
		return 9
	}
	panic("no exit code for outcome " + string(n))
}

// An Outcome is how one run ended, and why.
type Outcome struct {
	Name          Name
	InstanceID    string
	WorkflowName  string
	RuntimeStatus string // what the sidecar last called the instance, "" if it did not say
	message       sentence
}

// Message returns the sentence that says what happened, whole and as it came.
func (o Outcome) Message() string { return o.message.String() }

// deleteJob ends the outcomes that fail the Job for good.
const deleteJob = "; a corrected ConfigMap does not revive a failed Job: delete the Job (kro recreates it at once)"

// About is what an outcome speaks of. Whatever speaks of an answer names the address that was asked.
type About struct {
	InstanceID   string
	WorkflowName string
	Sidecar      string // its address
}

func (a About) outcome(kind Name, status string, message ...any) Outcome {
	return Outcome{kind, a.InstanceID, a.WorkflowName, status, message}
}

func (a About) id() name         { return name(a.InstanceID) }
func (a About) sidecar() address { return address(a.Sidecar) }

// Started says that the one start took. The status is "" unless the sidecar was asked again.
func (a About) Started(status string) Outcome {
	return a.outcome(Started, status, "instance ", a.id(), " started")
}

// Exists says that there was nothing left to start.
func (a About) Exists(status string) Outcome {
	o := a.outcome(Exists, status, "instance ", a.id(), " already exists, not starting it again")
	switch status {
	case "PENDING", "UNKNOWN":
		o.message = append(o.message, " ("+status+": accepted, not running yet)")
	}
	return o
}

// Expired says that the deadline, in the user's own notation, is over.
func (a About) Expired(deadline string) Outcome {
	return a.outcome(Expired, "", "notAfter ", name(deadline), " has passed, not starting ", a.id())
}

// Undetermined says that the sidecar did not tell whether the instance exists.
func (a About) Undetermined(reason string) Outcome {
	return a.outcome(Undetermined, "", "cannot tell whether ", a.id(), " exists (", why(reason), "; asked ", a.sidecar(), "), refusing to start")
}

// Unanswered is Undetermined for a sidecar that was asked again and again; reason is what came back last. It may
// have been asked for no time at all: it can want a longer pause than there is time.
func (a About) Unanswered(took time.Duration, reason string) Outcome {
	asking := ""
	if took > 0 {
		asking = fmt.Sprintf(" for %v", took)
	}
	return a.outcome(Undetermined, "", "cannot tell whether ", a.id(), " exists (the sidecar ", a.sidecar(), " did not answer"+asking+": ",
		why(reason), "), refusing to start")
}

// Unstarted says that the instance did not exist, or was not asked for, and that no start was sent.
func (a About) Unstarted(reason string) Outcome {
	return a.outcome(Unstarted, "", a.id(), " not started: ", why(reason))
}

// TurnedAway is Unstarted by the sidecar, which could not be reached or did not take the start.
func (a About) TurnedAway(reason string) Outcome {
	return a.outcome(Unstarted, "", a.id(), " not started: ", why(reason), "; asked ", a.sidecar())
}

// Rejected says that the sidecar refused the start; answer is what it said.
func (a About) Rejected(answer string) Outcome {
	return a.outcome(Rejected, "", "the sidecar refused to start ", a.id(), " (", why(answer), "); asked ", a.sidecar(), deleteJob)
}

// Conflict says that the instance ID is taken by another workflow.
func (a About) Conflict(other, status string) Outcome {
	return a.outcome(Conflict, status, "instance ", a.id(), " exists but runs ", name(other), ", not ", name(a.WorkflowName))
}

// Unknown says that a start was sent and that nothing tells whether it took.
func (a About) Unknown(status, reason string) Outcome {
	return a.outcome(Unknown, status, a.id(), " may or may not have been started (", why(reason), "; asked ", a.sidecar(), ")")
}

// Invalid says that the settings or the input can't be used; problems holds them all, on one line.
func (a About) Invalid(problems string) Outcome {
	return a.outcome(Invalid, "", why(problems), deleteJob)
}
