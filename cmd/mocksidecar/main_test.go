package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/binaries"
)

// The real binary, as it is shipped and with a grace period that a test can wait for.
var (
	shipped   = &binaries.Set{Root: "../..", Packages: []string{"."}}
	impatient = &binaries.Set{Root: "../..", Packages: []string{"."}, Linker: "-X main.grace=500ms"}
)

func TestMain(m *testing.M) {
	code := m.Run()
	shipped.Remove()
	impatient.Remove()
	os.Exit(code)
}

func mocksidecar(t *testing.T, set *binaries.Set) string {
	return filepath.Join(set.Dir(t), "mocksidecar")
}

// A process is one run of the binary. Its output goes to files: with a pipe, the test and not the program
// would wait for whoever else holds it.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr string
}

// start starts a program.
func start(t *testing.T, program string, args ...string) *process {
	t.Helper()
	dir := t.TempDir()
	p := &process{t: t, cmd: exec.Command(program, args...), stdout: filepath.Join(dir, "out"), stderr: filepath.Join(dir, "err")}
	out, err := os.Create(p.stdout)
	require.NoError(t, err)
	defer out.Close()
	log, err := os.Create(p.stderr)
	require.NoError(t, err)
	defer log.Close()
	p.cmd.Stdout, p.cmd.Stderr = out, log
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// said returns standard output so far.
func (p *process) said() string {
	out, err := os.ReadFile(p.stdout)
	require.NoError(p.t, err)
	return string(out)
}

// waitFor waits until standard output has so many lines that begin so, and returns the last one's rest.
func (p *process) waitFor(begin string, times int) (rest string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		seen := 0
		for line := range strings.Lines(p.said()) {
			if after, found := strings.CutPrefix(line, begin); found && strings.HasSuffix(line, "\n") {
				seen, rest = seen+1, strings.TrimSpace(after)
			}
		}
		return seen >= times
	}, time.Minute, 5*time.Millisecond, "%q ×%d", begin, times)
	return rest
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// wait waits for the end and returns the exit code, -1 after being killed.
func (p *process) wait() int {
	p.t.Helper()
	timer := time.AfterFunc(time.Minute, func() {
		p.t.Error("it does not end")
		_ = p.cmd.Process.Kill()
	})
	defer timer.Stop()
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// alive tells whether a process, by its ID, still runs: a zombie does not.
func alive(pid string) bool {
	state, _ := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
	return len(state) > 0 && state[0] != 'Z'
}

func gone(t *testing.T, pid string) {
	t.Helper()
	require.NotEmpty(t, pid)
	assert.Eventually(t, func() bool { return !alive(pid) }, 20*time.Second, 20*time.Millisecond)
}

var passedOn = []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}

func TestEverySignalIsPassedOnAsItIsAndAsOftenAsItComes(t *testing.T) {
	t.Parallel()
	p := start(t, mocksidecar(t, shipped), "--", "sh", "-c", `
		for s in TERM INT HUP QUIT; do trap "echo $s" $s; done
		trap 'exit 7' USR1
		echo ready $$
		while :; do sleep 0.05; done`)
	child := p.waitFor("ready", 1)
	for times := range 2 {
		for i, name := range []string{"TERM", "INT", "HUP", "QUIT"} {
			p.signal(passedOn[i])
			p.waitFor(name, times+1)
		}
	}
	require.NoError(t, exec.Command("kill", "-USR1", child).Run())
	assert.Equal(t, 7, p.wait())
	assert.Equal(t, "TERM INT HUP QUIT TERM INT HUP QUIT", strings.Join(strings.Fields(p.said())[2:], " "))
}

func TestACommandThatDiesOfASignal(t *testing.T) {
	for _, s := range passedOn {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			p := start(t, mocksidecar(t, shipped), "--", "sh", "-c", "ulimit -c 0; echo ready $$; exec sleep 1000")
			child := p.waitFor("ready", 1)
			p.signal(s)
			assert.Equal(t, 128+int(s), p.wait())
			gone(t, child)
		})
	}
}

func TestACommandThatDoesNotStopIsKilledWithItsChildren(t *testing.T) {
	t.Parallel()
	p := start(t, mocksidecar(t, impatient), "--", "sh", "-c", `
		trap '' TERM
		sleep 1000 &
		echo child $!
		echo ready $$
		while :; do sleep 0.05; done`)
	command, child := p.waitFor("ready", 1), p.waitFor("child", 1)
	told := time.Now()
	go func() {
		for p.cmd.Process.Signal(syscall.SIGTERM) == nil { // more signals do not put it off
			time.Sleep(50 * time.Millisecond)
		}
	}()
	assert.Equal(t, 137, p.wait())
	assert.GreaterOrEqual(t, time.Since(told), 500*time.Millisecond, "it is given time")
	gone(t, command)
	gone(t, child)
}

func TestToldToStopNothingStaysBehind(t *testing.T) {
	for name, c := range map[string]struct {
		program     *binaries.Set
		child, says string
	}{
		"a child is told too":                  {shipped, `echo ready; exec sleep 1000`, ""},
		"one that needs time has it":           {shipped, `trap 'sleep 0.2; echo finished; exit' TERM; echo ready; while :; do sleep 0.02; done`, "finished"},
		"one that does not stop is killed too": {impatient, `trap '' TERM; echo ready; exec sleep 1000`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, mocksidecar(t, c.program), "--", "sh", "-c", "("+c.child+") & echo child $!; wait")
			p.waitFor("ready", 1)
			child := p.waitFor("child", 1)
			p.signal(syscall.SIGTERM)
			assert.Equal(t, 143, p.wait(), "the command's own end")
			gone(t, child)
			assert.Contains(t, p.said(), c.says)
		})
	}
}

func TestADaemonThatACommandLeavesNeitherHoldsItUpNorEnds(t *testing.T) {
	t.Parallel()
	p := start(t, mocksidecar(t, shipped), "--", "sh", "-c", "sleep 1000 & echo daemon $!; exit 3")
	assert.Equal(t, 3, p.wait(), "while the daemon holds its output open")
	daemon := p.waitFor("daemon", 1)
	assert.True(t, alive(daemon))
	require.NoError(t, exec.Command("kill", "-KILL", daemon).Run())
}

func TestWithoutACommandItServesUntilToldToStop(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			p := start(t, mocksidecar(t, shipped), "--dapr-http-port", "0", "--summary")
			p.waitFor("listening on http://127.0.0.1:", 1)
			p.signal(s)
			assert.Equal(t, 0, p.wait())
			summary, err := os.ReadFile(p.stderr)
			require.NoError(t, err)
			assert.Contains(t, string(summary), "started {}")
		})
	}
}

func TestUnderNohupAHangupChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		args  string
		ready string
		code  int
	}{
		"without a command": {"--dapr-http-port 0", "listening on", 0},
		"with a command":    {"-- sh -c 'echo ready; exec sleep 1000'", "ready", 143},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "sh", "-c", `trap "" HUP; exec "$0" `+c.args, mocksidecar(t, shipped))
			p.waitFor(c.ready, 1)
			p.signal(syscall.SIGHUP)
			time.Sleep(200 * time.Millisecond)
			p.signal(syscall.SIGTERM)
			assert.Equal(t, c.code, p.wait())
		})
	}
}

func TestAScriptCanInterruptWhatItStartedInTheBackground(t *testing.T) {
	t.Parallel()
	// The shell ignores SIGINT for what it starts so.
	p := start(t, "sh", "-c", `"$0" -- sh -c 'echo ready; exec sleep 1000' & echo mock $!; wait $!`, mocksidecar(t, shipped))
	p.waitFor("ready", 1)
	require.NoError(t, exec.Command("kill", "-INT", p.waitFor("mock", 1)).Run())
	assert.Equal(t, 130, p.wait())
}
