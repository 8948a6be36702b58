package input_test

import (
	"encoding/json"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/input"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/workflow"
)

// FuzzLoad wants a request without problems to be one that can be sent, and to hold what was written: that a
// request is fine by itself would not tell that a value was taken for none.
func FuzzLoad(f *testing.F) {
	for i, s := range every {
		for _, text := range append([]string{s.one, s.other, "", " ", "\ufeff", "\u200b"}, looksLikeNone...) {
			f.Add([]byte(`{"a":1}`), uint8(i), text, s.one, false, "", "")
			f.Add([]byte("1"), uint8(i), s.one, text, true, "", "")
			f.Add([]byte("null"), uint8(i), "", "", false, text, "--"+s.name+"="+text)
		}
	}
	f.Add([]byte("{\"\xff\":"), uint8(2), "grpc://", "", false, "http://[fe80::1%25eth0]:3500", "--bogus")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte, which uint8, inFile, asFlag string, flagged bool, variable, arg string) {
		s := every[int(which)%len(every)]
		for name, text := range with(s.name, inFile) {
			if name == "input.json" {
				text = string(content)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		defer os.Remove(filepath.Join(dir, s.name))
		args := []string{arg, "--input-dir", dir}
		if flagged {
			args = append(args, "--"+s.name+"="+asFlag)
		}
		request, problems := input.ParseCommandLine(args).Load(env("DAPR_HTTP_ENDPOINT", variable))
		if len(problems) > 0 {
			return
		}
		if !json.Valid(request.Input) || !utf8.Valid(request.Input) || string(request.Input) != string(content) {
			t.Fatalf("input %q", request.Input)
		}
		if n := len(request.InstanceID); n < 1 || n > 64 || request.WorkflowName == "" {
			t.Fatalf("request %+v", request)
		}
		if request.RetryFor <= 0 || request.RequestTimeout <= 0 || request.StartTimeout <= 0 || request.RetryMaxInterval < 10*time.Millisecond {
			t.Fatalf("request %+v", request)
		}
		if _, err := workflow.NewHTTP(request, "test"); err != nil {
			t.Fatalf("can't be asked: %v", err)
		}
		if text, given := written(s, inFile, asFlag, flagged, variable, arg); given && s.lost(request, text) {
			t.Fatalf("%s is written as %q, and the request is %+v", s.name, text, request)
		}
	})
}

// looksLikeNone are values that somebody's code could take for one that is not given.
var looksLikeNone = []string{
	"0", "0s", "-", "null", "none", "nil", "false", "{}", `""`, "0001-01-01T00:00:00Z", "0001-01-01T01:00:00+01:00", "1970-01-01T00:00:00Z",
	"http://0:1", "http://0.0.0.0:1", "http://[::]:1", "http://127.0.0.1:3500", "text", "/dev/null", ".", "unknown",
}

// written returns the text that decides a setting, and whether there is one.
func written(s known, inFile, asFlag string, flagged bool, variable, arg string) (string, bool) {
	if flagged {
		return asFlag, true
	}
	if text, found := strings.CutPrefix(arg, "--"+s.name+"="); found {
		return text, true
	}
	if strings.HasPrefix(arg, "-") { // another flag, or this one in another way
		return "", false
	}
	if text := strings.TrimSpace(strings.TrimPrefix(inFile, "\ufeff")); text != "" {
		return text, true
	}
	text := strings.TrimSpace(variable)
	return text, s.name == "sidecar" && text != ""
}

// lost says whether a valid request does not hold what was written as this setting.
func (s known) lost(r input.Request, text string) bool {
	means := text
	switch s.name {
	case "sidecar":
		means = sameAddress(text)
	case "retry-for", "retry-max-interval", "request-timeout", "start-timeout", "start-delay", "confirm-for":
		d, _ := time.ParseDuration(text)
		means = d.String()
	}
	return s.see(r) != means
}

// sameAddress writes a URL with its port.
func sameAddress(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return err.Error()
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.Replace(u.Scheme+"://"+net.JoinHostPort(u.Hostname(), port), "%", "%25", 1)
}

// What FuzzLoad wants would have told of a value that is taken for none: it once looked at the request alone.
func TestAValueThatIsLostIsSeen(t *testing.T) {
	byDefault, problems := load(t, "--input-dir", mount(t, good))
	assert.Empty(t, problems)
	byDefault.InstanceID, byDefault.WorkflowName = "", ""
	valid := 0
	for _, s := range every {
		for _, text := range append([]string{s.one, s.other}, looksLikeNone...) {
			request, problems := load(t, "--input-dir", mount(t, good), "--"+s.name, text)
			if len(problems) > 0 {
				continue
			}
			valid++
			assert.False(t, s.lost(request, text), "%s %s", s.name, text)
			if s.see(request) != s.see(byDefault) {
				assert.True(t, s.lost(byDefault, text), "%s %s", s.name, text)
			}
		}
	}
	assert.Greater(t, valid, 2*len(every))
}
