package input_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/input"
)

// FuzzLoad wants a request without problems to be one that can be sent, whatever the files and flags hold.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"a":1}`), "a", "W", "http://a:1", "2026-12-31T23:59:59Z", "1s", "--retry-for=2m")
	f.Add([]byte("{\"\xff\":"), "bad.id", "", "grpc://", "2026-02-30T00:00:00Z", "-1s", "--bogus")
	f.Add([]byte("1"), "0", ".", "http://0:1", "0001-01-01T00:00:00Z", "1ns", "--retry-max-interval=10ms")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte, id, name, sidecar, notAfter, retryFor, arg string) {
		for file, text := range map[string]string{
			"input.json": string(content), "instance-id": id, "workflow-name": name, "sidecar": sidecar, "not-after": notAfter, "retry-for": retryFor,
		} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		request, problems := input.ParseCommandLine([]string{arg, "--input-dir", dir}).Load(func(string) string { return "" })
		if len(problems) > 0 {
			return
		}
		if !json.Valid(request.Input) || !utf8.Valid(request.Input) || string(request.Input) != string(content) {
			t.Fatalf("input %q", request.Input)
		}
		if n := len(request.InstanceID); n < 1 || n > 64 || request.WorkflowName == "" || request.Sidecar.Host == "" {
			t.Fatalf("request %+v", request)
		}
		if request.RetryFor <= 0 || request.RequestTimeout <= 0 || request.StartTimeout <= 0 || request.RetryMaxInterval < 10*time.Millisecond {
			t.Fatalf("request %+v", request)
		}
		// What was written as a deadline is one, whatever it says.
		if (request.NotAfter != nil) != (strings.TrimSpace(notAfter) != "" || strings.HasPrefix(arg, "--not-after")) {
			t.Fatalf("request %+v", request)
		}
	})
}
