package input

import (
	"net/netip"
	"regexp"
	"strings"
	"unicode"
)

const label = `[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?`

var (
	withoutSlashes = regexp.MustCompile(`^(?i:https?|grpcs?):`)
	hostName       = regexp.MustCompile(`^` + label + `(?:\.` + label + `)*\.?$`)
	onlyNumbers    = regexp.MustCompile(`^[0-9.]+$`)
	zone           = regexp.MustCompile(`%25([A-Za-z0-9._~-]+)$`)
)

// wrongWith returns what to change in a text to make it an address that can be asked, "" for nothing.
func wrongWith(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	_, known := defaultPorts[strings.ToLower(scheme)]
	switch {
	case text == "":
		return "it is empty"
	case strings.Trim(text, "\"'`<>“”‘’«»") != text:
		return "leave out the quotes around it"
	case !found && withoutSlashes.MatchString(text):
		return "put // behind the scheme"
	case !found:
		return "put http:// before it, the scheme is missing"
	case !known:
		return "the scheme must be http://, https://, grpc:// or grpcs://"
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	switch change := wrongWithAuthority(authority); {
	case strings.Contains(authority, "@"):
		return "leave out the credentials, they have no place in it"
	case change != "":
		return change
	case rest != authority && rest != authority+"/":
		return "leave out what follows the host and port"
	}
	return ""
}

// wrongWithAuthority is wrongWith for a host and maybe a port.
func wrongWithAuthority(authority string) string {
	host, port, _ := strings.Cut(authority, ":")
	wrongWithHost := wrongWithName
	inner, bracketed := strings.CutPrefix(authority, "[")
	if bracketed {
		inner, behind, closed := strings.Cut(inner, "]")
		if !closed {
			return "put a ] behind the IPv6 address"
		}
		if behind != "" && !strings.HasPrefix(behind, ":") {
			return "only : and the port may follow the ]"
		}
		host, port, wrongWithHost = inner, strings.TrimPrefix(behind, ":"), wrongWithIPv6
	}
	switch {
	case !bracketed && strings.Contains(port, ":"):
		return "put the IPv6 address into brackets"
	case host == "":
		return "the host is missing"
	case port != "" && checkPort(port) != nil:
		return "the port must be a number from 1 to 65535"
	}
	return wrongWithHost(host)
}

func wrongWithIPv6(host string) string {
	unescaped := zone.ReplaceAllString(host, "%$1")
	ip, err := netip.ParseAddr(unescaped)
	switch {
	case unescaped == host && strings.Contains(host, "%"):
		return "write the zone of an IPv6 address as %25 and the interface, such as [fe80::1%25eth0]"
	case err != nil || !ip.Is6():
		return "what stands in brackets must be an IPv6 address"
	case ip.IsLinkLocalUnicast() && ip.Zone() == "":
		return "add the zone to the link-local address, such as [fe80::1%25eth0]"
	}
	return ""
}

// wrongWithName allows what the resolver would ask for: it refuses the rest by itself, and that would be no
// fault of the network.
func wrongWithName(host string) string {
	_, err := netip.ParseAddr(host)
	switch {
	case strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }):
		return "write the host in ASCII, an international one as xn--…"
	case onlyNumbers.MatchString(host) && err != nil,
		len(strings.TrimSuffix(host, ".")) > 253, !hostName.MatchString(host):
		return "the host must be an IP address or a name of letters, digits, - and _ with dots between them"
	}
	return ""
}
