package input_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/input"
)

// mount makes an input directory as the kubelet does, of one state.
func mount(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	publish(t, dir, "..2026_11_30_09_15_42.1", files)
	for name := range files {
		require.NoError(t, os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)))
	}
	return dir
}

// publish makes a new state the current one and removes the one before, as the kubelet does.
func publish(t *testing.T, dir, state string, files map[string]string) {
	t.Helper()
	require.NoError(t, os.Mkdir(filepath.Join(dir, state), 0o755))
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, state, name), []byte(content), 0o644))
	}
	before, _ := os.Readlink(filepath.Join(dir, "..data"))
	require.NoError(t, os.Symlink(state, filepath.Join(dir, "..data_tmp")))
	require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	if before != "" {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, before)))
	}
}

var good = map[string]string{"input.json": `{"a":1}`, "instance-id": "a", "workflow-name": "W"}

func with(name, content string) map[string]string {
	files := map[string]string{name: content}
	for n, c := range good {
		if n != name {
			files[n] = c
		}
	}
	return files
}

func noEnv(string) string { return "" }

func load(t *testing.T, args ...string) (input.Request, []string) {
	t.Helper()
	begin := time.Now()
	request, problems := input.ParseCommandLine(args).Load(noEnv)
	assert.Less(t, time.Since(begin), 5*time.Second, "it neither hangs nor reads what it would refuse")
	return request, problems
}

func TestADirectoryAsTheKubeletMountsItIsRead(t *testing.T) {
	for _, name := range []string{"cluster-build-watch", "cluster-build-watch-gitops", "backstage-template-run", "backstage-template-run-watch", "expired", "in-cluster"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("..", "..", "testdata", name)
			request, problems := load(t, "--input-dir", dir)
			assert.Empty(t, problems)
			content, err := os.ReadFile(filepath.Join(dir, "input.json"))
			require.NoError(t, err)
			assert.Equal(t, content, request.Input, "byte for byte")
			link, err := os.Readlink(filepath.Join(dir, "..data"))
			require.NoError(t, err, "git keeps the links")
			assert.DirExists(t, filepath.Join(dir, link))
		})
	}
}

func TestTheStateMayBeNamedFromTheRoot(t *testing.T) {
	dir := mount(t, good)
	data := filepath.Join(dir, "..data")
	state, err := os.Readlink(data)
	require.NoError(t, err)
	require.NoError(t, os.Remove(data))
	require.NoError(t, os.Symlink(filepath.Join(dir, state), data))
	_, problems := load(t, "--input-dir", dir)
	assert.Empty(t, problems)
}

func TestAnUpdateWhileReadingNeverMixesTwoStates(t *testing.T) {
	state := func(n int) map[string]string {
		text := fmt.Sprint("s", n)
		return map[string]string{"input.json": `"` + text + strings.Repeat(" ", 200_000) + `"`, "instance-id": text, "workflow-name": text}
	}
	dir := mount(t, state(0))
	var stop atomic.Bool
	done := make(chan int)
	go func() {
		n := 1
		for ; !stop.Load(); n++ {
			publish(t, dir, fmt.Sprintf("..%d", n), state(n))
			time.Sleep(2 * time.Millisecond)
		}
		done <- n
	}()
	for range 300 {
		request, problems := load(t, "--input-dir", dir)
		if len(problems) > 0 { // it may give up, but not guess
			assert.Contains(t, problems[0], "keeps changing")
			continue
		}
		assert.Equal(t, request.InstanceID, request.WorkflowName)
		assert.True(t, strings.HasPrefix(string(request.Input), `"`+request.InstanceID+" "))
	}
	stop.Store(true)
	assert.Greater(t, <-done, 10, "there were updates")
}

func TestFilesOfUnknownNamesAreIgnored(t *testing.T) {
	dir := mount(t, with("some-other-key", "x"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "lost+found"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "a-pipe"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "start.sh"), nil, 0o644)) // beside ..data
	request, problems := load(t, "--input-dir", dir)
	assert.Empty(t, problems)
	assert.Equal(t, []string{"a-pipe", "lost+found", "some-other-key", "start.sh"}, request.Ignored, "and can be named")
}

func TestAFileThatIsAlmostCalledAsASettingIsInvalid(t *testing.T) {
	for name, meant := range map[string]string{
		"notAfter": "not-after", "not_after": "not-after", "not.after": "not-after", "notafter": "not-after", "NOT-AFTER": "not-after", "not-after.txt": "not-after",
		"not-after.": "not-after", ".not-after": "not-after", "not-after.yaml.bak": "not-after", "Not_After.TXT": "not-after", "not-after.2026.01": "not-after",
		"instanceID": "instance-id", "instance-id.txt": "instance-id", "workflowName": "workflow-name", "Sidecar": "sidecar", "sidecar.url": "sidecar",
		"retryFor": "retry-for", "retry_max_interval": "retry-max-interval", "requestTimeout": "request-timeout", "startTimeout": "start-timeout",
		"startDelay": "start-delay", "confirmFor": "confirm-for", "logFormat": "log-format", "terminationLog": "termination-log",
	} {
		for where, put := range map[string]func(dir string) error{
			"in ..data":         func(dir string) error { return os.WriteFile(filepath.Join(dir, "..data", name), []byte("x"), 0o644) },
			"beside it":         func(dir string) error { return os.WriteFile(filepath.Join(dir, name), nil, 0o644) },
			"a link to nothing": func(dir string) error { return os.Symlink("gone", filepath.Join(dir, name)) },
		} {
			t.Run(name+" "+where, func(t *testing.T) {
				dir := mount(t, good)
				require.NoError(t, put(dir))
				request, problems := load(t, "--input-dir", dir)
				require.Len(t, problems, 1)
				assert.Equal(t, filepath.Join(dir, name)+": no setting is called that: did you mean `"+meant+"`?", problems[0])
				assert.Empty(t, request.Ignored)
			})
		}
	}
	t.Run("in a plain directory, beside the right one and a flag", func(t *testing.T) {
		dir := t.TempDir()
		for name, content := range with("not-after", "2026-12-31T23:59:59Z") {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "notAfter"), nil, 0o644))
		_, problems := load(t, "--input-dir", dir, "--not-after", "2026-12-31T23:59:59Z")
		assert.Len(t, problems, 1)
	})
	t.Run("what is another name is none of these", func(t *testing.T) {
		files := map[string]string{"not-before": "", "start.sh": "", "after": "", "sidecars": "", "instance": "", "input.yaml": "", "input.json.bak": "", "version": "", "not after": "", "not-after~": ""}
		for name, content := range good {
			files[name] = content
		}
		request, problems := load(t, "--input-dir", mount(t, files))
		assert.Empty(t, problems)
		assert.Len(t, request.Ignored, 10)
	})
	t.Run("the kubelet's own link to a key that was removed is no file", func(t *testing.T) {
		dir := mount(t, good)
		require.NoError(t, os.Symlink("..data/notAfter", filepath.Join(dir, "notAfter")))
		_, problems := load(t, "--input-dir", dir)
		assert.Empty(t, problems)
	})
}

func TestADirectoryThatCantBeUsedIsInvalidAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	loop := t.TempDir()
	require.NoError(t, os.Symlink("..data", filepath.Join(loop, "..data")))
	dangling := t.TempDir()
	require.NoError(t, os.Symlink("..gone", filepath.Join(dangling, "..data")))
	for name, c := range map[string]struct{ dir, want string }{
		"it is missing":          {filepath.Join(t.TempDir(), "none"), "no such file or directory"},
		"it is a file":           {file, "not a directory"},
		"its state is a loop":    {loop, "too many levels of symbolic links"},
		"its state is missing":   {dangling, "no such file or directory"},
		"its name is empty":      {"", "--input-dir: can't be empty"},
		"its name is impossible": {"/" + strings.Repeat("x", 300), "file name too long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := load(t, "--input-dir", c.dir)
			all := strings.Join(problems, "\n")
			assert.Contains(t, all, "--input-dir")
			assert.Contains(t, all, c.want)
			assert.Contains(t, all, "--instance-id: required", "the rest is reported too")
		})
	}
}

func TestAFileThatCantBeUsedIsInvalidAtOnce(t *testing.T) {
	replace := map[string]func(t *testing.T, path string){
		"a directory where a file should be": func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o755)) },
		"a FIFO that nobody writes to":       func(t *testing.T, path string) { require.NoError(t, syscall.Mkfifo(path, 0o644)) },
		"a file of 2 GB": func(t *testing.T, path string) {
			f, err := os.Create(path)
			require.NoError(t, err)
			defer f.Close()
			require.NoError(t, f.Truncate(2<<30))
		},
		"a link to itself":    func(t *testing.T, path string) { require.NoError(t, os.Symlink(filepath.Base(path), path)) },
		"a link to a device":  func(t *testing.T, path string) { require.NoError(t, os.Symlink("/dev/zero", path)) },
		"a file without size": func(t *testing.T, path string) { require.NoError(t, os.Symlink("/proc/kallsyms", path)) },
		"a socket": func(t *testing.T, path string) {
			listener, err := net.Listen("unix", path)
			require.NoError(t, err)
			t.Cleanup(func() { listener.Close() })
		},
	}
	for name, put := range replace {
		for _, file := range []string{"input.json", "instance-id", "not-after", "sidecar", "retry-for"} {
			t.Run(name+": "+file, func(t *testing.T) {
				dir, err := os.MkdirTemp("", "") // a socket's path must be short
				require.NoError(t, err)
				t.Cleanup(func() { os.RemoveAll(dir) })
				for n, content := range good {
					if n != file {
						require.NoError(t, os.WriteFile(filepath.Join(dir, n), []byte(content), 0o644))
					}
				}
				put(t, filepath.Join(dir, file))
				_, problems := load(t, "--input-dir", dir)
				require.Len(t, problems, 1)
				assert.Contains(t, problems[0], filepath.Join(dir, file)+": ")
			})
		}
	}
}

func TestWhatIsNotReadableIsInvalid(t *testing.T) {
	if os.Getuid() == 0 {
		// Root reads everything. It gives that up for this thread, which ends with the test.
		runtime.LockOSThread()
		require.NoError(t, syscall.Setfsuid(65534))
		t.Cleanup(func() { _ = syscall.Setfsuid(0) })
	}
	dir, hidden := mount(t, good), mount(t, good)
	require.NoError(t, os.Chmod(filepath.Join(dir, "..data", "input.json"), 0))
	require.NoError(t, os.Chmod(filepath.Join(hidden, "..data"), 0o311)) // its files can be read, if one knows their names
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(hidden, "..data"), 0o755) })
	_, problems := load(t, "--input-dir", dir)
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "permission denied")
	_, problems = load(t, "--input-dir", hidden)
	assert.Contains(t, strings.Join(problems, "\n"), "its files can't be listed: permission denied", "a deadline may be among them")
}

func TestAFileThatIsNotNeededIsNotRead(t *testing.T) {
	dir := mount(t, with("instance-id", ""))
	require.NoError(t, os.Remove(filepath.Join(dir, "..data", "instance-id")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "..data", "instance-id"), 0o755))
	request, problems := load(t, "--input-dir", dir, "--instance-id", "b")
	assert.Empty(t, problems)
	assert.Equal(t, "b", request.InstanceID)
}

func TestTheInputIsChecked(t *testing.T) {
	const limit = 3 << 20
	for name, c := range map[string]struct{ content, problem string }{
		"an object":              {`{"a": 1}`, ""},
		"a list":                 {`[]`, ""},
		"a string":               {`"ü"`, ""},
		"a number":               {`1e400`, ""},
		"null":                   {`null`, ""},
		"white space around it":  {" \n{}\r\n", ""},
		"3 MiB":                  {`"` + strings.Repeat("x", limit-2) + `"`, ""},
		"3 MiB and a byte":       {`"` + strings.Repeat("x", limit-1) + `"`, "3145729 bytes, more than the 3145728 allowed"},
		"empty":                  {"", "empty"},
		"only white space":       {" \n", "not JSON: unexpected end of JSON input"},
		"half-written":           {`{"a": "b`, "not JSON: unexpected end of JSON input"},
		"two values":             {`{}{}`, "not JSON: invalid character '{' after top-level value (byte 3)"},
		"YAML":                   {"a: 1", "not JSON"},
		"not UTF-8":              {"\"\xff\"", "not UTF-8"},
		"Latin-1":                {"\"\xfc\"", "not UTF-8"},
		"a byte order mark":      {"\ufeff{}", "not JSON: it begins with a byte order mark (U+FEFF)"},
		"a byte order mark only": {"\ufeff", "not JSON: it begins with a byte order mark (U+FEFF)"},
		"UTF-16":                 {"\xff\xfe{\x00}\x00", "not UTF-8 but UTF-16, by its byte order mark"},
		"a line break in text":   {"\"a\nb\"", "not JSON"},
		"a trailing comma":       {`{"a":1,}`, "not JSON"},
		"NaN":                    {`NaN`, "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := mount(t, with("input.json", c.content))
			request, problems := load(t, "--input-dir", dir)
			if c.problem == "" {
				assert.Empty(t, problems)
				assert.Equal(t, c.content, string(request.Input), "byte for byte")
				return
			}
			require.Len(t, problems, 1)
			assert.Contains(t, problems[0], filepath.Join(dir, "input.json")+": "+c.problem)
		})
	}
	t.Run("missing", func(t *testing.T) {
		dir := mount(t, map[string]string{"instance-id": "a", "workflow-name": "W"})
		_, problems := load(t, "--input-dir", dir)
		assert.Equal(t, []string{filepath.Join(dir, "input.json") + ": missing: it holds the workflow's input"}, problems)
	})
}

func TestAFileThatTheStateDoesNotHoldIsNotTakenForMissing(t *testing.T) {
	for _, name := range []string{"input.json", "instance-id", "not-after", "sidecar", "retry-for", "termination-log"} {
		for what, put := range map[string]func(path string) error{
			"a file beside ..data":  func(path string) error { return os.WriteFile(path, []byte("2026-01-31T23:59:59Z"), 0o644) },
			"an empty one":          func(path string) error { return os.WriteFile(path, nil, 0o644) },
			"a link to nothing":     func(path string) error { return os.Symlink("/nowhere", path) },
			"a link to another key": func(path string) error { return os.Symlink("..data/other", path) },
		} {
			t.Run(what+": "+name, func(t *testing.T) {
				dir := mount(t, good)
				require.NoError(t, os.RemoveAll(filepath.Join(dir, "..data", name)))
				require.NoError(t, os.RemoveAll(filepath.Join(dir, name)))
				require.NoError(t, put(filepath.Join(dir, name)))
				_, problems := load(t, "--input-dir", dir)
				require.Len(t, problems, 1)
				assert.Contains(t, problems[0], filepath.Join(dir, name)+": beside ..data and not in it")
			})
		}
	}
	t.Run("a link to nothing in a plain directory", func(t *testing.T) {
		dir := t.TempDir()
		for name, content := range good {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
		}
		require.NoError(t, os.Symlink("gone", filepath.Join(dir, "not-after")))
		_, problems := load(t, "--input-dir", dir)
		require.Len(t, problems, 1)
		assert.Contains(t, problems[0], "a link to nothing")
	})
	t.Run("the kubelet's own link to a key that was removed is no file", func(t *testing.T) {
		dir := mount(t, good)
		require.NoError(t, os.Symlink("..data/not-after", filepath.Join(dir, "not-after")))
		request, problems := load(t, "--input-dir", dir)
		assert.Empty(t, problems)
		assert.Nil(t, request.NotAfter)
	})
}

func TestASettingMayHave64KiB(t *testing.T) {
	const limit = 64 << 10
	_, problems := load(t, "--input-dir", mount(t, with("workflow-name", "W"+strings.Repeat(" ", limit-1))))
	assert.Empty(t, problems)
	_, problems = load(t, "--input-dir", mount(t, with("workflow-name", "W"+strings.Repeat(" ", limit))))
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "65537 bytes, more than the 65536 allowed")
}

func TestTheOutcomeIsToldWhateverIsWrong(t *testing.T) {
	dir := mount(t, with("log-format", "xml"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "..data", "termination-log"), 0o755))
	request, problems := load(t, "--input-dir", dir)
	assert.Len(t, problems, 2)
	assert.Equal(t, "/dev/termination-log", request.TerminationLog, "the kubelet's, if the one named can't be had")
	assert.Equal(t, "text", request.LogFormat)
}
