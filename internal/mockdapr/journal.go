package mockdapr

import (
	"slices"
	"sync"
	"time"
	"unicode/utf8"
)

// maxJournal is how many requests are kept; those that come later are not.
const maxJournal = 10_000

// A Request is what reached the API, whatever became of it.
type Request struct {
	Time       time.Time `json:"time"`
	Method     string    `json:"method"`
	Path       string    `json:"path"`  // as it stood on the wire
	Query      string    `json:"query"` // as it stood on the wire
	InstanceID string    `json:"instanceID,omitempty"`
	Body       string    `json:"body"`                 // byte for byte, if it is UTF-8
	BodyBytes  []byte    `json:"bodyBase64,omitempty"` // if it is not
	Token      bool      `json:"token"`                // whether it carried an API token
	Fault      string    `json:"fault,omitempty"`      // what was made to go wrong
}

type journal struct {
	mu       sync.Mutex
	requests []Request
}

func (j *journal) add(r Request, body []byte) {
	if utf8.Valid(body) {
		r.Body = string(body)
	} else {
		r.BodyBytes = body
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.requests) < maxJournal {
		j.requests = append(j.requests, r)
	}
}

func (j *journal) all() []Request {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.requests)
}
