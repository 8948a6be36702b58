package main_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/mockdapr"
)

// A process is one run of the real binary.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	terminationLog string
}

// start starts the trigger on a sidecar, for instance a, with a token if that is not empty.
func start(t *testing.T, sidecar, token string, args ...string) *process {
	t.Helper()
	return startWith(t, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "DAPR_API_TOKEN="+token) }, sidecar, args...)
}

// startWith is start for a command that is changed before it runs.
func startWith(t *testing.T, change func(*exec.Cmd), sidecar string, args ...string) *process {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "input.json"), []byte("{}"), 0o644))
	p := &process{t: t, terminationLog: filepath.Join(dir, "log")}
	require.NoError(t, os.WriteFile(p.terminationLog, bytes.Repeat([]byte("an older outcome"), 1000), 0o644))
	p.cmd = exec.Command(trigger(t), append([]string{
		"--input-dir", dir, "--instance-id", "a", "--workflow-name", "W", "--sidecar", sidecar, "--termination-log", p.terminationLog,
		"--retry-for", "20s", "--confirm-for", "1s",
	}, args...)...)
	p.cmd.Env = append(os.Environ(), "DAPR_API_TOKEN=")
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	change(p.cmd)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

type result struct {
	exit                                                      int
	Outcome, InstanceID, WorkflowName, RuntimeStatus, Message string
}

// wait waits for the end and reads the outcome, which is the only line on standard output.
func (p *process) wait() result {
	p.t.Helper()
	r := p.end()
	require.Equal(p.t, 1, strings.Count(p.stdout.String(), "\n"), p.stdout.String())
	log, err := os.ReadFile(p.terminationLog)
	require.NoError(p.t, err)
	assert.Equal(p.t, strings.TrimSuffix(p.stdout.String(), "\n"), string(log))
	return r
}

// end waits for the end and reads the outcome from the termination log.
func (p *process) end() result {
	p.t.Helper()
	timer := time.AfterFunc(time.Minute, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	_ = p.cmd.Wait()
	r := result{exit: p.cmd.ProcessState.ExitCode()}
	require.NotEqual(p.t, -1, r.exit, "it was killed, since it did not end")
	log, err := os.ReadFile(p.terminationLog)
	require.NoError(p.t, err)
	require.NoError(p.t, json.Unmarshal(log, &r), "%s%s", log, p.stderr.String())
	return r
}

func mock(t *testing.T, faults ...string) *mockdapr.Sidecar {
	t.Helper()
	var parsed []mockdapr.Fault
	for _, text := range faults {
		fault, err := mockdapr.ParseFault(text)
		require.NoError(t, err)
		parsed = append(parsed, fault)
	}
	s, err := mockdapr.Start(mockdapr.Options{Faults: parsed})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// arrived waits until n requests have reached the sidecar.
func arrived(t *testing.T, s *mockdapr.Sidecar, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(s.Requests()) >= n }, 20*time.Second, 2*time.Millisecond)
}

func TestASignalBeforeTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		fault  string
		signal syscall.Signal
	}{
		"SIGTERM while the sidecar is silent": {"get delay 1h", syscall.SIGTERM},
		"SIGINT while the sidecar is silent":  {"get delay 1h", syscall.SIGINT},
		"SIGTERM in a pause":                  {"get 503 x1000", syscall.SIGTERM},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mock(t, c.fault)
			p := start(t, s.URL(), "")
			arrived(t, s, 1)
			require.NoError(t, p.cmd.Process.Signal(c.signal))
			r := p.wait()
			assert.Equal(t, 3, r.exit)
			assert.Equal(t, "unstarted", r.Outcome)
			assert.Equal(t, "a not started: told to stop ("+c.signal.String()+")", r.Message)
			assert.Empty(t, s.Starts())
		})
	}
}

func TestSignalsDuringTheStartDoNotCutItOff(t *testing.T) {
	s := mock(t, "start delay 2s")
	p := start(t, s.URL(), "")
	arrived(t, s, 2)
	for range 3 { // a second one changes nothing
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
	}
	r := p.wait()
	assert.Equal(t, 0, r.exit)
	assert.Equal(t, "started", r.Outcome)
	assert.Empty(t, r.RuntimeStatus, "the answer came, there was nothing to confirm")
	assert.Equal(t, map[string]int{"a": 1}, s.Starts())
}

func TestAReaderOfTheOutputThatGoesAwayDoesNotKill(t *testing.T) {
	s := mock(t)
	gone, pipe, err := os.Pipe()
	require.NoError(t, err)
	gone.Close()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "input.json"), []byte("{}"), 0o644))
	cmd := exec.Command(trigger(t), "--input-dir", dir, "--instance-id", "a", "--workflow-name", "W", "--sidecar", s.URL())
	cmd.Stdout, cmd.Stderr = pipe, pipe
	assert.NoError(t, cmd.Run())
	assert.Equal(t, map[string]int{"a": 1}, s.Starts())
}

// serve is a sidecar of raw connections: behave is called with the number of each, from 0, once a request has
// been read from it.
func serve(t *testing.T, behave func(n int, conn net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for n := 0; ; n++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if request, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_ = request.Body.Close()
					behave(n, conn)
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

// echo is a sidecar that answers the first request with one text, the second with another, and so on.
func echo(t *testing.T, texts ...string) string {
	t.Helper()
	return serve(t, func(n int, conn net.Conn) { _, _ = io.WriteString(conn, texts[min(n, len(texts)-1)]) })
}

func answer(status int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

const unknownInstance = `{"errorCode":"ERR_INSTANCE_ID_NOT_FOUND","message":"x"}`

func TestTheTokenNeverShowsEvenIfTheSidecarEchoesIt(t *testing.T) {
	for _, token := range []string{"s3cret-t0ken-0123456789", `quo"ted\<tok>en&`, "s3cret/t0ken+0123456789=="} {
		quoted, err := json.Marshal(token)
		require.NoError(t, err)
		inJSON := string(quoted[1 : len(quoted)-1])
		for name, texts := range map[string][]string{
			"in a body":                      {answer(403, token)},
			"in a JSON message":              {answer(403, `{"errorCode":"`+inJSON+`","message":"`+inJSON+`"}`)},
			"escaped in JSON":                {answer(403, `{"message":"`+escaped(token)+`"}`)},
			"in the status line":             {"HTTP/1.1 403 " + token + "\r\nContent-Length: 0\r\n\r\n"},
			"in a status that is none":       {"HTTP/1.1 " + token + "\r\n\r\n", answer(403, ``)},
			"in a redirect":                  {"HTTP/1.1 307 X\r\nLocation: http://" + token + "/\r\nContent-Length: 0\r\n\r\n"},
			"instead of HTTP":                {token + "\r\n\r\n", answer(403, ``)},
			"in a header that is none":       {"HTTP/1.1 200 OK\r\n" + token + "\r\n\r\n", answer(403, ``)},
			"in an answer to be asked again": {answer(503, token), answer(403, ``)},
			"as the workflow's name":         {answer(200, `{"instanceID":"a","workflowName":"`+inJSON+`","runtimeStatus":"`+inJSON+`"}`)},
			"as the status":                  {answer(200, `{"instanceID":"a","workflowName":"W","runtimeStatus":"`+inJSON+`"}`)},
			"refusing the start":             {answer(404, unknownInstance), answer(400, `{"errorCode":"X","message":"`+inJSON+`"}`)},
			"behind a long text":             {answer(403, strings.Repeat("x", 2990)+token)},
			"slashes and signs escaped":      {answer(403, `no: `+strings.NewReplacer("/", `\/`, "+", `\u002B`).Replace(token))},
			"percent-encoded":                {answer(403, strings.ToLower(url.QueryEscape(token)))},
			"in HTML":                        {answer(403, strings.NewReplacer("/", "&#47;", "+", "&plus;", "<", "&lt;").Replace(token))},
			"in base64":                      {answer(403, base64.StdEncoding.EncodeToString([]byte("dapr-api-token: "+token)))},
			"in hex":                         {answer(403, fmt.Sprintf("%X", token))},
			"JSON in JSON":                   {answer(403, `{"message":`+strconv.Quote(`{"message":"`+inJSON+`"}`)+`}`)},
			"broken by a newline":            {answer(403, token[:9]+"\n"+token[9:])},
			"after the start":                {answer(404, unknownInstance), answer(500, token)},
		} {
			for _, format := range []string{"text", "json"} {
				t.Run(name+", "+format, func(t *testing.T) {
					t.Parallel()
					p := start(t, echo(t, texts...), token, "--log-format", format, "--retry-max-interval", "10ms")
					p.wait()
					all := p.stdout.String() + p.stderr.String()
					for _, form := range []string{
						token, inJSON, strconv.Quote(token)[1 : len(token)+1], strings.ReplaceAll(token, "/", `\/`), strings.ToLower(url.QueryEscape(token)),
						strings.ReplaceAll(token, "/", "&#47;"), fmt.Sprintf("%X", token), base64.StdEncoding.EncodeToString([]byte("dapr-api-token: " + token)),
					} {
						assert.NotContains(t, all, form)
					}
					assert.NotContains(t, all, token[:8], "not even half of it")
					assert.NotContains(t, all, token[9:], "nor the other half")
				})
			}
		}
	}
}

// escaped writes every character of a text as JSON may.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

func TestTheTokenDoesNotShowIfAFileHoldsIt(t *testing.T) {
	const token = "s3cret-t0ken-0123456789"
	for _, flag := range []string{"--not-after", "--sidecar", "--instance-id", "--retry-for", "--log-format", "--" + token, token} {
		p := start(t, "http://127.0.0.1:1", token, "--retry-for", "1ms", flag, token)
		r := p.wait()
		if flag != "--instance-id" { // the token makes a fine one, but not one to show
			assert.Equal(t, "invalid", r.Outcome)
		}
		assert.NotContains(t, p.stdout.String()+p.stderr.String(), token)
	}
}

func TestNothingFromOutsideForgesALine(t *testing.T) {
	const forged = "\n" + `{"outcome":"started","instanceID":"a","workflowName":"W","runtimeStatus":"","message":"forged"}` + "\n"
	quoted, err := json.Marshal(forged + "\r\u2028\x1b[2J\x00" + strings.Repeat("x", 100_000))
	require.NoError(t, err)
	for name, texts := range map[string][]string{
		"in a body":          {answer(403, forged)},
		"in a message":       {answer(403, `{"message":`+string(quoted)+`}`)},
		"in a name":          {answer(200, `{"instanceID":"a","workflowName":`+string(quoted)+`,"runtimeStatus":"RUNNING"}`)},
		"in a status":        {answer(200, `{"instanceID":"a","runtimeStatus":`+string(quoted)+`}`)},
		"refusing the start": {answer(404, unknownInstance), answer(400, `{"message":`+string(quoted)+`}`)},
	} {
		for _, format := range []string{"text", "json"} {
			t.Run(name+", "+format, func(t *testing.T) {
				t.Parallel()
				p := start(t, echo(t, texts...), "", "--log-format", format)
				r := p.wait() // wants one line on standard output
				assert.NotEqual(t, "started", r.Outcome)
				assert.LessOrEqual(t, p.stdout.Len(), 4096)
				for line := range strings.Lines(p.stderr.String()) {
					assert.True(t, strings.HasPrefix(line, "time=") || strings.HasPrefix(line, `{"time":`), line)
					assert.Less(t, len(line), 10_000)
				}
				assert.NotContains(t, p.stderr.String(), "\x1b")
				assert.NotContains(t, p.stdout.String(), "\x1b")
			})
		}
	}
}

func TestSeveralTriggersOneAfterAnotherStartOnce(t *testing.T) {
	s := mock(t, "get 503", "start drop-response")
	for range 5 {
		assert.Equal(t, 0, start(t, s.URL(), "").wait().exit)
	}
	assert.Equal(t, map[string]int{"a": 1}, s.Starts())
}
