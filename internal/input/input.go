// Package input turns the command line, the mounted ConfigMap and Dapr's environment variables into one
// validated Request, or into every problem they have at once (SPEC section 2).
package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Request is what one run of the trigger was told to do.
type Request struct {
	InstanceID   string
	WorkflowName string
	Input        []byte    // input.json, byte for byte
	NotAfter     *Deadline // nil: none
	Sidecar      Address
	Token        string // the API token, "" for none

	RetryFor         time.Duration
	RetryMaxInterval time.Duration
	RequestTimeout   time.Duration
	StartTimeout     time.Duration
	StartDelay       time.Duration // gRPC only
	ConfirmFor       time.Duration

	LogFormat      string // text or json
	TerminationLog string // a path, "" for nowhere

	Ignored []string // the files in the input directory that mean nothing here
}

// A Deadline is the last moment at which a start may be sent. Any Deadline counts: that there is none is
// a nil pointer and never a moment, since an unset time that somebody's serialiser wrote down
// (0001-01-01T00:00:00Z) is a deadline long past.
type Deadline struct {
	Time time.Time
	Text string // as the user wrote it
}

// Passed says whether now is later than the deadline. A moment equal to it is still in time.
func (d *Deadline) Passed(now time.Time) bool { return d != nil && now.After(d.Time) }

// String returns the deadline as the user wrote it, "" if there is none.
func (d *Deadline) String() string {
	if d == nil {
		return ""
	}
	return d.Text
}

const (
	inputFile = "input.json"
	// maxInput is what Dapr runs for sure: up to 4 MiB it accepts a start and then never runs it.
	maxInput = 3 << 20
	// maxSetting is far more than any setting needs.
	maxSetting = 64 << 10
)

// Load returns the request that the command line and the files in its input directory make, with what
// getenv says of Dapr, and everything that is wrong with it: each problem is a sentence that begins with
// its flag, file or variable. With problems, only the request's names and its two logs are of use.
func (c CommandLine) Load(getenv func(string) string) (Request, []string) {
	limits := map[string]int64{inputFile: maxInput}
	for _, s := range settings {
		if !c.given(s.name) {
			limits[s.name] = maxSetting
		}
	}
	problems := c.problems
	found, err := readDirectory(c.inputDir, limits)
	if err != nil {
		problems = append(problems, fmt.Sprintf("--input-dir: %s, where %s should be: %v", quote(c.inputDir), inputFile, err))
	}

	request := Request{}
	for _, s := range settings { // also what is invalid below is told in a log format, and to a termination log
		if s.fallback != "" {
			_ = s.set(&request, s.fallback)
		}
	}
	dapr := func(name string) string { return strings.TrimSpace(getenv(name)) } // a Secret's value ends in a newline
	report := func(source string, err error) {
		if err != nil {
			problems = append(problems, source+": "+err.Error())
		}
	}
	for _, s := range settings {
		report(c.apply(s, &request, found.files, dapr))
	}
	if err == nil {
		var wrong error
		request.Input, wrong = checkInput(found.files[inputFile])
		report(c.path(inputFile), wrong)
	}
	for _, name := range found.names {
		switch near := meant(name); {
		case near == name, name == inputFile:
		case near != "":
			report(c.path(name), fmt.Errorf("no setting is called that: did you mean `%s`?", near))
		default:
			request.Ignored = append(request.Ignored, name)
		}
	}
	request.Token = dapr("DAPR_API_TOKEN")
	report("DAPR_API_TOKEN", checkToken(request.Token))
	return request, problems
}

// apply gives one setting its value, the first there is of flag, file and Dapr's environment, and returns
// where the value came from and what is wrong with it. Without any, it leaves the default.
func (c CommandLine) apply(s setting, r *Request, files map[string]file, dapr func(string) string) (string, error) {
	flag := "--" + s.name
	if c.given(s.name) {
		return flag, s.give(r, c.value(s.name))
	}
	f, read := files[s.name]
	if read && f.err != nil && !errors.Is(f.err, fs.ErrNotExist) {
		return c.path(s.name), f.err
	}
	if text := cut(f.content); text != "" {
		return c.path(s.name), s.give(r, text)
	}
	switch {
	case s.name == "sidecar":
		address, source, err := addressFromDapr(dapr)
		r.Sidecar = address
		return source, err
	case s.required():
		return flag, fmt.Errorf("required: give the flag or put it into %s", quote(c.path(s.name)))
	}
	return flag, nil // the default
}

func (c CommandLine) path(name string) string { return filepath.Join(c.inputDir, name) }

func checkInput(f file) ([]byte, error) {
	switch {
	case errors.Is(f.err, fs.ErrNotExist):
		return nil, errors.New("missing: it holds the workflow's input")
	case f.err != nil:
		return nil, f.err
	case len(f.content) == 0:
		return nil, errors.New("empty: a workflow without input takes null or {}")
	case bytes.HasPrefix(f.content, []byte(byteOrderMark)):
		return nil, errors.New("not JSON: it begins with a byte order mark (U+FEFF), save it as UTF-8 without one")
	case !utf8.Valid(f.content):
		return nil, notUTF8(string(f.content))
	}
	if !json.Valid(f.content) {
		var skipped json.RawMessage
		err := json.Unmarshal(f.content, &skipped) // says what Valid does not
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("not JSON: %w (byte %d)", err, syntax.Offset)
		}
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	return f.content, nil
}

// checkToken says, without repeating it, whether token can be sent in a header.
func checkToken(token string) error {
	for _, r := range token {
		switch {
		case !visible(r):
			return fmt.Errorf("holds %U, which nobody sees and no header can carry", r)
		case r < ' ' || r > '~':
			return errors.New("holds a character that no header can carry (printable ASCII only)")
		}
	}
	return nil
}

// quote shows a text from outside between quotes. One that would crowd out other problems is only
// counted: cut, it could show half a secret that nothing recognises any more.
func quote(text string) string {
	if len(text) > 80 {
		return fmt.Sprintf("a text of %d bytes", len(text))
	}
	return strconv.Quote(text)
}
