// Mocksidecar serves Dapr's workflow API from memory, for a machine that has no Dapr. With a command it
// behaves like "dapr run -- COMMAND".
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

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
the signal that killed it.

With DAPR_API_TOKEN set, requests must carry it. GET /mock/starts counts the starts that took effect, by instance;
GET /mock/requests lists what arrived.

Flags:
`

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "mocksidecar:", err)
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	flags := pflag.NewFlagSet("mocksidecar", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.Usage = func() {}
	port := flags.Int("dapr-http-port", -1, "the `port` of the HTTP API (default 3500, a free one for a command)")
	addresses := flags.String("dapr-listen-addresses", "127.0.0.1", "the `address` to listen on, only one; 0.0.0.0 in a pod")
	duration := flags.Duration("workflow-duration", 0, "how long a workflow runs before it is COMPLETED (default until it is terminated)")
	worker := flags.Duration("worker-after", 0, "how long it takes until a worker connects; until then every start is held (default none)")
	workflows := flags.StringArray("workflow", nil, "the `name` of a registered workflow, repeatable; a run of any other fails (default all)")
	texts := flags.StringArray("fault", nil, "what goes wrong, repeatable, in order:\n"+mockdapr.FaultHelp)
	summary := flags.Bool("summary", false, "say on standard error, at the end, what has arrived and what was started")
	help := flags.BoolP("help", "h", false, "print this help")
	if err := flags.Parse(args); err != nil {
		return 2, err
	}
	if *help {
		fmt.Print(usage + flags.FlagUsages())
		return 0, nil
	}
	host, err := parseHost(*addresses)
	switch {
	case err != nil:
		return 2, err
	case *port < -1 || *port > 65535:
		return 2, fmt.Errorf("--dapr-http-port: %d is not a port", *port)
	case *duration < 0:
		return 2, fmt.Errorf("--workflow-duration: %v is negative", *duration)
	case *worker < 0:
		return 2, fmt.Errorf("--worker-after: %v is negative", *worker)
	case slices.Contains(*workflows, ""):
		return 2, errors.New("--workflow: a name is empty")
	}
	var faults []mockdapr.Fault
	for _, text := range *texts {
		fault, err := mockdapr.ParseFault(text)
		if err != nil {
			return 2, err
		}
		faults = append(faults, fault)
	}
	command := flags.Args()
	if len(command) > 0 && flags.ArgsLenAtDash() != 0 {
		return 2, fmt.Errorf("unexpected argument %q: a command goes behind --", command[0])
	}
	switch {
	case *port == -1 && len(command) > 0:
		*port = 0
	case *port == -1:
		*port = 3500
	}

	sidecar, err := mockdapr.Start(mockdapr.Options{
		Address: net.JoinHostPort(host, strconv.Itoa(*port)), Duration: *duration, WorkerAfter: *worker,
		Workflows: *workflows, Token: os.Getenv("DAPR_API_TOKEN"), Faults: faults,
	})
	if err != nil {
		return 1, err
	}
	defer sidecar.Close()
	if *summary {
		defer func() { summarize(sidecar) }()
	}
	if len(command) > 0 {
		env, err := environment(os.Environ(), sidecar)
		if err != nil {
			return 1, err
		}
		return wrap(command, env)
	}
	ctx, stop := signal.NotifyContext(context.Background(), heeded(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)...)
	defer stop()
	fmt.Println("listening on http://" + sidecar.Address())
	<-ctx.Done()
	return 0, nil
}

// parseHost parses --dapr-listen-addresses. Daprd takes a list, with IPv6 in brackets; the mock has one listener.
func parseHost(text string) (string, error) {
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
	return host, nil
}

// summarize counts what arrived and what took effect, which faults make differ.
func summarize(sidecar *mockdapr.Sidecar) {
	asks, starts := 0, 0
	for _, request := range sidecar.Requests() {
		switch {
		case request.Method == "GET":
			asks++
		case strings.HasSuffix(request.Path, "/start"):
			starts++
		}
	}
	took, _ := json.Marshal(sidecar.Starts()) // a map of numbers
	fmt.Fprintf(os.Stderr, "mocksidecar: asked %d times, told to start %d times, started %s\n", asks, starts, took)
}
