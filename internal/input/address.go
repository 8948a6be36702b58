package input

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// An Address says where the sidecar is and which of its APIs to speak.
type Address struct {
	Scheme string // http, https, grpc or grpcs
	Host   string // host:port
}

// defaultPorts are the ports of an address that names none.
var defaultPorts = map[string]string{"http": "80", "https": "443", "grpc": "50001", "grpcs": "443"}

// String returns the address as a URL.
func (a Address) String() string { return a.Scheme + "://" + a.Host }

// parseAddress parses a URL of scheme, host and maybe port. Its errors never repeat what stood in it:
// it may hold somebody's password.
func parseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil {
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err
		}
		return Address{}, fmt.Errorf("not an address: %w", err)
	}
	port, known := defaultPorts[u.Scheme]
	switch {
	case !known:
		return Address{}, errors.New("want http://, https://, grpc:// or grpcs://, then host and port")
	case u.User != nil:
		return Address{}, errors.New("credentials have no place in it")
	case u.Hostname() == "":
		return Address{}, errors.New("the host is missing")
	case strings.ContainsFunc(u.Hostname(), func(r rune) bool { return r > unicode.MaxASCII }):
		return Address{}, errors.New("a host is written in ASCII: an international one as xn--…")
	case (u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return Address{}, errors.New("nothing may follow the host and port")
	}
	if u.Port() != "" {
		port = u.Port()
		if err := checkPort(port); err != nil {
			return Address{}, err
		}
	}
	return Address{Scheme: u.Scheme, Host: net.JoinHostPort(u.Hostname(), port)}, nil
}

func checkPort(text string) error {
	if port, err := strconv.ParseUint(text, 10, 16); err != nil || port == 0 {
		return fmt.Errorf("%q is not a port (1 to 65535)", text)
	}
	return nil
}

// addressFromDapr returns the address that Dapr's usual environment variables name, and which of them
// did. Without any it is the port that daprd listens on by default.
func addressFromDapr(getenv func(string) string) (address Address, source string, err error) {
	if text := getenv("DAPR_HTTP_ENDPOINT"); text != "" {
		address, err = parseAddress(text)
		if err == nil && address.Scheme != "http" && address.Scheme != "https" {
			err = errors.New("want http:// or https://")
		}
		return address, "DAPR_HTTP_ENDPOINT", err
	}
	if text := getenv("DAPR_GRPC_ENDPOINT"); text != "" {
		return Address{}, "DAPR_GRPC_ENDPOINT", errGRPC
	}
	port := "3500"
	if text := getenv("DAPR_HTTP_PORT"); text != "" {
		port, err = text, checkPort(text)
	}
	return Address{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", port)}, "DAPR_HTTP_PORT", err
}

// errGRPC refuses what is not built yet, before anything is sent.
var errGRPC = errors.New("the gRPC API is not supported yet, name an http:// or https:// address")
