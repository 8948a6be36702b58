// Package mockdapr is a stand-in for daprd's workflow API, from memory. It answers as a real daprd 1.18
// was measured to, and it fails on request: for laptops without Dapr, and for tests of what a sidecar can
// do wrong.
package mockdapr

import (
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Options say what a Sidecar is like. The zero Options make one with all workflows registered, whose
// instances run until they are terminated.
type Options struct {
	Address     string        // host:port to listen on, 127.0.0.1:0 by default
	Duration    time.Duration // how long a workflow runs; 0: until it is terminated
	WorkerAfter time.Duration // when the worker connects; until then daprd holds every start
	Workflows   []string      // the registered names; a run of any other fails. None: all are registered
	Token       string        // the API token that requests must carry; "" for none
	Faults      []Fault       // what goes wrong, in order
}

// A Sidecar serves the workflow API until it is closed.
type Sidecar struct {
	store   *store
	faults  *faults
	journal *journal
	token   string
	address string
	local   string
	server  *http.Server

	mu       sync.Mutex
	listener net.Listener // nil while the port is closed
	closed   bool
}

// Start starts a Sidecar. When it returns, the port is open, unless a fault closes it.
func Start(o Options) (*Sidecar, error) {
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, err
	}
	s := &Sidecar{
		store: &store{
			duration: o.Duration, workerAt: time.Now().Add(o.WorkerAfter), workflows: o.Workflows,
			instances: map[string]*instance{}, starts: map[string]int{},
		},
		faults:  newFaults(o.Faults),
		journal: &journal{},
		token:   o.Token,
		address: listener.Addr().String(),
		local:   local(o.Address, listener.Addr().String()),
	}
	s.server = &http.Server{Handler: s.handler(), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)}
	s.serve(listener)
	s.refuse("get")
	return s, nil
}

// local returns the address by which this machine reaches a listener, given the one asked for: a listener
// on all addresses of IPv4 says that it is on all of IPv6, whose loopback not every machine has.
func local(asked, got string) string {
	host, port, _ := net.SplitHostPort(got) // it listens there
	if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
		return got
	}
	if asked, _, _ := net.SplitHostPort(asked); net.ParseIP(asked).Equal(net.IPv6unspecified) {
		return net.JoinHostPort("::1", port)
	}
	return net.JoinHostPort("127.0.0.1", port)
}

// Address returns the host:port that the sidecar listens on.
func (s *Sidecar) Address() string { return s.address }

// LocalAddress returns the host:port by which this machine reaches the sidecar: the one that it listens on,
// or the loopback if it listens on all of them.
func (s *Sidecar) LocalAddress() string { return s.local }

// URL returns the address of the HTTP API for clients on this machine.
func (s *Sidecar) URL() string {
	u := url.URL{Scheme: "http", Host: s.local}
	return u.String()
}

// Starts returns how many starts took effect, by instance ID: each is one run of the workflow. A purge
// does not take one back.
func (s *Sidecar) Starts() map[string]int { return s.store.counts() }

// Requests returns what reached the API, in order.
func (s *Sidecar) Requests() []Request { return s.journal.all() }

// Close stops the sidecar and cuts its connections.
func (s *Sidecar) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	return s.server.Close()
}

func (s *Sidecar) serve(listener net.Listener) {
	s.mu.Lock()
	s.listener = listener
	s.mu.Unlock()
	go func() { _ = s.server.Serve(listener) }() // until the listener is closed
}

// refuse closes the port if the next fault for this kind of request says so, and opens it again later.
func (s *Sidecar) refuse(request string) {
	lasts := s.faults.refusal(request)
	if lasts == 0 {
		return
	}
	s.mu.Lock()
	if s.listener != nil {
		_ = s.listener.Close()
		s.listener = nil
	}
	s.mu.Unlock()
	time.AfterFunc(lasts, s.reopen)
}

func (s *Sidecar) reopen() {
	s.mu.Lock()
	open := s.closed || s.listener != nil
	s.mu.Unlock()
	if open {
		return
	}
	listener, err := net.Listen("tcp", s.address)
	if err != nil { // somebody took the port meanwhile
		time.AfterFunc(100*time.Millisecond, s.reopen)
		return
	}
	s.serve(listener)
	s.refuse("get")
}
