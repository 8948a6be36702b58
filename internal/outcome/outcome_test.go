package outcome_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/outcome"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/printable"
)

var about = outcome.About{InstanceID: "cbw_app-old", WorkflowName: "W", Sidecar: "http://h:3500"}

func TestEveryOutcomeHasItsExitCodeAndMessage(t *testing.T) {
	const hint = "; a corrected ConfigMap does not revive a failed Job: delete the Job (kro recreates it at once)"
	for _, c := range []struct {
		outcome outcome.Outcome
		exit    int
		name    string
		message string
	}{
		{about.Started(""), 0, "started", "instance cbw_app-old started"},
		{about.Exists("RUNNING"), 0, "exists", "instance cbw_app-old already exists, not starting it again"},
		{about.Exists("PENDING"), 0, "exists", "instance cbw_app-old already exists, not starting it again (PENDING: accepted, not running yet)"},
		{about.Exists("UNKNOWN"), 0, "exists", "instance cbw_app-old already exists, not starting it again (UNKNOWN: accepted, not running yet)"},
		{about.Expired("2026-12-31T23:59:59Z"), 0, "expired", "notAfter 2026-12-31T23:59:59Z has passed, not starting cbw_app-old"},
		{about.Undetermined("HTTP 403"), 3, "undetermined", "cannot tell whether cbw_app-old exists (HTTP 403; asked http://h:3500), refusing to start"},
		{about.Unanswered(2*time.Second, "503, x"), 3, "undetermined", "cannot tell whether cbw_app-old exists (the sidecar http://h:3500 did not answer for 2s: 503, x), refusing to start"},
		{about.Unanswered(0, "503, x"), 3, "undetermined", "cannot tell whether cbw_app-old exists (the sidecar http://h:3500 did not answer: 503, x), refusing to start"},
		{about.Unstarted("told to stop"), 3, "unstarted", "cbw_app-old not started: told to stop"},
		{about.TurnedAway("429, x"), 3, "unstarted", "cbw_app-old not started: 429, x; asked http://h:3500"},
		{about.Rejected("400, ERR_X: no"), 4, "rejected", "the sidecar refused to start cbw_app-old (400, ERR_X: no); asked http://h:3500" + hint},
		{about.Conflict("V", "RUNNING"), 4, "conflict", "instance cbw_app-old exists but runs V, not W"},
		{about.Unknown("PENDING", "timeout"), 5, "unknown", "cbw_app-old may or may not have been started (timeout; asked http://h:3500)"},
		{about.Invalid("--not-after: no"), 9, "invalid", "--not-after: no" + hint},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.exit, c.outcome.Name.ExitCode())
			var got map[string]string
			require.NoError(t, json.Unmarshal(c.outcome.Line(printable.Filter{}), &got))
			assert.Equal(t, map[string]string{
				"outcome": c.name, "instanceID": "cbw_app-old", "workflowName": "W",
				"runtimeStatus": c.outcome.RuntimeStatus, "message": c.message,
			}, got)
		})
	}
}

func TestTheLineFitsATerminationMessageAndKeepsItsHint(t *testing.T) {
	for name, filler := range map[string]string{
		"letters": "x", "quotes": `"`, "backslashes": `\`, "umlauts": "ü", "emoji": "🙂", "line breaks": "\n",
		"angle brackets": "<", "broken UTF-8": "\xff", "line separators": "\u2028",
	} {
		t.Run(name, func(t *testing.T) {
			long := strings.Repeat(filler, 100_000)
			o := outcome.About{InstanceID: long, WorkflowName: long}.Rejected(long)
			o.RuntimeStatus = long
			line := o.Line(printable.Filter{})
			assert.LessOrEqual(t, len(line), outcome.MaxBytes)
			assert.NotContains(t, string(line), "\n")
			var got struct{ Message string }
			require.NoError(t, json.Unmarshal(line, &got))
			assert.True(t, strings.HasSuffix(got.Message, "delete the Job (kro recreates it at once)"))
		})
	}
}

func TestOnlyTheReasonIsCut(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, c := range []struct {
		outcome       outcome.Outcome
		before, after string
	}{
		{about.Undetermined(long), "cannot tell whether cbw_app-old exists (xx", "x…; asked http://h:3500), refusing to start"},
		{about.Unanswered(time.Second, long), "cannot tell whether cbw_app-old exists (the sidecar http://h:3500 did not answer for 1s: xx", "x…), refusing to start"},
		{about.Unknown("", long), "cbw_app-old may or may not have been started (xx", "x…; asked http://h:3500)"},
		{about.Rejected(long), "the sidecar refused to start cbw_app-old (xx", "x…); asked http://h:3500; a corrected ConfigMap does not revive a failed Job: delete the Job (kro recreates it at once)"},
		{about.Unstarted(long), "cbw_app-old not started: xx", "x…"},
		{about.TurnedAway(long), "cbw_app-old not started: xx", "x…; asked http://h:3500"},
		{about.Expired(long), "notAfter xx", "x… has passed, not starting cbw_app-old"},
		{about.Conflict(long, long), "instance cbw_app-old exists but runs xx", "x…, not W"},
		{about.Invalid(long), "xx", "x…; a corrected ConfigMap does not revive a failed Job: delete the Job (kro recreates it at once)"},
	} {
		t.Run(string(c.outcome.Name), func(t *testing.T) {
			line := c.outcome.Line(printable.Filter{})
			var got struct{ Message string }
			require.NoError(t, json.Unmarshal(line, &got))
			assert.True(t, strings.HasPrefix(got.Message, c.before), got.Message)
			assert.True(t, strings.HasSuffix(got.Message, c.after), got.Message)
		})
	}
}

func TestTheLineUsesAllTheRoomThereIs(t *testing.T) {
	room := outcome.MaxBytes - len(about.Undetermined("").Line(printable.Filter{}))
	fits := about.Undetermined(strings.Repeat("x", room)).Line(printable.Filter{})
	assert.Len(t, fits, outcome.MaxBytes)
	assert.NotContains(t, string(fits), "…")
	cut := about.Undetermined(strings.Repeat("x", room+1)).Line(printable.Filter{})
	assert.Len(t, cut, outcome.MaxBytes)
	assert.Contains(t, string(cut), "xx…; asked http://h:3500), refusing to start")
	widest := about.Undetermined(strings.Repeat(`"`, room)).Line(printable.Filter{})
	assert.InDelta(t, outcome.MaxBytes, len(widest), 2, "two bytes each")
}

func TestTheLongestAddressIsShownWhole(t *testing.T) {
	about := outcome.About{InstanceID: strings.Repeat("a", 64), WorkflowName: "W", Sidecar: "https://" + strings.Repeat("h.", 126) + "h:65535"}
	assert.Contains(t, string(about.Undetermined(strings.Repeat("x", 100_000)).Line(printable.Filter{})), "; asked "+about.Sidecar+")")
}

func TestALineThatPeopleReadIsNotEscapedForABrowser(t *testing.T) {
	assert.Contains(t, string(about.Unstarted("<html> & co").Line(printable.Filter{})), "<html> & co")
}

func TestOurOwnWordsAreNeverBlottedOut(t *testing.T) {
	line := about.Undetermined("exists").Line(printable.NewFilter("exists"))
	assert.Contains(t, string(line), "cannot tell whether cbw_app-old exists ([redacted]; asked http://h:3500), refusing to start")
}

func TestTheLineShowsNoTokenInAnyField(t *testing.T) {
	const token = `to"ken<1>`
	o := outcome.About{InstanceID: "a", WorkflowName: token}.Conflict(token, token)
	line := string(o.Line(printable.NewFilter(token)))
	assert.NotContains(t, line, token)
	assert.NotContains(t, line, `to\"ken<1>`)
	assert.Equal(t, 4, strings.Count(line, "[redacted]"))
}
