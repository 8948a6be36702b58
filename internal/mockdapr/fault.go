package mockdapr

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Fault is something that goes wrong with the next requests of one kind.
type Fault struct {
	Request    string        // get or start
	Name       string        // status for an HTTP status, or a name of the list in FaultHelp
	Status     int           // of a status
	Duration   time.Duration // of refuse, delay and hold
	RetryAfter time.Duration // of a status, in whole seconds, 0 for none
	Times      int           // how many requests it meets
}

// FaultHelp lists the faults, as ParseFault takes them.
const FaultHelp = `a fault is "get" or "start", what goes wrong, and how often ("x3", once by default):
  STATUS [retry-after DURATION]   answered with that HTTP status, as in "get 503 x3"; nothing is started;
                      a retry-after, as in "get 429 retry-after 5s", is in whole seconds
  refuse DURATION     the port is closed: for get at once, for start once a get has been answered
  drop-request        the connection is closed, the request lost
  drop-response       the request takes effect, then the connection is closed and the answer lost
  delay DURATION      the request takes effect at once, its answer comes that much later
  hold DURATION       (start) as if the worker came that much later; a client that hangs up before
                      leaves nothing behind
  half                the request takes effect, half of the answer comes
  garbage             answered with 200 and a body that is not JSON; nothing is started
  not-http            answered with bytes that are not HTTP; nothing is started
  redirect            answered with 307 to the same path; nothing is started
  pending             (start) 500, and an instance stays behind that is PENDING for ever
  ok                  nothing goes wrong, as in "get ok" before a fault that is to meet the second ask`

// The faults that take a duration, and those that only a start has.
var (
	timed     = []string{"refuse", "delay", "hold"}
	untimed   = []string{"drop-request", "drop-response", "half", "garbage", "not-http", "redirect", "pending", "ok"}
	startOnly = []string{"hold", "pending"}
)

// ParseFault parses a fault such as "get 503 x3" or "start delay 3s". Its error lists them all.
func ParseFault(text string) (Fault, error) {
	f, ok := parseFault(strings.Fields(text))
	if !ok {
		return Fault{}, fmt.Errorf("unknown fault %q: %s", text, FaultHelp)
	}
	return f, nil
}

func parseFault(words []string) (f Fault, ok bool) {
	if len(words) < 2 || (words[0] != "get" && words[0] != "start") {
		return f, false
	}
	f = Fault{Request: words[0], Name: words[1], Times: 1}
	words = words[2:]
	if n := len(words); n > 0 {
		if times, found := strings.CutPrefix(words[n-1], "x"); found {
			var err error
			if f.Times, err = strconv.Atoi(times); err != nil || f.Times < 1 {
				return f, false
			}
			words = words[:n-1]
		}
	}
	duration := func(words []string, to *time.Duration) bool {
		if len(words) != 1 {
			return false
		}
		d, err := time.ParseDuration(words[0])
		*to = d
		return err == nil && d > 0
	}
	if status, err := strconv.Atoi(f.Name); err == nil && status >= 200 && status <= 999 {
		f.Name, f.Status = "status", status
		return f, len(words) == 0 ||
			words[0] == "retry-after" && duration(words[1:], &f.RetryAfter) && f.RetryAfter%time.Second == 0
	}
	if slices.Contains(startOnly, f.Name) && f.Request != "start" {
		return f, false
	}
	if slices.Contains(timed, f.Name) {
		return f, duration(words, &f.Duration)
	}
	return f, slices.Contains(untimed, f.Name) && len(words) == 0
}

// String returns the fault as ParseFault takes it, without how often.
func (f Fault) String() string {
	switch {
	case f.Name == "":
		return ""
	case f.Status != 0:
		return fmt.Sprintf("%s %d", f.Request, f.Status)
	case f.Duration != 0:
		return fmt.Sprintf("%s %s %v", f.Request, f.Name, f.Duration)
	}
	return f.Request + " " + f.Name
}

// faults are the faults still to come, in order, for each kind of request.
type faults struct {
	mu    sync.Mutex
	queue map[string][]Fault
}

func newFaults(all []Fault) *faults {
	f := &faults{queue: map[string][]Fault{}}
	for _, fault := range all {
		f.queue[fault.Request] = append(f.queue[fault.Request], fault)
	}
	return f
}

// take returns the fault that meets the next request of a kind, or the zero Fault.
func (f *faults) take(request string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	queue := f.queue[request]
	if len(queue) == 0 || queue[0].Name == "refuse" {
		return Fault{}
	}
	fault := queue[0]
	if queue[0].Times--; queue[0].Times == 0 {
		f.queue[request] = queue[1:]
	}
	return fault
}

// refusal takes a refuse that has come to the head of its queue, and returns how long it lasts.
func (f *faults) refusal(request string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	queue := f.queue[request]
	if len(queue) == 0 || queue[0].Name != "refuse" {
		return 0
	}
	f.queue[request] = queue[1:]
	return queue[0].Duration * time.Duration(queue[0].Times)
}

// hijack takes the connection away from net/http, to say something on it that no server should. It is
// closed afterwards.
func hijack(w http.ResponseWriter, say string) {
	conn, buffer, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the client is gone
	}
	_, _ = buffer.WriteString(say)
	_ = buffer.Flush()
	_ = conn.Close()
}
