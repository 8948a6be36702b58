package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/mockdapr"
)

const usage = `Serves Dapr's workflow API from memory, for a machine that has no Dapr.

Usage:
  mocksidecar [flags]                 serve until told to stop
  mocksidecar [flags] -- COMMAND …    like "dapr run": serve while COMMAND runs and exit as it does

COMMAND finds the sidecar by DAPR_HTTP_PORT, DAPR_HTTP_ENDPOINT and DAPR_GRPC_PORT, and inherits no variable
that leads to another one. It runs in a process group of its own, to which SIGTERM, SIGINT, SIGHUP and SIGQUIT are
passed on; what is left of the group 10 s after the first of them is killed. The exit code is COMMAND's, or 128 and
the signal that killed it, 127 if it is not found, 126 if it can't be run.

With DAPR_API_TOKEN set, requests must carry it. GET /mock/starts counts the starts that took effect, by instance;
GET /mock/requests lists what arrived.

Flags:
`

// A commandLine is what the arguments ask for.
type commandLine struct {
	help    string // what to print instead, if it is not empty
	sidecar mockdapr.Options
	summary bool
	command []string // none: just serve
}

// parse parses the arguments. Its error names what is wrong with them.
func parse(args []string) (c commandLine, err error) {
	flags := pflag.NewFlagSet("mocksidecar", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.Usage = func() {}
	port := flags.Int("dapr-http-port", -1, "the `port` of the HTTP API (default 3500, a free one for a command)")
	addresses := flags.String("dapr-listen-addresses", "127.0.0.1", "the `address` to listen on, only one; 0.0.0.0 in a pod")
	flags.DurationVar(&c.sidecar.Duration, "workflow-duration", 0, "how long a workflow runs before it is COMPLETED (default until it is terminated)")
	flags.DurationVar(&c.sidecar.WorkerAfter, "worker-after", 0, "how long it takes until a worker connects; until then every start is held (default none)")
	flags.StringArrayVar(&c.sidecar.Workflows, "workflow", nil, "the `name` of a registered workflow, repeatable; a run of any other fails (default all)")
	faults := flags.StringArray("fault", nil, "what goes wrong, repeatable, in order:\n"+mockdapr.FaultHelp)
	flags.BoolVar(&c.summary, "summary", false, "say on standard error, at the end, what has arrived and what was started")
	help := flags.BoolP("help", "h", false, "print this help")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if *help {
		c.help = usage + flags.FlagUsages()
		return c, nil
	}
	c.command = flags.Args()
	if len(c.command) > 0 && flags.ArgsLenAtDash() != 0 {
		return c, fmt.Errorf("unexpected argument %q: a command goes behind --", c.command[0])
	}
	if c.sidecar.Address, err = address(*addresses, *port, len(c.command) > 0); err != nil {
		return c, err
	}
	for _, text := range *faults {
		fault, err := mockdapr.ParseFault(text)
		if err != nil {
			return c, err
		}
		c.sidecar.Faults = append(c.sidecar.Faults, fault)
	}
	switch {
	case c.sidecar.Duration < 0:
		return c, fmt.Errorf("--workflow-duration: %v is negative", c.sidecar.Duration)
	case c.sidecar.WorkerAfter < 0:
		return c, fmt.Errorf("--worker-after: %v is negative", c.sidecar.WorkerAfter)
	case slices.Contains(c.sidecar.Workflows, ""):
		return c, errors.New("--workflow: a name is empty")
	}
	return c, nil
}

// address returns the host:port to listen on. Daprd's flag takes a list of hosts, with IPv6 in brackets; the
// mock has one listener.
func address(text string, port int, wraps bool) (string, error) {
	if strings.Contains(text, ",") {
		return "", fmt.Errorf("--dapr-listen-addresses: the mock listens on one address, not on %s", text)
	}
	host := text
	if inner, found := strings.CutPrefix(text, "["); found {
		host = strings.TrimSuffix(inner, "]")
	}
	if _, err := netip.ParseAddr(host); err != nil && strings.ContainsAny(host, ":[] /") {
		return "", fmt.Errorf("--dapr-listen-addresses: %q is not an address without a port", text)
	}
	switch {
	case port < -1 || port > 65535:
		return "", fmt.Errorf("--dapr-http-port: %d is not a port", port)
	case port == -1 && wraps:
		port = 0 // a free one
	case port == -1:
		port = 3500
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}
