package printable_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/printable"
)

// secrets are tokens of several kinds.
var secrets = map[string]string{
	"JWT":       "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJkYXByIn0.dozjgNryP4J3-jVmNHl0w5N_XgL0n3I9",
	"specials":  `quo"ted\<tok>en&/+%41`,
	"base64":    "abc+/def==0123456789",
	"blanks":    "with blank and %+& in it",
	"hex":       "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
	"few signs": `to"k-1>`,
	"no letter": `+/"<=>?!+`,
	"ends":      `\\\\--//++s3cr3tt0k3n==&&%%""`,
}

// encodings are ways to write a text, each of which could be applied to the result of another.
var encodings = []struct {
	name   string
	encode func(string) string
}{
	{"as it is", func(s string) string { return s }},
	{"JSON", func(s string) string { b, _ := json.Marshal(s); return string(b[1 : len(b)-1]) }},
	{"JSON with slashes escaped", func(s string) string {
		b, _ := json.Marshal(s)
		return strings.ReplaceAll(string(b[1:len(b)-1]), "/", `\/`)
	}},
	{`JSON, \u for signs`, func(s string) string { return signs(s, `\u%04X`) }},
	{`JSON, \u for all`, func(s string) string { return each(s, `\u%04x`) }},
	{`\U for all`, func(s string) string { return each(s, `\U%08x`) }},
	{"Go", func(s string) string { q := strconv.Quote(s); return q[1 : len(q)-1] }},
	{`\x for signs`, func(s string) string { return signs(s, `\x%02x`) }},
	{`\x for all`, func(s string) string { return each(s, `\x%02X`) }},
	{"octal", func(s string) string { return each(s, `\%03o`) }},
	{"backslashes", func(s string) string { return strings.ReplaceAll(signs(s, `\%c`), `\ `, " ") }},
	{"percent", url.PathEscape},
	{"query", url.QueryEscape},
	{"percent, lower case", func(s string) string { return signs(s, "%%%02x") }},
	{"percent for all", func(s string) string { return each(s, "%%%02X") }},
	{"HTML", html.EscapeString},
	{"HTML, decimal", func(s string) string { return each(s, "&#%d;") }},
	{"HTML, hexadecimal", func(s string) string { return each(s, "&#x%x;") }},
	{"HTML, hexadecimal, upper case", func(s string) string { return signs(s, "&#X%04X;") }},
	{"HTML, names", named},
	{"base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }},
	{"base64, URL", func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }},
	{"base64 after 1", func(s string) string { return base64.URLEncoding.EncodeToString([]byte(":" + s + "\n")) }},
	{"base64 after 2", func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte("a:" + s + ", b")) }},
	{"base64 of a header", func(s string) string { return base64.StdEncoding.EncodeToString([]byte("dapr-api-token: " + s)) }},
	{"hex", func(s string) string { return hex.EncodeToString([]byte(s)) }},
	{"hex, upper case", func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) }},
	{"hex, colons", func(s string) string { return strings.TrimPrefix(each(s, ":%02x"), ":") }},
}

func each(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

func signs(s, format string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, format, c)
		}
	}
	return b.String()
}

func named(s string) string {
	return strings.NewReplacer("+", "&plus;", "/", "&sol;", "=", "&equals;", `"`, "&quot;", `\`, "&bsol;", "<", "&lt;", ">", "&gt;",
		"&", "&amp;", "%", "&percnt;", ".", "&period;", "_", "&lowbar;").Replace(s)
}

// breaks are put into the middle of an encoded secret.
var breaks = map[string]string{"nothing": "", "line break": "\n", "folded": "\r\n\t", "zero width": "\u200b", "NUL": "\x00", "broken UTF-8": "\xff"}

const (
	before = `the sidecar said: {"message":"no, `
	after  = `", "why":100%, so & so} (see there)`
)

func TestTheSecretShowsInNoEncoding(t *testing.T) {
	for name, secret := range secrets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			filter := printable.NewFilter(secret)
			for _, outer := range encodings {
				for _, inner := range encodings {
					text := outer.encode(inner.encode(secret))
					got := filter.Clean(before+text[:len(text)/2]+"\n"+text[len(text)/2:]+after, 100_000)
					assert.Equal(t, "[redacted]", got, "%s of %s", outer.name, inner.name)
				}
				for how, with := range breaks {
					text := outer.encode(secret)
					for _, at := range []int{1, len(text)/2 + 1, len(text) - 1} {
						got := filter.Clean(before+text[:at]+with+text[at:]+after, 100_000)
						if text == secret && with == "" {
							assert.Equal(t, before+"[redacted]"+after, got)
							continue
						}
						assert.Equal(t, "[redacted]", got, "%s, %s", outer.name, how)
					}
				}
			}
		})
	}
}

func TestTheSecretShowsInNoEncodingOfAnEncodingOfAnEncoding(t *testing.T) {
	encode := map[string]func(string) string{}
	for _, e := range encodings {
		encode[e.name] = e.encode
	}
	for _, c := range [][3]string{
		{"JSON", "JSON", "JSON"}, {`JSON, \u for all`, `JSON, \u for all`, "JSON"}, {"JSON", "percent", "HTML"}, {"HTML", "percent for all", "JSON"},
		{"percent", "percent for all", "percent"}, {"HTML, names", "HTML", "HTML, decimal"}, {"percent for all", "base64 of a header", "percent for all"},
		{"base64 after 2", "base64 after 1", "JSON with slashes escaped"}, {"hex", "base64", "HTML"}, {"JSON", "hex, upper case", "Go"},
	} {
		for name, secret := range secrets {
			text := encode[c[0]](encode[c[1]](encode[c[2]](secret)))
			want := "[redacted]"
			if text == secret {
				want = before + want + after
			}
			assert.Equal(t, want, printable.NewFilter(secret).Clean(before+text+after, 100_000), "%s: %v", name, c)
		}
	}
}

func TestTextWithoutTheSecretIsKept(t *testing.T) {
	others := map[string]string{
		"JWT":      "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJkYXByIn1.dozjgNryP4J3-jVmNHl0w5N_XgL0n3I8",
		"specials": `quo"ted\<tik>en&/+%42`, "base64": "abc+/daf==0123456788",
		"hex": "0f1e2d3c4b5a69788796a5b4c3d2e1f1", "words": "unable to find workflow äöü € 🙂, is it 100% & so?",
	}
	for name, secret := range secrets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			filter := printable.NewFilter(secret)
			for _, other := range others {
				for _, e := range encodings {
					text := before + e.encode(other) + after
					assert.Equal(t, printable.Filter{}.Clean(text, 100_000), filter.Clean(text, 100_000))
				}
			}
		})
	}
}

func TestAShortSecretTakesNoMoreThanItself(t *testing.T) {
	const text = "cat = 1 + 2, \\u0061 dog, aGF0"
	for secret, want := range map[string]string{
		"a":   "c[redacted]t = 1 + 2, \\u0061 dog, [redacted]GF0",
		"+":   "cat = 1 [redacted] 2, \\u0061 dog, aGF0",
		"1 +": "cat = [redacted] 2, \\u0061 dog, aGF0",
		"hat": text,
		"   ": text,
	} {
		assert.Equal(t, want, printable.NewFilter(secret).Clean(text, 1000), secret)
	}
	assert.Equal(t, "a[redacted]b", printable.NewFilter("   ").Clean("a   b", 1000), "of blanks only")
}

// FuzzClean wants a secret gone, whatever it is, whichever way it is written and whatever is around it, if it
// has the eight letters and digits that make it one.
func FuzzClean(f *testing.F) {
	for _, secret := range secrets {
		f.Add(secret, "no: {\"message\":\"100% & so\"}", []byte{1, 2, 0})
		f.Add(secret, "", []byte{12, 20, 7})
	}
	f.Fuzz(func(t *testing.T, secret, around string, choices []byte) {
		ascii := []byte(secret)
		for i, c := range ascii {
			ascii[i] = '!' + (c-'!')%('~'-'!'+1) // a token is printable
		}
		secret = string(ascii)
		if len(secret)-strings.Count(signs(secret, "\n"), "\n") < 8 || len(secret) > 80 || len(around) > 200 || len(choices) == 0 {
			t.Skip()
		}
		around = strings.Map(func(r rune) rune {
			if strings.ContainsRune(`\%&+/-_`, r) || unicode.IsLetter(r) || unicode.IsDigit(r) {
				return '.' // what is around must not become part of an escape or an encoding
			}
			return r
		}, around)
		text, how := secret, ""
		for _, choice := range choices[1:min(len(choices), 3)] {
			e := encodings[int(choice)%len(encodings)]
			text, how = e.encode(text), e.name+" of "+how
		}
		at := int(choices[0]) % len(text)
		text = around + text[:at] + "\n" + text[at:] + around
		if got := printable.NewFilter(secret).Clean(text, 100_000); strings.Contains(got, secret) || !strings.Contains(got, "[redacted]") {
			t.Errorf("%q, %s: %q became %q", secret, how, text, got)
		}
	})
}

func BenchmarkClean(b *testing.B) {
	for name, unit := range map[string]string{"escapes": `\u0041%41&#65;`, "letters": "Zm9vYmFy", "words": "no such workflow, ", "percents": "%25"} {
		text := strings.Repeat(unit, 8<<10/len(unit))
		b.Run(name, func(b *testing.B) {
			filter := printable.NewFilter(secrets["JWT"])
			for b.Loop() {
				filter.Clean(text, 1000)
			}
		})
	}
}
