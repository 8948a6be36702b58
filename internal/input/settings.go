package input

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A setting is one row of the table in SPEC section 2. Each is a flag, and a file of the same name.
type setting struct {
	name     string
	fallback string // the default; "" if there is none
	usage    string
	set      func(*Request, string) error
}

// required says whether there is no run without it.
func (s setting) required() bool { return s.name == "instance-id" || s.name == "workflow-name" }

// give gives the setting the value that a flag or a file holds.
func (s setting) give(r *Request, text string) error {
	if s.name == "instance-id" {
		r.InstanceID = text // also if it is wrong: the outcome says what was given
	}
	if err := checkValue(text); err != nil {
		return err
	}
	return s.set(r, text)
}

// settings holds every setting but --input-dir, which says where the files are.
var settings = []setting{
	{"instance-id", "", "the `ID` of the instance to start: 1 to 64 ASCII letters, digits, _ and - (required)", setInstanceID},
	{"workflow-name", "", "the `name` under which the worker registered the workflow (required)", setWorkflowName},
	{"sidecar", "", "the sidecar's `address`: http:// or https://, host and port (default\n" +
		"$DAPR_HTTP_ENDPOINT, else http://127.0.0.1:$DAPR_HTTP_PORT, else port 3500)", setSidecar},
	{"not-after", "", "never start later than this `time`, RFC 3339, such as 2026-12-31T23:59:59Z:\n" +
		"a state store that has forgotten the instance would let it run again (default none)", setNotAfter},
	{"retry-for", "2m", "for how long (`duration`) to keep asking while the sidecar is not answering",
		duration(1, func(r *Request) *time.Duration { return &r.RetryFor })},
	{"retry-max-interval", "2s", "longest pause (`duration`) between two asks: they begin shorter, grow, and vary\n" +
		"at random, so that many triggers don't ask in step; at least 10ms",
		duration(10*time.Millisecond, func(r *Request) *time.Duration { return &r.RetryMaxInterval })},
	{"request-timeout", "10s", "limit (`duration`) of one ask", duration(1, func(r *Request) *time.Duration { return &r.RequestTimeout })},
	{"start-timeout", "1m", "limit (`duration`) of the one start request, connecting included: daprd holds\n" +
		"a start until a worker is connected", duration(1, func(r *Request) *time.Duration { return &r.StartTimeout })},
	{"start-delay", "5s", "gRPC only: schedule the run this far (`duration`) ahead, so that Dapr refuses\n" +
		"any other start meanwhile", setStartDelay},
	{"confirm-for", "30s", "for how long (`duration`) to ask, after a start whose answer was lost, whether\n" +
		"it took", duration(1, func(r *Request) *time.Duration { return &r.ConfirmFor })},
	{"log-format", "text", "`format` of the log on standard error: text or json", setLogFormat},
	{"termination-log", "/dev/termination-log", "also write the outcome to this `file`, if it exists: the kubelet shows it in\n" +
		"the pod's status", setTerminationLog},
}

func setInstanceID(_ *Request, text string) error { // give has set it
	if text == "" || len(text) > 64 || strings.TrimLeft(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return fmt.Errorf("%s is not an instance ID (1 to 64 ASCII letters, digits, _ and -)", quote(text))
	}
	return nil
}

func setWorkflowName(r *Request, text string) error {
	switch {
	case text == "":
		return errors.New("a workflow name can't be empty")
	case text == ".", text == "..":
		return fmt.Errorf("%q can't be a workflow's name: in the path of a request it means another path", text)
	}
	r.WorkflowName = text
	return nil
}

func setSidecar(r *Request, text string) (err error) {
	r.Sidecar, err = parseAddress(text)
	if err == nil && strings.HasPrefix(r.Sidecar.Scheme, "grpc") {
		return errGRPC
	}
	return err
}

func setNotAfter(r *Request, text string) error {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || !strictRFC3339(t, text) {
		return fmt.Errorf("%s is not a time such as 2026-12-31T23:59:59Z (RFC 3339)", quote(text))
	}
	r.NotAfter = &Deadline{t, text}
	return nil
}

// strictRFC3339 refuses what time.Parse lets pass: an hour of one digit, a comma before the fraction, an
// offset of a day or more.
func strictRFC3339(t time.Time, text string) bool {
	const upToSeconds = "2006-01-02T15:04:05"
	offset := text[len(text)-len("07:00"):]
	return strings.HasPrefix(text, t.Format(upToSeconds)) && !strings.Contains(text, ",") &&
		(strings.HasSuffix(text, "Z") || offset[:2] < "24" && offset[3:] < "60")
}

// duration returns what sets a duration that is no shorter than least. A least of 1 is any but 0.
func duration(least time.Duration, field func(*Request) *time.Duration) func(*Request, string) error {
	return func(r *Request, text string) error {
		d, err := parseDuration(text)
		switch {
		case err != nil:
			return err
		case d == 0:
			return errors.New("must be longer than 0")
		case d < least:
			return fmt.Errorf("must be at least %v", least)
		}
		*field(r) = d
		return nil
	}
}

func setStartDelay(r *Request, text string) (err error) {
	r.StartDelay, err = parseDuration(text)
	return err
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s is not a duration such as 90s, 2m or 1h30m", quote(text))
	case d < 0:
		return 0, errors.New("can't be negative")
	}
	return d, nil
}

func setLogFormat(r *Request, text string) error {
	if text != "text" && text != "json" {
		return fmt.Errorf("%s is neither text nor json", quote(text))
	}
	r.LogFormat = text
	return nil
}

func setTerminationLog(r *Request, text string) error {
	r.TerminationLog = text
	return nil
}
