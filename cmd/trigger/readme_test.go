package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/outcome"
)

const repo = "../.."

func readme(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repo, "README.md"))
	require.NoError(t, err)
	return string(content)
}

// blocks returns the README's fenced blocks of one language.
func blocks(t *testing.T, language string) (found []string) {
	t.Helper()
	for _, match := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(readme(t), -1) {
		found = append(found, match[1])
	}
	require.NotEmpty(t, found)
	return found
}

func TestTheREADMEsCommandsRun(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(repo, "Makefile"))
	require.NoError(t, err)
	for _, block := range blocks(t, "sh") {
		for command := range strings.Lines(block) {
			command = strings.TrimSpace(command)
			if target, isMake := strings.CutPrefix(command, "make "); isMake && target != "demo" && target != "build" {
				// These are what CI runs, this test among them.
				assert.Contains(t, string(makefile), "\n"+target+":")
				continue
			}
			t.Run(command, func(t *testing.T) {
				cmd := exec.Command("sh", "-c", strings.ReplaceAll(command, "bin/", built.Dir(t)+"/"))
				cmd.Dir = repo
				cmd.Env = append(os.Environ(), "BIN="+t.TempDir(), "MAKEFLAGS=")
				out, err := cmd.CombinedOutput()
				assert.NoError(t, err, string(out))
				if command == "make demo" {
					for _, want := range []string{`"outcome":"started"`, `"outcome":"exists"`, `"outcome":"expired"`,
						`told to start 1 times, started {"cluster-build-watch_app-dev-homerun":1}`} {
						assert.Contains(t, string(out), want)
					}
				}
				if strings.Contains(command, "drop-response") {
					assert.Regexp(t, `asked [5-8] times, told to start 1 times`, string(out))
				}
			})
		}
	}
}

func TestTheREADMEsFlagsAreThePrograms(t *testing.T) {
	help, err := exec.Command(trigger(t), "--help").Output()
	require.NoError(t, err)
	_, list, _ := strings.Cut(string(help), "Flags:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	entries := regexp.MustCompile(`(?m)^(?:      |  -h, )--`).Split(list, -1)[1:]
	require.Len(t, entries, 15)
	for _, entry := range entries {
		name := regexp.MustCompile(`^[a-z-]+`).FindString(entry)
		row := regexp.MustCompile("(?m)^\\| .*`--" + name + "`.*$").FindString(readme(t))
		assert.NotEmpty(t, row, name)
		if byDefault := regexp.MustCompile(`\(default "([^"]+)"\)`).FindStringSubmatch(entry); byDefault != nil {
			assert.True(t, strings.HasSuffix(row, "| `"+byDefault[1]+"` |"), row)
		}
	}
}

func TestTheREADMEsOutcomesAreThePrograms(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| (\\d) \\| `([a-z]+)` \\|").FindAllStringSubmatch(readme(t), -1)
	require.Len(t, rows, 9)
	for _, row := range rows {
		assert.Equal(t, row[1], string(rune('0'+outcome.Name(row[2]).ExitCode())), row[2])
	}
	for _, block := range blocks(t, "json") {
		var line struct{ Outcome, InstanceID, WorkflowName, RuntimeStatus, Message string }
		require.NoError(t, json.Unmarshal([]byte(block), &line))
		about := outcome.About{InstanceID: line.InstanceID, WorkflowName: line.WorkflowName}
		assert.Equal(t, about.Exists(line.RuntimeStatus).Message(), line.Message)
	}
}
