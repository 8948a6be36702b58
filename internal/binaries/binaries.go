// Package binaries builds the real programs for tests that run them.
package binaries

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds the packages of the programs, statically, into dir. What is given to the linker is one flag.
//
// A build that is run as a program is no input of a test that Go knows of: it would answer "(cached)" after the
// code has changed. What a test opens is one, so all the sources under root are opened.
func Build(root, dir, linker string, packages ...string) error {
	for _, sources := range []string{"go.mod", "go.sum", "cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, sources), func(path string, entry fs.DirEntry, err error) error {
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
	build := exec.Command("go", append([]string{"build", "-buildvcs=false", "-ldflags=" + linker, "-o", dir}, packages...)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}
