package input

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
)

// An Address says where the sidecar is and which of its APIs to speak.
type Address struct {
	Scheme string // http, https, grpc or grpcs
	Host   string // host:port, an IPv6 host in brackets and maybe with a zone: [fe80::1%eth0]:3500
}

// defaultPorts are the ports of an address that names none.
var defaultPorts = map[string]string{"http": "80", "https": "443", "grpc": "50001", "grpcs": "443"}

// String returns the address as a URL, in which the % before a zone is %25.
func (a Address) String() string { return (&url.URL{Scheme: a.Scheme, Host: a.Host}).String() }

// parseAddress parses a URL of scheme, host and maybe port. Its errors say what to change and what an
// address looks like, and never repeat what stood in it: it may hold somebody's password.
func parseAddress(text string) (Address, error) {
	change := wrongWith(text)
	u, err := url.Parse(text)
	if err != nil && change == "" {
		change = "it is not a URL" // which wrongWith leaves nothing to
	}
	if change != "" {
		return Address{}, errors.New(change + "; an address looks like http://dapr.example.com:3500 or http://[::1]:3500")
	}
	port := u.Port()
	if port == "" {
		port = defaultPorts[u.Scheme]
	}
	return Address{Scheme: u.Scheme, Host: net.JoinHostPort(u.Hostname(), port)}, nil
}

func checkPort(text string) error {
	if port, err := strconv.ParseUint(text, 10, 16); err != nil || port == 0 {
		return fmt.Errorf("%s is not a port (1 to 65535)", quote(text))
	}
	return nil
}

// daprVariables are the environment variables in which Dapr names a sidecar, the first that is set counts.
var daprVariables = []struct {
	name  string
	parse func(string) (Address, error)
}{
	{"DAPR_HTTP_ENDPOINT", func(text string) (Address, error) {
		address, err := parseAddress(text)
		if err == nil && address.Scheme != "http" && address.Scheme != "https" {
			err = errors.New("the scheme must be http:// or https://")
		}
		return address, err
	}},
	{"DAPR_GRPC_ENDPOINT", func(string) (Address, error) { return Address{}, errGRPC }},
	{"DAPR_HTTP_PORT", func(text string) (Address, error) { return onThisHost(text), checkPort(text) }},
}

func onThisHost(port string) Address {
	return Address{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", port)}
}

// addressFromDapr returns the address that Dapr's usual environment variables name, and which of them
// did. Without any it is the port that daprd listens on by default.
func addressFromDapr(dapr func(string) string) (address Address, source string, err error) {
	for _, variable := range daprVariables {
		if text := dapr(variable.name); text != "" {
			if err := checkValue(text); err != nil {
				return Address{}, variable.name, err
			}
			address, err := variable.parse(text)
			return address, variable.name, err
		}
	}
	return onThisHost("3500"), "", nil
}

// errGRPC refuses what is not built yet, before anything is sent.
var errGRPC = errors.New("the gRPC API is not supported yet, name an http:// or https:// address")
