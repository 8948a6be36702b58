package input_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/input"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestDefaults(t *testing.T) {
	request, problems := load(t, "--input-dir", mount(t, good))
	assert.Empty(t, problems)
	assert.Equal(t, input.Request{
		InstanceID: "a", WorkflowName: "W", Input: []byte(`{"a":1}`), Sidecar: input.Address{Scheme: "http", Host: "127.0.0.1:3500"},
		RetryFor: 2 * time.Minute, RetryMaxInterval: 2 * time.Second, RequestTimeout: 10 * time.Second, StartTimeout: time.Minute,
		StartDelay: 5 * time.Second, ConfirmFor: 30 * time.Second, LogFormat: "text", TerminationLog: "/dev/termination-log",
	}, request)
}

// every holds, for every setting, two values and how to see which of them holds.
var every = []known{
	{"instance-id", "one", "other", func(r input.Request) string { return r.InstanceID }},
	{"workflow-name", "One", "Other", func(r input.Request) string { return r.WorkflowName }},
	{"sidecar", "http://one:1", "https://other:2", func(r input.Request) string { return r.Sidecar.String() }},
	{"not-after", "2026-12-31T23:59:59Z", "2026-12-31T23:59:59.5+01:00", func(r input.Request) string { return r.NotAfter.String() }},
	{"retry-for", "1s", "2m0s", func(r input.Request) string { return r.RetryFor.String() }},
	{"retry-max-interval", "1s", "3s", func(r input.Request) string { return r.RetryMaxInterval.String() }},
	{"request-timeout", "1s", "2s", func(r input.Request) string { return r.RequestTimeout.String() }},
	{"start-timeout", "1s", "2s", func(r input.Request) string { return r.StartTimeout.String() }},
	{"start-delay", "1s", "0s", func(r input.Request) string { return r.StartDelay.String() }},
	{"confirm-for", "1s", "2s", func(r input.Request) string { return r.ConfirmFor.String() }},
	{"log-format", "json", "text", func(r input.Request) string { return r.LogFormat }},
	{"termination-log", "/one", "/other", func(r input.Request) string { return r.TerminationLog }},
}

type known struct {
	name, one, other string
	see              func(input.Request) string
}

func TestEverySettingIsAFlagAndAFile(t *testing.T) {
	for _, s := range every {
		t.Run(s.name, func(t *testing.T) {
			dir := mount(t, with(s.name, " \n"+s.one+"\r\n\t"))
			request, problems := load(t, "--input-dir", dir)
			assert.Empty(t, problems)
			assert.Equal(t, s.one, s.see(request), "the file, without the white space around")
			for _, args := range [][]string{{"--" + s.name, s.other}, {"--" + s.name + "=" + s.other}} {
				request, problems = load(t, append(args, "--input-dir", dir)...)
				assert.Empty(t, problems)
				assert.Equal(t, s.other, s.see(request), "the flag comes before the file")
			}
			if s.name == "instance-id" || s.name == "workflow-name" {
				return
			}
			request, problems = load(t, "--input-dir", mount(t, with(s.name, " \n")))
			assert.Empty(t, problems)
			byDefault, _ := load(t, "--input-dir", mount(t, good))
			assert.Equal(t, s.see(byDefault), s.see(request), "an empty file is not given")
		})
	}
}

func TestTheSidecarComesFromDaprsEnvironmentIfNothingElseNamesIt(t *testing.T) {
	plain, named := mount(t, good), mount(t, with("sidecar", "http://file:1"))
	for _, c := range []struct {
		name, dir string
		env       []string
		want      string
	}{
		{"nothing", plain, nil, "http://127.0.0.1:3500"},
		{"the port", plain, []string{"DAPR_HTTP_PORT", "3600"}, "http://127.0.0.1:3600"},
		{"the endpoint before the port", plain, []string{"DAPR_HTTP_PORT", "3600", "DAPR_HTTP_ENDPOINT", "https://dapr.example.com"}, "https://dapr.example.com:443"},
		{"the HTTP endpoint before the gRPC one", plain, []string{"DAPR_GRPC_ENDPOINT", "other:50001", "DAPR_HTTP_ENDPOINT", "http://dapr"}, "http://dapr:80"},
		{"the file before the environment", named, []string{"DAPR_HTTP_ENDPOINT", "http://env:2"}, "http://file:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			request, problems := input.ParseCommandLine([]string{"--input-dir", c.dir}).Load(env(c.env...))
			assert.Empty(t, problems)
			assert.Equal(t, c.want, request.Sidecar.String())
		})
	}
	t.Run("the flag before the file", func(t *testing.T) {
		request, problems := load(t, "--input-dir", named, "--sidecar", "http://flag:1")
		assert.Empty(t, problems)
		assert.Equal(t, "http://flag:1", request.Sidecar.String())
	})
	for _, bad := range [][]string{
		{"DAPR_HTTP_ENDPOINT", "localhost:3500"}, {"DAPR_HTTP_ENDPOINT", "grpc://localhost"}, {"DAPR_HTTP_PORT", "http"}, {"DAPR_HTTP_PORT", "70000"},
	} {
		t.Run("a bad "+strings.Join(bad, "="), func(t *testing.T) {
			_, problems := input.ParseCommandLine([]string{"--input-dir", plain}).Load(env(bad...))
			require.Len(t, problems, 1)
			assert.True(t, strings.HasPrefix(problems[0], bad[0]+": "), problems[0])
		})
	}
}

func TestWhatIsValid(t *testing.T) {
	for _, c := range []struct{ flag, value string }{
		{"instance-id", "a"}, {"instance-id", "cbw_app-OLD_09"}, {"instance-id", "-"}, {"instance-id", strings.Repeat("a", 64)},
		{"workflow-name", "W"}, {"workflow-name", "..."}, {"workflow-name", ".W"}, {"workflow-name", "mit Leerzeichen/ü"},
		{"sidecar", "http://a"}, {"sidecar", "HTTPS://a.b-c_d.example.com:65535/"}, {"sidecar", "http://[::1]:3500"}, {"sidecar", "http://10.0.0.1:1"},
		{"not-after", "2026-12-31T23:59:59Z"}, {"not-after", "2026-12-31T23:59:59.123456789+14:00"}, {"not-after", "2028-02-29T00:00:00-00:00"},
		{"retry-for", "1ns"}, {"retry-for", "1.5h"}, {"retry-for", "1h2m3s"}, {"start-delay", "0"}, {"start-delay", "0s"},
		{"retry-max-interval", "10ms"},
		{"log-format", "json"}, {"termination-log", ""},
	} {
		t.Run(c.flag+"="+c.value, func(t *testing.T) {
			_, problems := load(t, "--input-dir", mount(t, good), "--"+c.flag, c.value)
			assert.Empty(t, problems)
		})
	}
}

func TestWhatIsInvalid(t *testing.T) {
	for _, c := range []struct{ flag, value string }{
		{"instance-id", ""}, {"instance-id", "bad.id"}, {"instance-id", strings.Repeat("a", 65)}, {"instance-id", "bäd"}, {"instance-id", "a b"},
		{"instance-id", "a/b"}, {"instance-id", " a"}, {"instance-id", "a\n"}, {"instance-id", "a\x00"}, {"instance-id", "٣"},
		{"workflow-name", ""}, {"workflow-name", "\xff"}, {"workflow-name", "."}, {"workflow-name", ".."},
		{"sidecar", ""}, {"sidecar", "localhost:3500"}, {"sidecar", "localhost"}, {"sidecar", "//localhost"}, {"sidecar", "ftp://a"}, {"sidecar", "http://"},
		{"sidecar", "http://:3500"}, {"sidecar", "http://a:0"}, {"sidecar", "http://a:65536"}, {"sidecar", "http://a:x"}, {"sidecar", "http://a:-1"},
		{"sidecar", "http://a/v1.0"}, {"sidecar", "http://a?x"}, {"sidecar", "http://a?"}, {"sidecar", "http://a#x"}, {"sidecar", "http://user@a"},
		{"sidecar", "http://user:pass@a"}, {"sidecar", "http://a b"}, {"sidecar", "http://a\n"}, {"sidecar", " http://a"}, {"sidecar", "http://[::1"}, {"sidecar", "http://bücher.example:3500"},
		{"sidecar", "grpc://localhost:50001"}, {"sidecar", "grpcs://localhost"},
		{"not-after", ""}, {"not-after", "2026-02-30T00:00:00Z"}, {"not-after", "2026-12-31"}, {"not-after", "2026-12-31T9:59:59Z"},
		{"not-after", "2026-12-31 23:59:59Z"}, {"not-after", "2026-12-31T23:59:59"}, {"not-after", "2026-12-31T23:59:59,5Z"}, {"not-after", "2026-12-31T24:00:00Z"},
		{"not-after", "2026-12-31T23:59:59+24:00"}, {"not-after", "2026-12-31T23:59:59-01:60"}, {"not-after", "12026-12-31T23:59:59Z"}, {"not-after", "2026-12-31t23:59:59z"}, {"not-after", "31.12.2026"}, {"not-after", "tomorrow"}, {"not-after", "1798761599"}, {"not-after", "$(date)"},
		{"not-after", "2026-12-31T23:59:59Z\n"}, {"not-after", "2026-13-01T00:00:00Z"}, {"not-after", "2027-02-29T00:00:00Z"},
		{"retry-for", ""}, {"retry-for", "0"}, {"retry-for", "-1s"}, {"retry-for", "30"}, {"retry-for", "1d"}, {"retry-for", "99999999999h"},
		{"retry-max-interval", "0s"}, {"retry-max-interval", "1ns"}, {"retry-max-interval", "9.999999ms"}, {"request-timeout", "0s"}, {"start-timeout", "0s"}, {"confirm-for", "0s"}, {"start-delay", "-1s"}, {"start-delay", ""},
		{"log-format", ""}, {"log-format", "JSON"}, {"log-format", "logfmt"},
	} {
		t.Run(c.flag+"="+c.value, func(t *testing.T) {
			_, problems := load(t, "--input-dir", mount(t, good), "--"+c.flag, c.value)
			require.Len(t, problems, 1)
			assert.True(t, strings.HasPrefix(problems[0], "--"+c.flag+": "), problems[0])
			assert.NotContains(t, problems[0], "pass", "a password is not repeated")
			if text := strings.TrimSpace(c.value); text != "" && text == c.value {
				dir := mount(t, with(c.flag, c.value))
				_, problems := load(t, "--input-dir", dir)
				require.Len(t, problems, 1)
				assert.True(t, strings.HasPrefix(problems[0], dir+"/"+c.flag+": "), problems[0])
			}
		})
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	dir := mount(t, map[string]string{"input.json": "{", "instance-id": "bad.id", "not-after": "tomorrow", "sidecar": "nowhere", "log-format": "xml"})
	_, problems := input.ParseCommandLine([]string{"--input-dir", dir, "--bogus", "--retry-for=0", "-x", "stray", "--help=perhaps", "---", "--confirm-for"}).
		Load(env("DAPR_API_TOKEN", "two\nlines"))
	all := strings.Join(problems, "\n")
	for _, part := range []string{
		"--bogus", "-x", `"stray"`, "--help", "---", "--confirm-for", "--retry-for: ", dir + "/input.json: ", dir + "/instance-id: ", "--workflow-name: required",
		dir + "/not-after: ", dir + "/sidecar: ", dir + "/log-format: ", "DAPR_API_TOKEN: ",
	} {
		assert.Contains(t, all, part)
	}
	assert.Len(t, problems, 14)
}

func TestALongValueIsNotRepeated(t *testing.T) {
	_, problems := load(t, "--input-dir", mount(t, good), "--not-after", strings.Repeat("x", 50_000))
	require.Len(t, problems, 1)
	assert.Less(t, len(problems[0]), 200)
}

func TestTheTokenComesFromTheEnvironmentOnly(t *testing.T) {
	dir := mount(t, with("dapr-api-token", "from the file"))
	request, problems := input.ParseCommandLine([]string{"--input-dir", dir}).Load(env("DAPR_API_TOKEN", " \ts3cret\n"))
	assert.Empty(t, problems)
	assert.Equal(t, "s3cret", request.Token, "without the white space around")
	for _, bad := range []string{"a\nb", "a\x00b", "tökén", "a\tb", "a\x7fb"} {
		_, problems := input.ParseCommandLine([]string{"--input-dir", dir}).Load(env("DAPR_API_TOKEN", bad))
		require.Len(t, problems, 1)
		assert.NotContains(t, problems[0], bad)
	}
	_, problems = load(t, "--input-dir", dir, "--dapr-api-token", "x")
	assert.Contains(t, strings.Join(problems, "\n"), "unknown flag: --dapr-api-token")
}

func TestAnyDeadlineCounts(t *testing.T) {
	for _, text := range []string{"0001-01-01T00:00:00Z", "0001-01-01T01:00:00+01:00", "0000-01-01T00:00:00Z", "1970-01-01T00:00:00Z"} {
		request, problems := load(t, "--input-dir", mount(t, with("not-after", text)))
		assert.Empty(t, problems)
		assert.True(t, request.NotAfter.Passed(time.Now()), text)
		assert.Equal(t, text, request.NotAfter.String())
	}
}

func TestTheDeadlineIsInclusive(t *testing.T) {
	at := time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC)
	deadline := &input.Deadline{Time: at}
	assert.False(t, deadline.Passed(at.Add(-1)))
	assert.False(t, deadline.Passed(at), "equal is still in time")
	assert.True(t, deadline.Passed(at.Add(1)))
	assert.True(t, (&input.Deadline{}).Passed(at), "an unset time is long past")
	assert.False(t, (*input.Deadline)(nil).Passed(at), "none never passes")
}
