package printable

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

const (
	redacted = "[redacted]"

	// enough is how many letters and digits tell a secret from any other words. One with fewer is known by
	// its signs too, and one with fewer signs than tooFew only as it is.
	enough = 8
	tooFew = 4
	// maxEscaped is how often escapes are undone; JSON in JSON in a URL in HTML takes 4. Nobody escapes a text
	// more often, except to hide something.
	maxEscaped = 8
	// maxEncoded is how often base64 and hex are decoded; a header in a Kubernetes Secret takes 2.
	maxEncoded = 2
)

// A secret must not show in a text, however it is written. There are more ways to write it than anybody could
// list, so there is one rule: undo whatever can be undone (escapes, base64, hex), again and again, and see each
// time whether the secret's letters and digits stand there in a row. Leaving out all the rest makes it no
// matter what broke it in two, or which signs, quotes or blanks an encoding changed.
//
// Where it stands as it is, it is blotted out. Where it can be read only so, all of the text is: which part
// of it the secret is takes much more to know, and a sidecar that sends it that way deserves no better.
type secret struct {
	text    string
	needles []string
	counts  func(rune) bool // the characters that needles are made of
}

func newSecret(text string) *secret {
	s := &secret{text: text, counts: isLetterOrDigit}
	if len(only(isLetterOrDigit, text)) < enough {
		s.counts = isVisible
	}
	// A secret that itself holds "%41" stands nowhere once escapes are undone, but what that makes of it does.
	for range maxEscaped {
		if needle := only(s.counts, text); len(needle) >= tooFew {
			s.needles = append(s.needles, needle)
		}
		text = undo(text)
	}
	return s
}

// redact returns a text without the secret.
func (s *secret) redact(text string) string {
	text = strings.ReplaceAll(text, s.text, redacted)
	if s.readableIn(only(isVisible, text), maxEncoded) {
		return redacted
	}
	return text
}

// readableIn says whether the secret shows in a text whose escapes are undone, and which is decoded up to
// that many times.
func (s *secret) readableIn(text string, encoded int) bool {
	for range maxEscaped {
		counting := only(s.counts, text)
		for _, needle := range s.needles {
			if strings.Contains(counting, needle) {
				return true
			}
		}
		if encoded > 0 {
			for _, decoded := range decode(text) {
				if s.readableIn(decoded, encoded-1) {
					return true
				}
			}
		}
		undone := undo(text)
		if undone == text {
			return false
		}
		text = undone
	}
	return true
}

// undo returns a text with one level of its escapes undone: those with \ and %, or if there are none HTML's.
func undo(text string) string {
	if strings.ContainsAny(text, `\%`) {
		undone := escape().ReplaceAllStringFunc(text, func(escaped string) string {
			if hexadecimal, percent := strings.CutPrefix(escaped, "%"); percent {
				b, _ := hex.DecodeString(hexadecimal)
				return string(b)
			}
			r, _, _, err := strconv.UnquoteChar(escaped, '"')
			if err != nil {
				return escaped[1:] // as in \/
			}
			return string(r)
		})
		if undone != text {
			return undone
		}
	}
	return html.UnescapeString(text)
}

var escape = sync.OnceValue(func() *regexp.Regexp { // most runs have no secret
	return regexp.MustCompile(`(?s)\\(?:u[[:xdigit:]]{4}|U000[[:xdigit:]]{5}|x[[:xdigit:]]{2}|[0-7]{3}|.)|%[[:xdigit:]]{2}`)
})

// decode returns what a text may be in base64 or in hex. Nothing tells where one begins that stands among
// other words, so each is decoded from as many places as can make a difference.
func decode(text string) (decoded []string) {
	digits := only(isBase64, strings.NewReplacer("-", "+", "_", "/").Replace(text))
	for skip := range min(4, len(digits)) {
		d := digits[skip:]
		b, _ := base64.RawStdEncoding.DecodeString(d[:len(d)/4*4+len(d)%4/2*(len(d)%4)])
		decoded = append(decoded, string(b))
	}
	digits = only(isHex, text)
	for skip := range min(2, len(digits)) {
		b, _ := hex.DecodeString(digits[skip:]) // all but an odd digit at the end
		decoded = append(decoded, string(b))
	}
	return decoded
}

// only returns the characters of a text that count.
func only(counts func(rune) bool, text string) string {
	return strings.Map(func(r rune) rune {
		if counts(r) {
			return r
		}
		return -1
	}, text)
}

func isVisible(r rune) bool { return '!' <= r && r <= '~' }

func isLetterOrDigit(r rune) bool {
	return '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
}

func isBase64(r rune) bool { return isLetterOrDigit(r) || r == '+' || r == '/' }

func isHex(r rune) bool { return '0' <= r && r <= '9' || 'A' <= r && r <= 'F' || 'a' <= r && r <= 'f' }
