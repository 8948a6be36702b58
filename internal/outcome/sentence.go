package outcome

import (
	"math"
	"strings"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/printable"
)

// maxName is the most that is shown of a name, in characters. An instance ID has 64.
const maxName = 200

// A sentence is a message in parts: our own words, a string each, which people search logs for and which
// are never changed; names; and the reason, which may be any text from outside and gives way first.
type sentence []any

type (
	name string
	why  string
)

func (s sentence) String() string { return s.cut(math.MaxInt) }

// clean returns the sentence fit to be printed.
func (s sentence) clean(filter printable.Filter) sentence {
	cleaned := make(sentence, len(s))
	for i, part := range s {
		switch part := part.(type) {
		case name:
			cleaned[i] = name(filter.Clean(string(part), maxName))
		case why:
			cleaned[i] = why(filter.Clean(string(part), MaxBytes))
		default:
			cleaned[i] = part
		}
	}
	return cleaned
}

// cut returns the sentence with at most limit characters of the reason and of each name.
func (s sentence) cut(limit int) string {
	var b strings.Builder
	for _, part := range s {
		switch part := part.(type) {
		case name:
			b.WriteString(printable.Cut(string(part), limit))
		case why:
			b.WriteString(printable.Cut(string(part), limit))
		case string:
			b.WriteString(part)
		}
	}
	return b.String()
}
