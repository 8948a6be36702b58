package workflow

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// maxHeaders is what is read of an answer before its body, in bytes, what comes before the answer included.
const maxHeaders = 1 << 20

// A reply is what came back on one connection.
type reply struct {
	status int
	header http.Header
	body   []byte // valid until the next exchange
	whole  bool   // whether the whole request was sent before, which an answer need not wait for
}

// An exchanger makes one exchange at a time. It reads every body into the same buffer: two of 32 MiB would
// be more than the program may take.
type exchanger struct{ buffer []byte }

// exchange sends one request, written out, on a connection that was made for it, reads the whole answer and closes the
// connection. Half an answer is an error. Nothing is read or written after ctx has ended.
//
// It uses net/http's messages and not its client: so there is no redirect to follow, no proxy, no HTTP/2
// that sends a request again when the server resets its stream, no idle connection that may be dead without
// our knowing, and nothing at all that could send a request twice.
func (e *exchanger) exchange(ctx context.Context, conn net.Conn, request []byte) (reply, error) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(longAgo) })()

	var answered atomic.Bool
	whole := make(chan bool, 1)
	go func() { whole <- send(conn, request, &answered) }()
	r, err := e.read(conn, &answered)
	_ = conn.SetWriteDeadline(longAgo) // the answer is there, or none will come
	r.whole = <-whole
	return r, err
}

// send sends a request and says whether all of it was sent before the answer came. The last byte is held back
// until the others are on their way: no sidecar acts on a request without it, so an answer that is there by
// then is none to this request.
func send(conn net.Conn, request []byte, answered *atomic.Bool) bool {
	last := len(request) - 1
	if _, err := conn.Write(request[:last]); err != nil || answered.Load() {
		return false
	}
	_, err := conn.Write(request[last:])
	return err == nil
}

// longAgo is a deadline that ends reading and writing at once.
var longAgo = time.Unix(1, 0)

// errTooLarge is an answer of more than maxAnswer bytes.
var errTooLarge = fmt.Errorf("an answer of more than %d MiB", maxAnswer>>20)

func (e *exchanger) read(conn net.Conn, answered *atomic.Bool) (reply, error) {
	limited := &io.LimitedReader{R: conn, N: maxHeaders}
	reader := bufio.NewReader(limited)
	if _, err := reader.Peek(1); err != nil {
		return reply{}, err
	}
	answered.Store(true)
	response, err := readHeaders(reader)
	switch {
	case err != nil && limited.N == 0:
		return reply{}, fmt.Errorf("not an HTTP answer: no end within %d KiB", maxHeaders>>10)
	case err != nil:
		return reply{}, err
	}
	limited.N = 1 << 62 // the body has a limit of its own
	body, err := e.readBody(response)
	return reply{status: response.StatusCode, header: response.Header, body: body}, err
}

// readHeaders reads up to the body of the answer, over the few others that may come before (103, say). A
// 101 is none of those: what follows it is not HTTP.
func readHeaders(reader *bufio.Reader) (*http.Response, error) {
	for range 6 {
		response, err := http.ReadResponse(reader, nil) // of a GET, and a POST's is no different
		switch {
		case err != nil:
			return nil, err
		case response.ProtoMajor != 1:
			return nil, fmt.Errorf("not an HTTP answer: %s", response.Proto)
		case response.StatusCode >= 200 || response.StatusCode == http.StatusSwitchingProtocols:
			return response, nil
		}
	}
	return nil, errors.New("not an HTTP answer: no end of those that announce one")
}

// readBody reads a whole body into the buffer, which grows to the length that the answer announces or,
// without one, in few steps: each leaves the one before behind as garbage.
func (e *exchanger) readBody(response *http.Response) ([]byte, error) {
	const first, most = 64 << 10, maxAnswer + 1
	if response.ContentLength > maxAnswer {
		return nil, errTooLarge
	}
	if need := max(first, int(response.ContentLength)+1); need > cap(e.buffer) {
		e.buffer = make([]byte, 0, need)
	}
	body := e.buffer[:0]
	for {
		if len(body) == cap(body) {
			grown := make([]byte, len(body), min(32*cap(body), most))
			copy(grown, body)
			body, e.buffer = grown, grown
		}
		n, err := response.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case len(body) > maxAnswer:
			return nil, errTooLarge
		case err == io.EOF:
			return body, nil
		case err != nil:
			return nil, fmt.Errorf("half an answer: %w", err)
		}
	}
}
