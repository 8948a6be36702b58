// Trigger starts one Dapr workflow, once, from inside a Kubernetes Job. Its flags and files are described
// in package input, its decision in package workflow, the ways it ends in package outcome.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/input"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/outcome"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/printable"
	"github.com/stuttgart-things/dapr-workflow-trigger/internal/workflow"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx := stoppedBySignal()
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// stoppedBySignal returns a context that the first SIGTERM or SIGINT ends. Later ones change nothing, and
// a reader of our output that has gone away does not kill us in the middle of a start.
func stoppedBySignal() context.Context {
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() { cancel(fmt.Errorf("told to stop (%v)", <-signals)) }()
	return ctx
}

// run does it all and returns the exit code.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	command := input.ParseCommandLine(args)
	switch {
	case command.Help:
		fmt.Fprint(stdout, command.Usage())
		return 0
	case command.Version:
		fmt.Fprintln(stdout, "trigger", version)
		return 0
	}
	request, problems := command.Load(getenv)
	filter := printable.NewFilter(request.Token)
	lines := newLogWriter(stderr)
	defer lines.close()
	log := newLogger(lines, request.LogFormat, filter)
	slog.SetDefault(log) // and with it the log package, should a library use it

	ended := decide(ctx, log, request, problems)
	line := ended.Line(filter)
	if err := writeTerminationLog(request.TerminationLog, line); err != nil {
		log.Warn("the termination log can't be written", "why", err)
	}
	if err := writeLine(stdout, line); err != nil {
		log.Warn("the outcome can't be written to standard output", "why", err, "outcome", string(line))
	}
	if lines.dropped > 0 {
		log.Warn("log lines were dropped, since nobody took them", "count", lines.dropped)
	}
	return ended.Name.ExitCode()
}

func decide(ctx context.Context, log *slog.Logger, request input.Request, problems []string) outcome.Outcome {
	if len(request.Ignored) > 0 {
		log.Warn("files in the input directory that are none of ours are ignored", "files", strings.Join(request.Ignored, ", "))
	}
	if len(problems) > 0 {
		for _, problem := range problems {
			log.Error("invalid", "problem", problem)
		}
		return invalid(request, strings.Join(problems, "; "))
	}
	log.Info("asked to start an instance", "instanceID", request.InstanceID, "workflowName", request.WorkflowName,
		"sidecar", request.Sidecar, "notAfter", request.NotAfter.String(), "inputBytes", len(request.Input), "version", version)
	sidecar, err := workflow.NewHTTP(request, "dapr-workflow-trigger/"+version)
	if err != nil {
		return invalid(request, "no request can be made of these settings: "+err.Error())
	}
	return workflow.Run(ctx, log, sidecar, request)
}

func invalid(request input.Request, problems string) outcome.Outcome {
	return outcome.About{InstanceID: request.InstanceID, WorkflowName: request.WorkflowName}.Invalid(problems)
}

// newLogger returns a logger whose every value is fit to print, wherever it came from.
func newLogger(to io.Writer, format string, filter printable.Filter) *slog.Logger {
	const longest = 2000 // characters
	options := &slog.HandlerOptions{ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
		switch attr.Value.Kind() {
		case slog.KindString, slog.KindAny:
			attr.Value = slog.StringValue(filter.Clean(attr.Value.String(), longest))
		}
		return attr
	}}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}
