package input_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/input"
)

func TestALeadingByteOrderMarkIsCut(t *testing.T) {
	for _, s := range every {
		for _, text := range []string{"\ufeff" + s.one, "\ufeff \r\n" + s.one + "\n"} {
			request, problems := load(t, "--input-dir", mount(t, with(s.name, text)))
			assert.Empty(t, problems, s.name)
			assert.Equal(t, s.one, s.see(request))
		}
	}
	t.Run("and what is empty then counts as not given", func(t *testing.T) {
		request, problems := load(t, "--input-dir", mount(t, with("not-after", "\ufeff\r\n")))
		assert.Empty(t, problems)
		assert.Nil(t, request.NotAfter)
		_, problems = load(t, "--input-dir", mount(t, with("workflow-name", "\ufeff")))
		require.Len(t, problems, 1)
		assert.Contains(t, problems[0], "--workflow-name: required")
	})
}

func TestWhatNobodySeesIsInvalidAndNamed(t *testing.T) {
	for text, want := range map[string]string{
		"\u200b":        "character 1 is U+200B, which nobody sees",
		"W\u200b":       "character 2 is U+200B, which nobody sees",
		"Wü\u200bV":     "character 3 is U+200B, which nobody sees",
		"W\nV":          "character 2 is U+000A, a line break: a value is one line",
		"W\r\nV":        "character 2 is U+000D, a line break: a value is one line",
		"W\u2028V":      "character 2 is U+2028, a line break: a value is one line",
		"W\x00":         "character 2 is U+0000, which nobody sees",
		"\x1b[31mW":     "character 1 is U+001B, which nobody sees",
		"W\tV":          "character 2 is U+0009, which nobody sees",
		"W\u00a0V":      "character 2 is U+00A0, which nobody sees",
		"W\u00adV":      "character 2 is U+00AD, which nobody sees",
		"W\u202eV":      "character 2 is U+202E, which nobody sees",
		"W\ufeff":       "character 2 is U+FEFF, which nobody sees",
		"W\u3164":       "character 2 is U+3164, which nobody sees",
		"W\u034f":       "character 2 is U+034F, which nobody sees",
		"W\ufe0f":       "character 2 is U+FE0F, which nobody sees",
		"W\u2800":       "character 2 is U+2800, which nobody sees",
		"W\U000e0041":   "character 2 is U+E0041, which nobody sees",
		"\xff\xfeW\x00": "not UTF-8 but UTF-16, by its byte order mark",
		"W\xff":         "not UTF-8",
	} {
		for _, s := range every {
			t.Run(s.name, func(t *testing.T) {
				dir := mount(t, with(s.name, text))
				_, problems := load(t, "--input-dir", dir)
				assert.Equal(t, []string{filepath.Join(dir, s.name) + ": " + want}, problems)
				_, problems = load(t, "--input-dir", mount(t, good), "--"+s.name, text)
				assert.Equal(t, []string{"--" + s.name + ": " + want}, problems)
			})
		}
		_, problems := load(t, "--input-dir", mount(t, good)+text)
		require.NotEmpty(t, problems)
		assert.Equal(t, "--input-dir: "+want[:5], problems[0][:len("--input-dir: ")+5])
	}
}

func TestBlanksAreCutFromAFileAndWrongInAFlag(t *testing.T) {
	for _, s := range every {
		for _, text := range []string{" ", "   ", " " + s.one, s.one + " "} {
			_, problems := load(t, "--input-dir", mount(t, good), "--"+s.name, text)
			assert.Equal(t, []string{"--" + s.name + ": begins or ends with a blank (U+0020), which nobody sees"}, problems)
		}
	}
}

func TestWhatANameMayLookLike(t *testing.T) {
	for _, name := range []string{"W", "mit Leerzeichen/ü", "u\u0308", "工作流", "سير_العمل", "🚀", "a+b%20c?d#e", "\ufffd"} {
		request, problems := load(t, "--input-dir", mount(t, with("workflow-name", name)))
		assert.Empty(t, problems, name)
		assert.Equal(t, name, request.WorkflowName)
	}
}

func TestTheInstanceIDIsToldAlsoIfItIsWrong(t *testing.T) {
	for _, id := range []string{"bad.id", "a\u200b"} {
		request, problems := load(t, "--input-dir", mount(t, with("instance-id", id)))
		assert.Len(t, problems, 1)
		assert.Equal(t, id, request.InstanceID)
	}
}

func TestWhiteSpaceIsCutFromDaprsVariables(t *testing.T) {
	dir := mount(t, good)
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{"DAPR_HTTP_ENDPOINT", "http://dapr:3500\n"}, "http://dapr:3500"},
		{[]string{"DAPR_HTTP_ENDPOINT", " \thttp://dapr:3500\r\n"}, "http://dapr:3500"},
		{[]string{"DAPR_HTTP_PORT", "3600\n"}, "http://127.0.0.1:3600"},
		{[]string{"DAPR_HTTP_PORT", " \n", "DAPR_HTTP_ENDPOINT", "\n", "DAPR_GRPC_ENDPOINT", " "}, "http://127.0.0.1:3500"},
		{[]string{"DAPR_HTTP_PORT", "3600", "DAPR_HTTP_ENDPOINT", " "}, "http://127.0.0.1:3600"},
	} {
		request, problems := input.ParseCommandLine([]string{"--input-dir", dir}).Load(env(c.env...))
		assert.Empty(t, problems, c.env)
		assert.Equal(t, c.want, request.Sidecar.String())
	}
	for _, name := range []string{"DAPR_HTTP_ENDPOINT", "DAPR_HTTP_PORT", "DAPR_GRPC_ENDPOINT", "DAPR_API_TOKEN"} {
		for _, text := range []string{"3500\u200b", "\ufeff3500", "35\x0000"} {
			_, problems := input.ParseCommandLine([]string{"--input-dir", dir}).Load(env(name, text))
			require.Len(t, problems, 1)
			assert.Regexp(t, "^"+name+": .*U\\+(200B|FEFF|0000), which nobody sees", problems[0])
		}
	}
	t.Run("all of them", func(t *testing.T) {
		request, problems := input.ParseCommandLine([]string{"--input-dir", dir}).Load(func(string) string { return " " })
		assert.Empty(t, problems)
		assert.Equal(t, "http://127.0.0.1:3500", request.Sidecar.String())
		assert.Empty(t, request.Token)
	})
}

func TestAFileOfAnEditorIsReadAsOnEverySystem(t *testing.T) {
	// PowerShell writes a byte order mark and \r\n.
	dir := t.TempDir()
	for name, content := range good {
		if name != "input.json" {
			content = "\ufeff" + strings.ReplaceAll(content, "\n", "\r\n") + "\r\n"
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	request, problems := load(t, "--input-dir", dir)
	assert.Empty(t, problems)
	assert.Equal(t, "W", request.WorkflowName)
}
