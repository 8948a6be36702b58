//go:build image

package build_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/mockdapr"
)

// A container is one run of the image under runc, as a kubelet would run it: as PID 1 of its own namespaces,
// read-only, not root, without capabilities. It shares the host's network, where the mock is.
type container struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	terminationLog string
}

func run(t *testing.T, testdata string, args ...string) *container {
	t.Helper()
	bundle := t.TempDir()
	i := readImage(t, archive("amd64"))
	for name, content := range i.files {
		path := filepath.Join(bundle, "rootfs", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, content, 0o755))
	}
	for _, mountpoint := range []string{"proc", "dev", "input"} {
		require.NoError(t, os.Mkdir(filepath.Join(bundle, "rootfs", mountpoint), 0o755))
	}
	input, err := filepath.Abs(filepath.Join("..", "testdata", testdata))
	require.NoError(t, err)
	c := &container{t: t, terminationLog: filepath.Join(bundle, "termination-log")}
	require.NoError(t, os.WriteFile(c.terminationLog, nil, 0o666))
	require.NoError(t, os.Chmod(c.terminationLog, 0o666))

	type object = map[string]any
	spec, err := json.Marshal(object{
		"ociVersion": "1.0.2",
		"root":       object{"path": "rootfs", "readonly": true},
		"process": object{
			"user": object{"uid": 65532, "gid": 65532}, "args": append(i.Config.Entrypoint, args...), "env": i.Config.Env, "cwd": "/",
			"capabilities": object{}, "noNewPrivileges": true,
		},
		"mounts": []object{
			{"destination": "/proc", "type": "proc", "source": "proc"},
			{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "mode=755"}},
			{"destination": "/dev/termination-log", "type": "bind", "source": c.terminationLog, "options": []string{"bind", "rw"}},
			{"destination": "/input", "type": "bind", "source": input, "options": []string{"rbind", "ro"}},
		},
		"linux": object{"namespaces": []object{{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}}},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(bundle, "config.json"), spec, 0o644))
	const name = "trigger"
	root := filepath.Join(bundle, "runc") // of its own, so that names can't meet
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	c.cmd = exec.CommandContext(ctx, "runc", "--root", root, "run", "--bundle", bundle, name)
	c.cmd.Stdout, c.cmd.Stderr = &c.stdout, &c.stderr
	require.NoError(t, c.cmd.Start())
	t.Cleanup(func() { _ = exec.Command("runc", "--root", root, "delete", "--force", name).Run() })
	return c
}

type result struct {
	exit             int
	Outcome, Message string
}

func (c *container) wait() (r result) {
	c.t.Helper()
	_ = c.cmd.Wait()
	r.exit = c.cmd.ProcessState.ExitCode()
	lines := strings.Split(strings.TrimSpace(c.stdout.String()), "\n")
	require.NoError(c.t, json.Unmarshal([]byte(lines[len(lines)-1]), &r), "%s%s", c.stdout.String(), c.stderr.String())
	log, err := os.ReadFile(c.terminationLog)
	require.NoError(c.t, err)
	assert.Equal(c.t, lines[len(lines)-1], string(log), "the termination log")
	return r
}

func mock(t *testing.T, faults ...mockdapr.Fault) *mockdapr.Sidecar {
	t.Helper()
	s, err := mockdapr.Start(mockdapr.Options{Faults: faults})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func TestInAContainerItStartsOnce(t *testing.T) {
	s := mock(t)
	for _, want := range []string{"started", "exists"} {
		r := run(t, "backstage-template-run", "--sidecar", s.URL()).wait()
		assert.Equal(t, want, r.Outcome)
		assert.Zero(t, r.exit)
	}
	assert.Equal(t, map[string]int{"backstage-workflows_vm-demo-1": 1}, s.Starts())
	assert.Equal(t, "expired", run(t, "expired", "--sidecar", s.URL()).wait().Outcome)
	input, err := os.ReadFile("../testdata/backstage-template-run/input.json")
	require.NoError(t, err)
	assert.Equal(t, string(input), s.Requests()[1].Body, "byte for byte")
}

func TestInAContainerItNeedsNoArguments(t *testing.T) {
	r := run(t, "expired").wait()
	assert.Equal(t, "expired", r.Outcome)
	assert.Zero(t, r.exit)
}

func TestInAContainerCertificatesAreVerified(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	r := run(t, "cluster-build-watch", "--sidecar", server.URL).wait()
	assert.Equal(t, 3, r.exit)
	assert.Equal(t, "undetermined", r.Outcome)
	assert.Contains(t, r.Message, "certificate signed by unknown authority")
}

func TestAsPID1ItHearsSIGTERM(t *testing.T) {
	s := mock(t, mockdapr.Fault{Request: "get", Name: "status", Status: 503, Times: 1000})
	c := run(t, "cluster-build-watch", "--sidecar", s.URL())
	require.Eventually(t, func() bool { return len(s.Requests()) > 1 }, 30*time.Second, 10*time.Millisecond)
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM)) // runc hands it on
	r := c.wait()
	assert.Equal(t, 3, r.exit)
	assert.Equal(t, "unstarted", r.Outcome)
	assert.Contains(t, r.Message, "told to stop (terminated)")
	assert.Empty(t, s.Starts())
}
