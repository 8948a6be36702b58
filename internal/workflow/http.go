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

// maxAnswer is what of an answer is read, in bytes: an ask's carries the workflow's whole input and
// output, escaped.
const maxAnswer = 32 << 20

// errNotFound is how daprd says that there is no such instance. Any other 404 is a wrong path, a wrong
// port or somebody else's.
const errNotFound = "ERR_INSTANCE_ID_NOT_FOUND"

// HTTP is a sidecar spoken to over Dapr's HTTP API.
//
// It uses no http.Client, and so follows no redirect; no proxy; and HTTP/1.1 alone, since Go's HTTP/2
// resends a request by itself when the server resets its stream.
type HTTP struct {
	request   input.Request
	userAgent string
	dial      dialFunc // TCP
	dialTLS   dialFunc // TCP and TLS, handshake done
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// NewHTTP returns the sidecar at request.Sidecar, an http:// or https:// address.
func NewHTTP(request input.Request, userAgent string) *HTTP {
	dialer := &net.Dialer{}
	return &HTTP{request, userAgent, dialer.DialContext, (&tls.Dialer{NetDialer: dialer}).DialContext}
}

// Exists implements Sidecar.
func (s *HTTP) Exists(ctx context.Context) (State, error) {
	status, header, body, err := s.roundTrip(ctx, newTransport(s.dial, s.dialTLS), http.MethodGet, s.request.InstanceID, nil)
	switch {
	case errors.Is(err, errTooLarge), err != nil && isCertificate(err):
		return State{}, &CannotTell{explain(ctx, err)}
	case err != nil:
		return State{}, &NotAnswered{Why: explain(ctx, err)}
	}
	said := parseAnswer(body)
	switch status {
	case http.StatusOK:
		if said.InstanceID == s.request.InstanceID && said.RuntimeStatus != "" {
			return State{Found, said.WorkflowName, said.RuntimeStatus}, nil
		}
	case http.StatusNotFound:
		if said.ErrorCode == errNotFound {
			return State{Answer: NotFound}, nil
		}
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		why, pause := said.describe(status, body), retryAfter(header, time.Now())
		if pause > 0 {
			why += fmt.Sprintf("; it wants a pause of %v", pause.Round(time.Second))
		}
		return State{}, &NotAnswered{why, pause}
	}
	return State{}, &CannotTell{said.describe(status, body)}
}

// Connect implements Sidecar.
func (s *HTTP) Connect(ctx context.Context) (Starter, error) {
	dial := s.dial
	if s.request.Sidecar.Scheme == "https" {
		dial = s.dialTLS
	}
	conn, err := dial(ctx, "tcp", s.request.Sidecar.Host)
	if err != nil {
		return nil, errors.New(explain(ctx, err))
	}
	return &httpStarter{s, conn}, nil
}

// httpStarter sends the start on one fresh connection and has no way to make another.
type httpStarter struct {
	sidecar *HTTP
	conn    net.Conn
}

func (s *httpStarter) Close() error { return s.conn.Close() }

// Start implements Starter.
func (s *httpStarter) Start(ctx context.Context) error {
	conns := make(chan net.Conn, 1)
	conns <- s.conn
	theOne := func(context.Context, string, string) (net.Conn, error) {
		select {
		case conn := <-conns:
			return conn, nil
		default:
			return nil, errors.New("the start has had its connection")
		}
	}
	request := s.sidecar.request
	// daprd takes a + in a path for a blank, as in a query.
	path := strings.ReplaceAll(url.PathEscape(request.WorkflowName), "+", "%2B") + "/start?instanceID=" + url.QueryEscape(request.InstanceID)
	status, _, body, err := s.sidecar.roundTrip(ctx, newTransport(theOne, theOne), http.MethodPost, path, request.Input)
	if err != nil {
		return &NotKnown{explain(ctx, err)}
	}
	said := parseAnswer(body)
	switch {
	case status >= 200 && status <= 299 && said.InstanceID == request.InstanceID:
		return nil
	case status == http.StatusTooManyRequests:
		return &TurnedAway{said.describe(status, body)}
	case status >= 300 && status <= 499 && status != http.StatusRequestTimeout:
		return &Refused{said.describe(status, body)}
	}
	return &NotKnown{said.describe(status, body)}
}

// newTransport returns a transport whose connections carry one request each. A connection that was idle may
// be dead without our knowing; and on a fresh one net/http never sends a request again.
func newTransport(dial, dialTLS dialFunc) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext: dial, DialTLSContext: dialTLS,
		Protocols: protocols, DisableKeepAlives: true, DisableCompression: true,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// errTooLarge is an answer of more than maxAnswer bytes.
var errTooLarge = fmt.Errorf("an answer of more than %d MiB", maxAnswer>>20)

// roundTrip sends one request, to a path below the workflow API's, and reads its whole answer. Half an
// answer is an error.
func (s *HTTP) roundTrip(ctx context.Context, transport *http.Transport, method, path string, content []byte) (int, http.Header, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.request.Sidecar.String()+"/v1.0/workflows/dapr/"+path, nil)
	if err != nil {
		return 0, nil, nil, err
	}
	if content != nil {
		// Without GetBody nothing could rewind the body to send it again.
		request.Body = io.NopCloser(bytes.NewReader(content))
		request.ContentLength = int64(len(content))
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("User-Agent", s.userAgent)
	if s.request.Token != "" {
		request.Header.Set("dapr-api-token", s.request.Token)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	var body bytes.Buffer
	if 0 < response.ContentLength && response.ContentLength <= maxAnswer {
		body.Grow(int(response.ContentLength) + bytes.MinRead) // an answer can be large: one copy of it will do
	}
	switch n, err := body.ReadFrom(io.LimitReader(response.Body, maxAnswer+1)); {
	case err != nil:
		return 0, nil, nil, fmt.Errorf("half an answer: %w", err)
	case n > maxAnswer:
		return 0, nil, nil, errTooLarge
	}
	return response.StatusCode, response.Header, body.Bytes(), nil
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
