package main_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// build makes the binaries as "make build" does, from the sources in dir.
func build(t *testing.T, dir string) []byte {
	t.Helper()
	bin := t.TempDir()
	cmd := exec.Command("make", "build", "BIN="+bin)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "MAKEFLAGS=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	content, err := os.ReadFile(filepath.Join(bin, "trigger"))
	require.NoError(t, err)
	return content
}

func TestItIsStaticAndTheSameBytesWhereverItIsBuilt(t *testing.T) {
	elsewhere := t.TempDir() // without version control
	for _, name := range []string{"go.mod", "go.sum", "Makefile", "cmd", "internal"} {
		require.NoError(t, exec.Command("cp", "-r", filepath.Join(repo, name), elsewhere).Run())
	}
	here, there := build(t, repo), build(t, elsewhere)
	assert.True(t, string(here) == string(there), "two builds differ")

	path := filepath.Join(t.TempDir(), "trigger")
	require.NoError(t, os.WriteFile(path, here, 0o755))
	binary, err := elf.Open(path)
	require.NoError(t, err)
	defer binary.Close()
	for _, program := range binary.Progs {
		assert.NotEqual(t, elf.PT_INTERP, program.Type, "it needs no interpreter")
	}
}
