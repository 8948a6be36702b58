package workflow

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/input"
)

// errNotFound is how daprd says that there is no such instance. Any other 404 is a wrong path, a wrong
// port or somebody else's.
const errNotFound = "ERR_INSTANCE_ID_NOT_FOUND"

// HTTP is a sidecar spoken to over Dapr's HTTP API, HTTP/1.1 alone.
type HTTP struct {
	instanceID string
	address    input.Address
	tls        *tls.Config
	exchanger  exchanger

	// The requests, written out, so that nothing is left to do but to send them.
	ask   []byte
	start []byte
}

// NewHTTP returns the sidecar at request.Sidecar, an http:// or https:// address. An error means that a request
// can't be made of the settings, which no asking again would change.
func NewHTTP(request input.Request, userAgent string) (*HTTP, error) {
	// daprd takes a + in a path for a blank, as in a query.
	name := strings.ReplaceAll(url.PathEscape(request.WorkflowName), "+", "%2B")
	ask, err := newRequest(request, userAgent, http.MethodGet, request.InstanceID)
	if err != nil {
		return nil, err
	}
	start, err := newRequest(request, userAgent, http.MethodPost, name+"/start?instanceID="+url.QueryEscape(request.InstanceID))
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(request.Sidecar.Host)
	if err != nil {
		return nil, err
	}
	host, _, _ = strings.Cut(host, "%") // no certificate holds an IPv6 zone
	return &HTTP{instanceID: request.InstanceID, address: request.Sidecar, tls: &tls.Config{ServerName: host}, ask: ask, start: start}, nil
}

// Exists implements Sidecar.
func (s *HTTP) Exists(ctx context.Context) (State, error) {
	conn, err := s.dial(ctx)
	if err != nil {
		return State{}, notExchanged(ctx, err)
	}
	asked := time.Now()
	reply, err := s.exchanger.exchange(ctx, conn, s.ask)
	if err != nil {
		return State{}, notExchanged(ctx, err)
	}
	said, err := parseAnswer(ctx, reply.body)
	if ctx.Err() != nil {
		return State{}, &NotAnswered{Why: explain(ctx, err)}
	}
	state, err := s.told(reply, said, said.describe(reply, err))
	state.Asked = asked
	return state, err
}

// told returns what the answer to an ask means; why says what it was.
func (s *HTTP) told(reply reply, said answer, why string) (State, error) {
	age, cached := reply.header["Age"]
	switch {
	case cached:
		return State{}, &CannotTell{fmt.Sprintf("a cache answered in the sidecar's place, with an Age of %q: %s", age, why)}
	case !reply.whole:
		return State{}, &NotAnswered{Why: why + ", before the whole ask had been sent"}
	}
	switch reply.status {
	case http.StatusOK:
		if said.InstanceID == s.instanceID && said.RuntimeStatus != "" {
			return State{Answer: Found, WorkflowName: said.WorkflowName, RuntimeStatus: said.RuntimeStatus}, nil
		}
	case http.StatusNotFound:
		if said.ErrorCode == errNotFound {
			return State{Answer: NotFound}, nil
		}
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		pause := retryAfter(reply.header, time.Now())
		if pause > 0 {
			why += fmt.Sprintf("; it wants a pause of %v", pause.Round(time.Second))
		}
		return State{}, &NotAnswered{why, pause}
	}
	return State{}, &CannotTell{why}
}

// notExchanged is an ask to which no whole answer came.
func notExchanged(ctx context.Context, err error) error {
	if errors.Is(err, errTooLarge) || isCertificate(err) {
		return &CannotTell{explain(ctx, err)}
	}
	return &NotAnswered{Why: explain(ctx, err)}
}

// Connect implements Sidecar.
func (s *HTTP) Connect(ctx context.Context) (Starter, error) {
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, errors.New(explain(ctx, err))
	}
	return &httpStarter{s, conn}, nil
}

// httpStarter is the start, ready to be sent on a connection of its own.
type httpStarter struct {
	sidecar *HTTP
	conn    net.Conn
}

func (s *httpStarter) Close() error { return s.conn.Close() }

// Start implements Starter.
func (s *httpStarter) Start(ctx context.Context) error {
	reply, err := s.sidecar.exchanger.exchange(ctx, s.conn, s.sidecar.start)
	if err != nil {
		return &NotKnown{explain(ctx, err)}
	}
	said, err := parseAnswer(ctx, reply.body)
	why := said.describe(reply, err)
	switch status := reply.status; {
	case status >= 200 && status <= 299 && said.InstanceID == s.sidecar.instanceID:
		if reply.whole {
			return nil
		}
		return &NotKnown{why + ", before the whole start had been sent"}
	case status == http.StatusTooManyRequests:
		return &TurnedAway{why}
	case status >= 300 && status <= 499 && status != http.StatusRequestTimeout:
		return &Refused{why}
	}
	return &NotKnown{why}
}

// newRequest returns a request to a path below the workflow API's, a GET to ask or a POST to start.
func newRequest(settings input.Request, userAgent, method, path string) ([]byte, error) {
	request, err := http.NewRequest(method, settings.Sidecar.String()+"/v1.0/workflows/dapr/"+path, nil)
	if err != nil {
		return nil, err
	}
	var written bytes.Buffer
	if method == http.MethodGet {
		request.Header.Set("Cache-Control", "no-cache") // a 404 may be cached by default
	} else {
		request.Body = io.NopCloser(bytes.NewReader(settings.Input))
		request.ContentLength = int64(len(settings.Input))
		request.Header.Set("Content-Type", "application/json")
		written.Grow(len(settings.Input) + 4<<10)
	}
	request.Header.Set("User-Agent", userAgent)
	if settings.Token != "" {
		request.Header.Set("dapr-api-token", settings.Token)
	}
	request.Close = true
	err = request.Write(&written)
	return written.Bytes(), err
}

// dial makes a fresh connection, over https with TLS and the certificate verified.
func (s *HTTP) dial(ctx context.Context) (net.Conn, error) {
	if s.address.Scheme == "https" {
		return (&tls.Dialer{Config: s.tls}).DialContext(ctx, "tcp", s.address.Host)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", s.address.Host)
}

// retryAfter returns the pause that an answer asks for: a number of seconds or a date. One too large to
// count is a very long one.
func retryAfter(header http.Header, now time.Time) time.Duration {
	const veryLong = 100 * 365 * 24 * time.Hour
	text := header.Get("Retry-After")
	seconds, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err == nil && seconds < uint64(veryLong/time.Second):
		return time.Duration(seconds) * time.Second
	case err == nil, errors.Is(err, strconv.ErrRange):
		return veryLong
	}
	date, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return max(date.Sub(now), 0)
}
