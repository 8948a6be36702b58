package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// dataLink is the link through which the kubelet switches a mounted ConfigMap from one state to the
// next, all files at once.
const dataLink = "..data"

// A file is one file of the input directory, as found: err is fs.ErrNotExist if it is not there.
type file struct {
	content []byte
	err     error
}

// A mount is one state of the input directory.
type mount struct {
	files map[string]file // those that were asked for
	names []string        // of all files that are there, sorted
}

// readDirectory reads the files that limits names, each of at most that many bytes. They are all of
// one state of the ConfigMap: the kubelet removes a state only after dataLink points to the next, so
// what was read while the link stayed the same belongs together.
//
// It never waits for a writer and never reads what it would refuse: a FIFO, a device, a directory or a
// huge file costs one open and one stat.
func readDirectory(dir string, limits map[string]int64) (mount, error) {
	for range 10 { // an update a minute is usual; ten while we read is not
		state, _ := os.Readlink(filepath.Join(dir, dataLink)) // "" for a plain directory
		found, err := readState(dir, state, limits)
		if now, _ := os.Readlink(filepath.Join(dir, dataLink)); now == state {
			return found, err
		}
	}
	return mount{}, errors.New("keeps changing while it is read")
}

// readState reads the files of one state of dir: what dataLink points to, or dir itself if there is none.
func readState(dir, state string, limits map[string]int64) (mount, error) {
	current := state
	if !filepath.IsAbs(state) {
		current = filepath.Join(dir, state)
	}
	switch info, err := os.Stat(current); {
	case err != nil:
		return mount{}, withoutOperation(err)
	case !info.IsDir():
		return mount{}, errors.New("not a directory")
	}
	names, err := list(dir, current)
	if err != nil {
		return mount{}, fmt.Errorf("its files can't be listed: %w", withoutOperation(err))
	}
	files := make(map[string]file, len(limits))
	for name, limit := range limits {
		content, err := readFile(filepath.Join(current, name), limit)
		if errors.Is(err, fs.ErrNotExist) && strayed(filepath.Join(dir, name)) {
			err = errStrayed
		}
		files[name] = file{content, err}
	}
	return mount{files, names}, nil
}

// list returns the names of what is in a state of dir and of what somebody put beside it.
func list(dir, current string) ([]string, error) {
	inside, err := os.ReadDir(current)
	if err != nil {
		return nil, err
	}
	beside, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range inside {
		names = append(names, entry.Name())
	}
	for _, entry := range beside {
		if strayed(filepath.Join(dir, entry.Name())) {
			names = append(names, entry.Name())
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "..") }) // the kubelet's own
	slices.Sort(names)
	return slices.Compact(names), nil
}

// errStrayed is a file that somebody put there and that yet can't be read with the others. To take it for
// one that is not given could start a workflow without its deadline.
var errStrayed = errors.New("beside " + dataLink + " and not in it, as a subPath mount is, or a link to nothing: mount the ConfigMap as a whole")

// strayed says whether something of that name is there all the same. The kubelet's own link is not: it
// stays behind for a moment when a key has been removed.
func strayed(path string) bool {
	if _, err := os.Lstat(path); err != nil {
		return false
	}
	target, _ := os.Readlink(path)
	return target != filepath.Join(dataLink, filepath.Base(path))
}

func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO would block without
	if err != nil {
		return nil, withoutOperation(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, withoutOperation(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > limit:
		return nil, fmt.Errorf("%d bytes, more than the %d allowed", info.Size(), limit)
	}
	content, err := io.ReadAll(io.LimitReader(f, limit+1)) // the size may have lied, as in /proc
	switch {
	case err != nil:
		return nil, withoutOperation(err)
	case int64(len(content)) > limit:
		return nil, fmt.Errorf("more than the %d bytes allowed", limit)
	}
	return content, nil
}

// withoutOperation drops "open /input/x: " from an error that will be shown behind the path anyway.
func withoutOperation(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
