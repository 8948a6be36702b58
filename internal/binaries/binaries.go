// Package binaries builds the real programs, for tests that run them.
package binaries

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// A Set is some programs that the tests of a package run, built when the first of them asks for one.
type Set struct {
	Root     string   // of the module
	Packages []string // what to build
	Linker   string   // a flag for the linker, if not empty

	once sync.Once
	dir  string
	err  error
}

// Dir returns the directory with the programs.
func (s *Set) Dir(t testing.TB) string {
	t.Helper()
	s.once.Do(func() {
		if s.dir, s.err = os.MkdirTemp("", "binaries"); s.err == nil {
			s.err = s.build()
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.dir
}

// Remove removes what was built. It is for TestMain, after the tests.
func (s *Set) Remove() { _ = os.RemoveAll(s.dir) }

// build builds the programs, statically.
//
// A build that is run as a program is no input of a test that Go knows of: it would answer "(cached)" after the
// code has changed. What a test opens is one, though not before TestMain runs the tests; so it happens in one,
// and all that the programs and their runs are made of is opened.
func (s *Set) build() error {
	for _, sources := range []string{"go.mod", "go.sum", "Makefile", "cmd", "internal", "build", "testdata"} {
		err := filepath.WalkDir(filepath.Join(s.Root, sources), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			return f.Close()
		})
		if err != nil {
			return err
		}
	}
	build := exec.Command("go", append([]string{"build", "-buildvcs=false", "-ldflags=" + s.Linker, "-o", s.dir}, s.Packages...)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}
