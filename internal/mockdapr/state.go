package mockdapr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// The runtime statuses that the mock gives an instance, in Dapr's words.
const (
	pending    = "PENDING"
	running    = "RUNNING"
	suspended  = "SUSPENDED"
	completed  = "COMPLETED"
	failed     = "FAILED"
	terminated = "TERMINATED"
)

// An instance is one workflow run.
type instance struct {
	id      string
	name    string
	input   []byte
	status  string
	created time.Time
	updated time.Time
	ends    time.Time // when it completes; zero: when it is told to
	failure string

	terminating bool // told to terminate while suspended, which waits for the resume
}

func (i *instance) active() bool {
	return i.status == pending || i.status == running || i.status == suspended
}

// properties are what daprd tells of an instance besides its status. One that never ran has none.
func (i *instance) properties() map[string]string {
	if i.status == pending {
		return nil
	}
	p := map[string]string{"dapr.workflow.input": string(i.input)}
	switch i.status {
	case completed:
		p["dapr.workflow.output"] = "null"
	case failed:
		p["dapr.workflow.failure.error_message"] = i.failure
		p["dapr.workflow.failure.error_type"] = "*errors.errorString"
	}
	return p
}

// store is what Dapr's state store and its worker are to the workflow API.
type store struct {
	duration  time.Duration // how long a workflow runs; 0: until it is told to end
	workerAt  time.Time     // when the worker connects
	workflows []string      // the names the worker registered; none: all of them

	mu        sync.Mutex
	instances map[string]*instance
	starts    map[string]int
}

var errNotFound = errors.New("no such instance exists")

// startRetries are the pauses between daprd's own attempts to start an active instance over HTTP.
var startRetries = []time.Duration{time.Second, time.Second, time.Second}

// get returns a copy of an instance.
func (s *store) get(id string) (instance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.lookup(id)
	if i == nil {
		return instance{}, errNotFound
	}
	return *i, nil
}

// lookup brings an instance up to date. It wants the lock.
func (s *store) lookup(id string) *instance {
	i := s.instances[id]
	if i != nil && i.status == running && !i.ends.IsZero() && !time.Now().Before(i.ends) {
		i.status, i.updated = completed, i.ends
	}
	return i
}

// start does what daprd does with a start: it waits for a worker, tries an active instance again for 3 s,
// and lets a completed one run again. A client that hangs up meanwhile leaves nothing behind.
func (s *store) start(ctx context.Context, name, id string, input []byte) error {
	if err := wait(ctx, time.Until(s.workerAt)); err != nil {
		return err
	}
	for _, pause := range startRetries {
		if s.tryStart(name, id, input) {
			return nil
		}
		if err := wait(ctx, pause); err != nil {
			return err
		}
	}
	if s.tryStart(name, id, input) {
		return nil
	}
	return errActive(id)
}

func errActive(id string) error {
	return fmt.Errorf("unable to start workflow: failed to start workflow: an active workflow with ID '%s' already exists", id)
}

func (s *store) tryStart(name, id string, input []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.lookup(id); i != nil && i.active() {
		return false
	}
	now := time.Now()
	i := &instance{id: id, name: name, input: input, status: running, created: now, updated: now}
	if s.duration > 0 {
		i.ends = now.Add(s.duration)
	}
	if len(s.workflows) > 0 && !slices.Contains(s.workflows, name) {
		i.status, i.failure = failed, fmt.Sprintf("workflow named '%s' is not registered", name)
	}
	s.instances[id] = i
	s.starts[id]++
	return true
}

// leavePending leaves what a start that failed half-way does on 1.15 and 1.16: an instance that never runs.
func (s *store) leavePending(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instances[id] = &instance{id: id, status: pending}
}

// A change is what the API can do to an instance besides starting it.
type change struct {
	make    func(id string) error
	code    string // the error code, if it can't be made
	doing   string // the error message's word for it
	unknown int    // the HTTP status for an instance that does not exist
}

// changes returns the changes by the word that stands for them in a path.
func (s *store) changes() map[string]change {
	active := func(become func(*instance)) func(string) error {
		return func(id string) error {
			return s.update(id, func(i *instance) error {
				if i.active() { // one that has ended stays as it is
					become(i)
					i.updated = time.Now()
				}
				return nil
			})
		}
	}
	return map[string]change{
		"terminate":          {active(terminate), "ERR_TERMINATE_WORKFLOW", "terminating", 404},
		"pause":              {active(func(i *instance) { i.status = suspended }), "ERR_PAUSE_WORKFLOW", "pausing", 500},
		"resume":             {active(resume), "ERR_RESUME_WORKFLOW", "resuming", 500},
		"raiseEvent/{event}": {active(func(*instance) {}), "ERR_RAISE_EVENT_WORKFLOW", "raising event on", 500},
		"purge":              {s.purge, "ERR_PURGE_WORKFLOW", "purging", 404},
	}
}

func terminate(i *instance) {
	if i.status == suspended {
		i.terminating = true
		return
	}
	i.status = terminated
}

func resume(i *instance) {
	i.status = running
	if i.terminating {
		i.status = terminated
	}
}

// update makes a change to an instance that exists.
func (s *store) update(id string, change func(*instance) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.lookup(id)
	if i == nil {
		return errNotFound
	}
	return change(i)
}

// purge forgets an instance that has ended.
func (s *store) purge(id string) error {
	return s.update(id, func(i *instance) error {
		if i.active() {
			return errors.New("failed to purge workflow state: orchestration has not yet completed")
		}
		delete(s.instances, id)
		return nil
	})
}

func (s *store) counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.starts)
}

// wait waits, unless the client hangs up before.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
