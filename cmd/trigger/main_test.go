package main_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/binaries"
)

// built are the real trigger and mocksidecar.
var built = binaries.Set{Root: repo, Packages: []string{".", "../mocksidecar"}, Linker: "-X main.version=v1.2.3-test"}

func TestMain(m *testing.M) {
	code := m.Run()
	built.Remove()
	os.Exit(code)
}

// trigger returns the path of the real trigger.
func trigger(t *testing.T) string { return filepath.Join(built.Dir(t), "trigger") }

// TestScripts pins the command's behaviour with scripts that a user could read as documentation.
func TestScripts(t *testing.T) {
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	bin := built.Dir(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("TESTDATA", filepath.Join(repo, "testdata"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"outcome": lastLine,
		},
	})
}

// exits runs a program and wants this exit code of it: exits CODE PROGRAM [ARGUMENT …]
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARGUMENT …]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// lastLine wants the last line of the last program's standard output, or of a file, to be one JSON object
// with this outcome and message, and no secret of the environment: outcome NAME MESSAGE [FILE]
func lastLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: outcome NAME MESSAGE [FILE]")
	}
	text := ts.ReadFile("stdout")
	if len(args) == 3 {
		text = ts.ReadFile(args[2])
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var got struct{ Outcome, InstanceID, WorkflowName, RuntimeStatus, Message string }
	decoder := json.NewDecoder(strings.NewReader(lines[len(lines)-1]))
	decoder.DisallowUnknownFields()
	ts.Check(decoder.Decode(&got))
	if got.Outcome != args[0] || !strings.Contains(got.Message, args[1]) {
		ts.Fatalf("outcome %s: %s\nwant %s: %s", got.Outcome, got.Message, args[0], args[1])
	}
}
