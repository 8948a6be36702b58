package printable_test

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/printable"
)

func TestTextFromOutsideStaysOnOnePrintableLine(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain text is kept":               {"unable to find workflow äöü €", "unable to find workflow äöü €"},
		"a second line is joined":          {"a\nlevel=INFO msg=\"started\"", "a level=INFO msg=\"started\""},
		"a carriage return can't overtype": {"failed\rstarted", "failed started"},
		"colours are taken out":            {"\x1b[31mred\x1b[0m", "\ufffd[31mred\ufffd[0m"},
		"C1 controls are taken out":        {"a\u009b31mb", "a\ufffd31mb"},
		"line separators are joined":       {"a\u2028b\u2029c\u0085d", "a b c d"},
		"right-to-left overrides show":     {"a\u202eb", "a\ufffdb"},
		"NUL shows":                        {"a\x00b", "a\ufffdb"},
		"broken UTF-8 shows":               {"a\xffb", "a\ufffdb"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, printable.Filter{}.Clean(c.in, 1000))
		})
	}
}

func TestLongTextIsCutAtACharacter(t *testing.T) {
	for _, limit := range []int{1, 2, 10, 99, 100} {
		got := printable.Filter{}.Clean(strings.Repeat("ü", 200), limit)
		assert.Equal(t, limit, utf8.RuneCountInString(got))
		assert.True(t, utf8.ValidString(got))
		assert.True(t, strings.HasSuffix(got, "…"))
	}
	assert.Equal(t, "üü", printable.Filter{}.Clean("üü", 2), "what fits is whole")
}

func TestTheSecretNeverShows(t *testing.T) {
	for _, secret := range []string{"s3cret-token", `we"ird<to>ken\`, "with blank and %+&", "0123456789"} {
		filter := printable.NewFilter(secret)
		quotedJSON, err := json.Marshal(secret)
		assert.NoError(t, err)
		for name, echo := range map[string]string{
			"as it is":       "your token " + secret + " is wrong",
			"twice in a row": secret + secret,
			"quoted by Go":   "malformed HTTP response " + strconv.Quote(secret),
			"quoted by JSON": `{"message":` + string(quotedJSON) + `}`,
			"in a query":     "/?token=" + url.QueryEscape(secret),
			"in a path":      "/" + url.PathEscape(secret) + "/",
		} {
			t.Run(name, func(t *testing.T) {
				for limit := range 60 {
					got := filter.Clean(echo, limit)
					for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
						assert.NotContains(t, got, form)
					}
				}
				assert.Contains(t, filter.Clean(echo, 1000), "[redacted]")
			})
		}
		t.Run("a cut does not leave half of it", func(t *testing.T) {
			for limit := range 60 {
				got := filter.Clean(strings.Repeat(".", 20)+secret, limit)
				assert.NotContains(t, got, secret[:3])
			}
		})
		t.Run("characters taken out don't join its halves", func(t *testing.T) {
			assert.NotContains(t, filter.Clean(secret[:4]+"\x00\u200b\n"+secret[4:], 1000), secret)
		})
	}
}
