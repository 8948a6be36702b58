// Mocksidecar serves Dapr's workflow API from memory, for a machine that has no Dapr. With a command it
// behaves like "dapr run -- COMMAND".
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/mockdapr"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "mocksidecar:", err)
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	line, err := parse(args)
	if err != nil {
		return 2, err
	}
	if line.help != "" {
		fmt.Print(line.help)
		return 0, nil
	}
	line.sidecar.Token = os.Getenv("DAPR_API_TOKEN")
	sidecar, err := mockdapr.Start(line.sidecar)
	if err != nil {
		return 1, err
	}
	defer sidecar.Close()
	if line.summary {
		defer func() { summarize(sidecar) }()
	}
	if len(line.command) > 0 {
		env, err := environment(os.Environ(), sidecar)
		if err != nil {
			return 1, err
		}
		return wrap(line.command, env)
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
