// Package printable makes text from outside fit for a log line: what a sidecar answers and what a
// mounted file holds can't forge a second line, colour a terminal, fill a log or show the API token.
package printable

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// ellipsis marks where Filter.Clean cut a text.
const ellipsis = "…"

// A Filter cleans text. The zero Filter knows no secret.
type Filter struct {
	secret *strings.Replacer
}

// NewFilter returns a Filter that also blots out secret, as it is and as it looks once quoted for Go,
// JSON or a URL. An empty secret is none.
func NewFilter(secret string) Filter {
	if secret == "" {
		return Filter{}
	}
	quotedGo := strconv.Quote(secret)
	quotedJSON, _ := json.Marshal(secret) // a string always marshals
	var pairs []string
	for _, form := range []string{
		secret,
		quotedGo[1 : len(quotedGo)-1],
		string(quotedJSON[1 : len(quotedJSON)-1]),
		url.QueryEscape(secret),
		url.PathEscape(secret),
	} {
		pairs = append(pairs, form, "[redacted]")
	}
	return Filter{secret: strings.NewReplacer(pairs...)}
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
		text = f.secret.Replace(text) // before the cut, which could leave half a secret
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
