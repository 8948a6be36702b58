// Package printable makes text from outside fit for a log line: what a sidecar answers and what a
// mounted file holds can't forge a second line, colour a terminal, fill a log or show the API token.
package printable

import (
	"strings"
	"unicode"
)

// ellipsis marks where Filter.Clean cut a text.
const ellipsis = "…"

// A Filter cleans text. The zero Filter knows no secret.
type Filter struct {
	secret *secret
}

// NewFilter returns a Filter that also blots out secret, however it is written. An empty secret is none.
func NewFilter(secret string) Filter {
	if secret == "" {
		return Filter{}
	}
	return Filter{newSecret(secret)}
}

// Clean returns text on one line, of printable characters only, without the secret, and at most limit
// characters long. White space becomes a blank and anything else that does not print becomes U+FFFD,
// so that dropping a character can't join the two halves of a secret.
func (f Filter) Clean(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		default:
			return unicode.ReplacementChar
		}
	}, text)
	if f.secret != nil {
		text = f.secret.redact(text) // before the cut, which could leave half a secret
	}
	return Cut(text, limit)
}

// Cut returns text with at most limit characters, the last of them an ellipsis if some are missing.
func Cut(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:max(limit-1, 0)]) + ellipsis
}
