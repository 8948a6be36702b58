package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/mockdapr"
)

// grace is how long a command and its children have to end after the first signal. It is a string because
// only that can be shortened in a build for tests, with -ldflags=-X.
var grace = "10s"

// elsewhere are the variables, besides those that are set, that would lead one of Dapr's SDKs past this mock
// to another sidecar.
var elsewhere = []string{"DAPR_GRPC_ENDPOINT", "DAPR_RUNTIME_HOST", "DAPR_SIDECAR_IP", "DAPR_HOST"}

// wrap runs a command, passes signals on to it and returns its exit code: as in a shell,
// 128 and the signal that killed it, 127 if it was not found, 126 if it can't be run.
//
// The command gets a process group of its own, as "dapr run" gives it one: a Ctrl-C then reaches it once,
// through the mock, and its children can be told and killed with it.
func wrap(command, env []string) (int, error) {
	patience, err := time.ParseDuration(grace)
	if err != nil {
		return 1, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	// Files and not pipes, so that the wait is for the command and not for a daemon that holds its output open.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	ownGroup(cmd.SysProcAttr)
	dieWithParent(cmd.SysProcAttr)
	runtime.LockOSThread() // what counts as the parent's death is the death of the thread that starts the command

	signals := make(chan os.Signal, 16)
	signal.Notify(signals, heeded(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)...)
	if err := cmd.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return 127, err
		}
		return 126, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // cmd.ProcessState says it all
	}()
	passOn(cmd.Process, signals, ended, patience)
	return exitCode(cmd.ProcessState), nil
}

// passOn passes signals on to a command's group until the command has ended. Once there was one, the whole
// group has to end before it returns, and is killed when that takes too long.
func passOn(command *os.Process, signals <-chan os.Signal, ended <-chan struct{}, patience time.Duration) {
	var tooLong <-chan time.Time
	var look <-chan time.Time // for what the command left behind
	for {
		select {
		case s := <-signals:
			signalGroup(command, s)
			if tooLong == nil {
				tooLong = time.After(patience)
			}
		case <-tooLong:
			signalGroup(command, os.Kill)
			if ended != nil {
				<-ended
			}
			return
		case <-ended:
			if tooLong == nil {
				return // what it leaves behind by itself is a daemon
			}
			ended = nil
			look = time.Tick(10 * time.Millisecond)
		case <-look:
			if groupGone(command) {
				return
			}
		}
	}
}

// heeded returns the signals without SIGHUP if it is ignored, as it is under nohup. SIGINT is heeded even so:
// a shell ignores it for everything that a script starts with &, and then a script could not stop this with it.
func heeded(all ...os.Signal) []os.Signal {
	return slices.DeleteFunc(all, func(s os.Signal) bool { return s == syscall.SIGHUP && signal.Ignored(s) })
}

func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// environment is what the command gets: the outer one, but pointing at this sidecar and at no other.
func environment(outer []string, sidecar *mockdapr.Sidecar) ([]string, error) {
	host, port, err := net.SplitHostPort(sidecar.LocalAddress())
	if err != nil {
		return nil, err
	}
	grpcPort, err := freePort(host)
	if err != nil {
		return nil, err
	}
	env := slices.DeleteFunc(slices.Clone(outer), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(elsewhere, name)
	})
	return append(env, "DAPR_HTTP_PORT="+port, "DAPR_HTTP_ENDPOINT="+sidecar.URL(), "DAPR_GRPC_PORT="+grpcPort), nil
}

// freePort returns a port of a host that nothing listens on. The mock does not speak gRPC: a client that
// tries meets a closed port.
func freePort(host string) (string, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}
