package main_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A fake is a sidecar that a test can drive. It answers as daprd does: an instance that was started, by us
// or by somebody else, exists.
type fake struct {
	*httptest.Server
	exists atomic.Bool
	asks   atomic.Int64

	mu     sync.Mutex
	starts []time.Time
	seen   []*http.Request
}

// newFake returns a fake that calls onAsk, if it is not nil, with the number of each ask before it answers.
func newFake(t *testing.T, onAsk func(n int64)) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.seen = append(f.seen, r)
		if r.Method == http.MethodPost {
			f.starts = append(f.starts, time.Now())
			f.mu.Unlock()
			f.exists.Store(true)
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, `{"instanceID":"a"}`)
			return
		}
		f.mu.Unlock()
		found := f.exists.Load() // what comes later is not in this answer
		n := f.asks.Add(1)
		if onAsk != nil {
			onAsk(n)
		}
		if found {
			_, _ = io.WriteString(w, `{"instanceID":"a","workflowName":"W","runtimeStatus":"COMPLETED"}`)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, unknownInstance)
	}))
	t.Cleanup(func() {
		f.Close()
		assert.LessOrEqual(t, len(f.started()), 1, "one start at most")
	})
	return f
}

func (f *fake) started() []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]time.Time(nil), f.starts...)
}

// certificateFile returns a file with the certificate of a fake that speaks TLS, for SSL_CERT_FILE.
func (f *fake) certificateFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	content := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
	require.NoError(t, os.WriteFile(path, content, 0o644))
	return path
}

func trusting(f *fake, t *testing.T) func(*exec.Cmd) {
	path := f.certificateFile(t)
	return func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+path, "SSL_CERT_DIR=/nowhere") }
}

// stalls delays the first bytes of one of the connections it accepts.
type stalls struct {
	net.Listener
	connection int64 // which one, from 1
	stall      func()
	accepted   atomic.Int64
}

func (s *stalls) Accept() (net.Conn, error) {
	conn, err := s.Listener.Accept()
	if err == nil && s.accepted.Add(1) == s.connection {
		return &stalled{Conn: conn, stall: s.stall}, nil
	}
	return conn, err
}

type stalled struct {
	net.Conn
	once  sync.Once
	stall func()
}

func (s *stalled) Read(p []byte) (int, error) {
	s.once.Do(s.stall)
	return s.Conn.Read(p)
}

// stopped tells whether every thread of a process has been stopped, which takes a moment.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return len(threads) > 0 && !slices.ContainsFunc(threads, func(path string) bool {
		stat, err := os.ReadFile(path)
		_, state, _ := strings.Cut(string(stat), ") ") // behind the name
		return err != nil || !strings.HasPrefix(state, "T")
	})
}

func TestAStartGoesOutOnlyOnAFreshNotFound(t *testing.T) {
	t.Run("the handshake stalls, and somebody else starts it meanwhile", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, nil)
		f.Listener = &stalls{Listener: f.Listener, connection: 2, stall: func() {
			f.exists.Store(true)
			time.Sleep(1500 * time.Millisecond)
		}}
		f.StartTLS()
		r := startWith(t, trusting(f, t), f.URL).wait()
		assert.Equal(t, "exists", r.Outcome, r.Message)
		assert.Empty(t, f.started())
	})
	t.Run("the handshake stalls, and nobody does", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, nil)
		f.Listener = &stalls{Listener: f.Listener, connection: 2, stall: func() { time.Sleep(1500 * time.Millisecond) }}
		f.StartTLS()
		r := startWith(t, trusting(f, t), f.URL).wait()
		assert.Equal(t, "started", r.Outcome, r.Message)
		assert.GreaterOrEqual(t, f.asks.Load(), int64(2), "it asked again")
		assert.Len(t, f.started(), 1)
	})
	t.Run("the pod is frozen while its answer is on the way", func(t *testing.T) {
		t.Parallel()
		pid := make(chan int, 1)
		var f *fake
		f = newFake(t, func(n int64) {
			if n > 1 {
				return
			}
			id := <-pid
			assert.NoError(t, syscall.Kill(id, syscall.SIGSTOP))
			assert.Eventually(t, func() bool { return stopped(id) }, time.Minute, time.Millisecond)
			time.AfterFunc(2*time.Second, func() {
				f.exists.Store(true)
				_ = syscall.Kill(id, syscall.SIGCONT)
			})
		})
		f.Start()
		p := start(t, f.URL, "")
		pid <- p.cmd.Process.Pid
		r := p.wait()
		assert.Equal(t, "exists", r.Outcome, r.Message)
		assert.Empty(t, f.started())
	})
	t.Run("every answer takes too long", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, func(int64) { time.Sleep(1100 * time.Millisecond) })
		f.Start()
		r := start(t, f.URL, "").wait()
		assert.Equal(t, 3, r.exit)
		assert.Equal(t, "unstarted", r.Outcome)
		assert.Regexp(t, `^a not started: it was not there \d\.\ds before the start could go out, at most 1s is allowed`, r.Message)
		assert.Equal(t, int64(4), f.asks.Load(), "three rounds")
		assert.Empty(t, f.started())
	})
}

// fullPipe returns the end of a pipe to write to, with room for that many bytes, and the end to read from.
func fullPipe(t *testing.T, room int) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { reader.Close(); writer.Close() })
	const size = 4096
	_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, writer.Fd(), syscall.F_SETPIPE_SZ, size)
	require.Zero(t, errno)
	_, err = writer.Write(make([]byte, size-room))
	require.NoError(t, err)
	return reader, writer
}

func TestALogThatNobodyReadsHoldsNothingUp(t *testing.T) {
	t.Run("no start after the deadline", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, nil)
		f.Start()
		reader, writer := fullPipe(t, 330)
		deadline := time.Now().Add(3 * time.Second)
		p := startWith(t, func(cmd *exec.Cmd) { cmd.Stderr = writer }, f.URL, "--not-after", deadline.UTC().Format(time.RFC3339Nano))
		time.Sleep(time.Until(deadline.Add(2 * time.Second)))
		go func() { _, _ = io.Copy(io.Discard, reader) }()
		p.wait()
		for _, at := range f.started() {
			assert.Less(t, at.Sub(deadline), time.Second)
		}
	})
	t.Run("told to stop it stops", func(t *testing.T) {
		t.Parallel()
		asked := make(chan struct{})
		f := newFake(t, func(n int64) {
			if n == 1 {
				close(asked)
			}
			time.Sleep(time.Second)
		})
		f.Start()
		_, writer := fullPipe(t, 0)
		p := startWith(t, func(cmd *exec.Cmd) { cmd.Stderr = writer }, f.URL)
		<-asked
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
		r := p.wait()
		assert.Equal(t, "unstarted", r.Outcome)
		assert.Empty(t, f.started())
	})
	t.Run("with neither log nor output read it ends all the same", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, nil)
		f.Start()
		_, writer := fullPipe(t, 0)
		p := startWith(t, func(cmd *exec.Cmd) { cmd.Stdout, cmd.Stderr = writer, writer }, f.URL)
		r := p.end()
		assert.Equal(t, 0, r.exit)
		assert.Equal(t, "started", r.Outcome)
		assert.Len(t, f.started(), 1)
	})
	t.Run("nor does a thousand lines of it", func(t *testing.T) {
		t.Parallel()
		f := newFake(t, nil)
		f.exists.Store(true)
		f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			f.asks.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, strings.Repeat("x", 2000))
		})
		f.Start()
		_, writer := fullPipe(t, 0)
		r := startWith(t, func(cmd *exec.Cmd) { cmd.Stderr = writer }, f.URL, "--retry-max-interval", "10ms", "--retry-for", "5s").wait()
		assert.Equal(t, "undetermined", r.Outcome)
		assert.Greater(t, f.asks.Load(), int64(256), "more lines than are kept")
	})
}

func TestATerminationLogThatIsNoFileHoldsNothingUp(t *testing.T) {
	f := newFake(t, nil)
	f.exists.Store(true)
	f.Start()
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	p := start(t, f.URL, "", "--termination-log", fifo)
	require.NoError(t, p.cmd.Wait(), "without a reader")
	assert.Contains(t, p.stderr.String(), "the termination log can't be written")

	reader, err := os.OpenFile(fifo, os.O_RDWR, 0) // a pipe is also full if its reader does not read
	require.NoError(t, err)
	defer reader.Close()
	_ = reader.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	for err == nil {
		_, err = reader.Write(make([]byte, 4096))
	}
	p = start(t, f.URL, "", "--termination-log", fifo)
	require.NoError(t, p.cmd.Wait(), "with a reader that does not read")
	assert.Contains(t, p.stdout.String(), `"outcome":"exists"`)
}

// answersThenHolds is echo for a sidecar that keeps its connections open.
func answersThenHolds(t *testing.T, texts ...string) string {
	t.Helper()
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	return serve(t, func(n int, conn net.Conn) {
		_, _ = io.WriteString(conn, texts[min(n, len(texts)-1)])
		<-done
	})
}

func TestAnAnswer101DoesNotHang(t *testing.T) {
	const switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"
	t.Run("at the ask", func(t *testing.T) {
		t.Parallel()
		begin := time.Now()
		r := start(t, answersThenHolds(t, switching), "").wait()
		assert.Equal(t, "undetermined", r.Outcome)
		assert.Contains(t, r.Message, "101")
		assert.Less(t, time.Since(begin), 8*time.Second, "nor does it take a limit to end it")
	})
	t.Run("at the start", func(t *testing.T) {
		t.Parallel()
		r := start(t, answersThenHolds(t, answer(404, unknownInstance), switching, answer(404, unknownInstance)), "").wait()
		assert.Equal(t, "unknown", r.Outcome)
		assert.Contains(t, r.Message, "the start: 101")
	})
}

func TestEveryReadEndsWithItsLimitOrASignal(t *testing.T) {
	for name, text := range map[string]string{
		"no answer":                 "",
		"half a status line":        "HTTP/1.1 2",
		"half a header":             "HTTP/1.1 200 OK\r\nX: ",
		"headers and no body":       "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
		"a body until it is closed": "HTTP/1.1 404 X\r\n\r\n" + unknownInstance,
		"half a chunk":              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		"an announcement":           "HTTP/1.1 103 Early Hints\r\n\r\n",
		"a 101, and its successor":  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 X\r\n\r\n",
	} {
		t.Run(name+" to the ask", func(t *testing.T) {
			t.Parallel()
			r := start(t, answersThenHolds(t, text), "", "--request-timeout", "200ms", "--retry-for", "1s").wait()
			assert.Equal(t, "undetermined", r.Outcome)
		})
		t.Run(name+" to the start", func(t *testing.T) {
			t.Parallel()
			r := start(t, answersThenHolds(t, answer(404, unknownInstance), text, answer(404, unknownInstance)), "", "--start-timeout", "500ms").wait()
			assert.Equal(t, "unknown", r.Outcome)
		})
		t.Run(name+" to the ask, and a signal", func(t *testing.T) {
			t.Parallel()
			if strings.Contains(name, "101") {
				return // which ends it already
			}
			arrived := make(chan struct{}, 100)
			url := serve(t, func(_ int, conn net.Conn) {
				_, _ = io.WriteString(conn, text)
				arrived <- struct{}{}
				_, _ = io.Copy(io.Discard, conn)
			})
			p := start(t, url, "", "--request-timeout", "1h", "--retry-for", "1h")
			<-arrived
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
			r := p.wait()
			assert.Equal(t, "unstarted", r.Outcome, r.Message)
		})
	}
}

// caching returns the address of a proxy that keeps what it was answered to a GET, a 404 too, as a cache may
// by default, unless the request forbids it.
func caching(t *testing.T, sidecar string, keep bool) string {
	t.Helper()
	target, err := url.Parse(sidecar)
	require.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	var kept sync.Map
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			forward.ServeHTTP(w, r)
			return
		}
		answer, hit := kept.Load(r.URL.Path)
		forbidden := r.Header.Get("Cache-Control") == "no-cache"
		if !hit || forbidden && !keep {
			fresh := httptest.NewRecorder()
			forward.ServeHTTP(fresh, r)
			kept.Store(r.URL.Path, fresh)
			answer = fresh
		} else {
			w.Header().Set("Age", "0")
		}
		recorded := answer.(*httptest.ResponseRecorder)
		w.WriteHeader(recorded.Code)
		_, _ = w.Write(recorded.Body.Bytes())
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

func TestACachedNotFoundStartsNothing(t *testing.T) {
	t.Run("a cache that does as it is told", func(t *testing.T) {
		s := mock(t)
		proxy := caching(t, s.URL(), false)
		for _, want := range []string{"started", "exists", "exists"} {
			assert.Equal(t, want, start(t, proxy, "").wait().Outcome)
		}
		assert.Equal(t, map[string]int{"a": 1}, s.Starts())
	})
	t.Run("a cache that does not", func(t *testing.T) {
		s := mock(t)
		proxy := caching(t, s.URL(), true)
		assert.Equal(t, "started", start(t, proxy, "").wait().Outcome)
		for range 2 {
			r := start(t, proxy, "").wait()
			assert.Equal(t, "undetermined", r.Outcome)
			assert.Contains(t, r.Message, `with an Age of ["0"]`)
		}
		assert.Equal(t, map[string]int{"a": 1}, s.Starts())
	})
}

// peakMemory watches a process until it ends and returns the most that it had resident, in KiB. The figure
// that its end comes with won't do: it counts what the process had that forked it.
func peakMemory(p *process) func() int {
	path := fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)
	peak := make(chan int)
	go func() {
		most := 0
		for {
			status, err := os.ReadFile(path)
			_, after, found := strings.Cut(string(status), "VmHWM:")
			if err != nil || !found { // it has ended
				peak <- most
				return
			}
			var kib int
			_, _ = fmt.Sscan(after, &kib)
			most = max(most, kib)
			time.Sleep(time.Millisecond)
		}
	}()
	return func() int { return <-peak }
}

func TestAHostileAnswerTakesLittleMemoryAndTime(t *testing.T) {
	const size = 32 << 20
	body := func(before, filler, after string) string {
		return before + strings.Repeat(filler, (size-len(before)-len(after))/len(filler)) + after
	}
	for name, c := range map[string]struct{ answer, want string }{
		"lists in lists":              {answer(200, body(`{"x":`, "[", "")), "JSON that is nested deeper than 1000"},
		"objects in objects":          {answer(404, body(`{"errorCode":"ERR_INSTANCE_ID_NOT_FOUND"`, `,"x":{"x":1`, "")), "JSON that is nested deeper than 1000"},
		"numbers":                     {answer(200, body(`{"x":[1`, ",1", "]}")), "200, a body of 335"},
		"names":                       {answer(404, body(`{"x":1`, `,"y":1`, "}")), "404, a body of 335"},
		"one long name":               {answer(404, body(`{"`, "x", `":1}`)), "404, a body of 335"},
		"a long status":               {answer(200, body(`{"instanceID":"b","runtimeStatus":"`, "x", `"}`)), "200, a body of 335"},
		"a long instance":             {answer(200, body(`{"runtimeStatus":"X","instanceID":"`, `\"`, `"}`)), "200, a body of 335"},
		"a long message":              {answer(403, body(`{"message":"`, `\u0041`, `"}`)), "403, a text of 335"},
		"a long message, asked again": {answer(503, body(`{"message":"`, "x", `"}`)), "503, a text of 335"},
		"no JSON":                     {answer(200, body("", "<", "")), "200, a body of 335"},
		"in chunks":                   {"HTTP/1.1 503 X\r\nTransfer-Encoding: chunked\r\n\r\n1fffff0\r\n" + strings.Repeat("x", 0x1fffff0) + "\r\n0\r\n\r\n", "503, a body of 335"},
		"endless":                     {"HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", size+1), "more than 32 MiB"},
		"headers":                     {"HTTP/1.1 404 X\r\n" + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 2000) + "\r\n" + unknownInstance, "no end within 1024 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, echo(t, c.answer), "", "--retry-for", "3s")
			peak := peakMemory(p)
			r := p.wait()
			assert.Equal(t, "undetermined", r.Outcome)
			assert.Contains(t, r.Message+p.stderr.String(), c.want)
			most := peak()
			assert.Greater(t, most, 1000)
			assert.Less(t, most, 64<<10, "KiB")
			t.Log(most, "KiB")
		})
	}
}
