// Mocksidecar serves Dapr's workflow API from memory, for a machine that has no Dapr. With a command it
// behaves like "dapr run -- COMMAND".
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
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

COMMAND finds the sidecar by DAPR_HTTP_PORT, DAPR_HTTP_ENDPOINT and DAPR_GRPC_PORT. With DAPR_API_TOKEN set,
requests must carry it. GET /mock/starts counts the starts that took effect, by instance; GET /mock/requests
lists what arrived.

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
	host := flags.String("dapr-listen-addresses", "127.0.0.1", "the `address` to listen on; 0.0.0.0 in a pod")
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
	case *port < 0 && len(command) > 0:
		*port = 0
	case *port < 0:
		*port = 3500
	}

	sidecar, err := mockdapr.Start(mockdapr.Options{
		Address: net.JoinHostPort(*host, strconv.Itoa(*port)), Duration: *duration, WorkerAfter: *worker,
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
