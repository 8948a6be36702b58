package outcome_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/outcome"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/printable"
)

// FuzzLine wants one JSON object on one line that fits, whatever the texts in it are.
func FuzzLine(f *testing.F) {
	f.Add("a", "W", "RUNNING", "no way", "s3cret")
	f.Add("a\n", "\x00", "\xff", "\u2028<&>\"\\", "")
	f.Fuzz(func(t *testing.T, id, name, status, why, secret string) {
		if len(secret) < 4 { // it would stand in our own words
			secret = ""
		}
		filter := printable.NewFilter(secret)
		about := outcome.About{InstanceID: id, WorkflowName: name, Sidecar: status}
		for _, o := range []outcome.Outcome{about.Rejected(why), about.Unknown(status, why), about.Conflict(why, status), about.Invalid(why)} {
			line := o.Line(filter)
			var got map[string]string
			if err := json.Unmarshal(line, &got); err != nil || len(got) != 5 {
				t.Fatalf("%v: %s", err, line)
			}
			if len(line) > outcome.MaxBytes || bytes.ContainsAny(line, "\n\r") || !utf8.Valid(line) || got["message"] == "" {
				t.Fatalf("not a line: %q", line)
			}
		}
	})
}
