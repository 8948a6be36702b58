package input_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnAddressIsWrittenBackAsItWas(t *testing.T) {
	dir := mount(t, good)
	for text, want := range map[string]string{
		"http://[fe80::1%25eth0]:3500":             "http://[fe80::1%25eth0]:3500",
		"https://[fe80::1%25eth0.1_a-b]":           "https://[fe80::1%25eth0.1_a-b]:443",
		"http://[::1%25lo]:3500/":                  "http://[::1%25lo]:3500",
		"http://[::1]":                             "http://[::1]:80",
		"http://[::ffff:10.0.0.1]:1":               "http://[::ffff:10.0.0.1]:1",
		"http://10.0.0.1:3500":                     "http://10.0.0.1:3500",
		"HTTP://Dapr.Example.COM:3500":             "http://Dapr.Example.COM:3500",
		"http://a_b-c.svc.:1":                      "http://a_b-c.svc.:1",
		"http://h:":                                "http://h:80",
		"http://1h:3500":                           "http://1h:3500",
		"http://" + strings.Repeat("a", 63) + ":1": "http://" + strings.Repeat("a", 63) + ":1",
	} {
		request, problems := load(t, "--input-dir", dir, "--sidecar", text)
		assert.Empty(t, problems, text)
		assert.Equal(t, want, request.Sidecar.String())
	}
}

func TestAWrongAddressSaysWhatToChange(t *testing.T) {
	dir := mount(t, good)
	for text, change := range map[string]string{
		"127.0.0.1:3500":                    "put http:// before it, the scheme is missing",
		"[::1]:3500":                        "put http:// before it, the scheme is missing",
		"localhost":                         "put http:// before it, the scheme is missing",
		"localhost:3500":                    "put http:// before it, the scheme is missing",
		"//localhost:3500":                  "put http:// before it, the scheme is missing",
		":3500":                             "put http:// before it, the scheme is missing",
		"$(SIDECAR)":                        "put http:// before it, the scheme is missing",
		`"http://h:3500"`:                   "leave out the quotes around it",
		`'http://h:3500'`:                   "leave out the quotes around it",
		`http://h:3500"`:                    "leave out the quotes around it",
		"“http://h:3500”":                   "leave out the quotes around it",
		"<http://h:3500>":                   "leave out the quotes around it",
		"http:h:3500":                       "put // behind the scheme",
		"http:/h:3500":                      "put // behind the scheme",
		"tcp://10.0.0.1:3500":               "the scheme must be http://, https://, grpc:// or grpcs://",
		"dapr://h":                          "the scheme must be http://, https://, grpc:// or grpcs://",
		"http://":                           "the host is missing",
		"http:///v1.0":                      "the host is missing",
		"http://:3500":                      "the host is missing",
		"http://::1:3500":                   "put the IPv6 address into brackets",
		"http://fe80::1":                    "put the IPv6 address into brackets",
		"http://[::1":                       "put a ] behind the IPv6 address",
		"http://[::1]3500":                  "only : and the port may follow the ]",
		"http://[10.0.0.1]:3500":            "what stands in brackets must be an IPv6 address",
		"http://[h]:3500":                   "what stands in brackets must be an IPv6 address",
		"http://[fe80::1%eth0]:3500":        "write the zone of an IPv6 address as %25 and the interface",
		"http://[fe80::1%25]:3500":          "write the zone of an IPv6 address as %25 and the interface",
		"http://[fe80::1%25a%20b]:3500":     "write the zone of an IPv6 address as %25 and the interface",
		"http://[fe80::1%25a%0Ab]:3500":     "write the zone of an IPv6 address as %25 and the interface",
		"http://[fe80::1]:3500":             "add the zone to the link-local address",
		"http://h:0":                        "the port must be a number from 1 to 65535",
		"http://h:65536":                    "the port must be a number from 1 to 65535",
		"http://h:$(PORT)":                  "the port must be a number from 1 to 65535",
		"http://h:3500,http://i:3500":       "put the IPv6 address into brackets",
		"http://user:pass@h:3500":           "leave out the credentials, they have no place in it",
		"http://user:pass":                  "the port must be a number from 1 to 65535",
		"http://h:3500/v1.0":                "leave out what follows the host and port",
		"http://h:3500//":                   "leave out what follows the host and port",
		"http://h?x":                        "leave out what follows the host and port",
		"http://h#":                         "leave out what follows the host and port",
		"http://bücher.example":             "write the host in ASCII, an international one as xn--…",
		"http://h%41":                       "the host must be an IP address or a name",
		"http://$(HOST):3500":               "the host must be an IP address or a name",
		"http://a b":                        "the host must be an IP address or a name",
		"http://a..b":                       "the host must be an IP address or a name",
		"http://.a":                         "the host must be an IP address or a name",
		"http://-a":                         "the host must be an IP address or a name",
		"http://a-.b":                       "the host must be an IP address or a name",
		"http://10.0.0.256":                 "the host must be an IP address or a name",
		"http://10.0.0.1.":                  "the host must be an IP address or a name",
		"http://127.1":                      "the host must be an IP address or a name",
		"http://" + strings.Repeat("a", 64): "the host must be an IP address or a name",
		"http://" + strings.Repeat("a.", 127) + "a": "the host must be an IP address or a name",
	} {
		t.Run(text, func(t *testing.T) {
			_, problems := load(t, "--input-dir", dir, "--sidecar", text)
			require.Len(t, problems, 1)
			assert.True(t, strings.HasPrefix(problems[0], "--sidecar: "+change), problems[0])
			assert.True(t, strings.HasSuffix(problems[0], "; an address looks like http://dapr.example.com:3500 or http://[::1]:3500"), problems[0])
			assert.NotContains(t, problems[0], "pass", "what stood in it is not repeated: it may be a password")
		})
	}
}
