package outcome

import (
	"math"
	"strings"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/printable"
)

// The most that is shown of what has a limit of its own, in characters. An instance ID has 64, a host 253.
const (
	maxName    = 200
	maxAddress = 300
)

// A sentence is a message in parts: our own words, a string each, which people search logs for and which
// are never changed; names and addresses; and the reason, which may be any text from outside and gives way first.
type sentence []any

type (
	name    string
	address string
	why     string
)

func (s sentence) String() string { return s.cut(math.MaxInt) }

// clean returns the sentence fit to be printed.
func (s sentence) clean(filter printable.Filter) sentence {
	cleaned := make(sentence, len(s))
	for i, part := range s {
		switch part := part.(type) {
		case name:
			cleaned[i] = name(filter.Clean(string(part), maxName))
		case address:
			cleaned[i] = address(filter.Clean(string(part), maxAddress))
		case why:
			cleaned[i] = why(filter.Clean(string(part), MaxBytes))
		default:
			cleaned[i] = part
		}
	}
	return cleaned
}

// cut returns the sentence with at most limit characters of each part that is not our own words.
func (s sentence) cut(limit int) string {
	var b strings.Builder
	for _, part := range s {
		switch part := part.(type) {
		case name:
			b.WriteString(printable.Cut(string(part), limit))
		case address:
			b.WriteString(printable.Cut(string(part), limit))
		case why:
			b.WriteString(printable.Cut(string(part), limit))
		case string:
			b.WriteString(part)
		}
	}
	return b.String()
}
