//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"
)

// ownGroup makes a command the leader of a process group of its own.
func ownGroup(attr *syscall.SysProcAttr) { attr.Setpgid = true }

// signalGroup sends a signal to a command and to its children.
func signalGroup(command *os.Process, s os.Signal) {
	_ = syscall.Kill(-command.Pid, s.(syscall.Signal)) // unless they are gone
}

// groupGone tells whether nothing is left of the group of a command that has ended.
func groupGone(command *os.Process) bool {
	// The first process of a container inherits the orphans, and one that nobody waits for stays in its group.
	_, _ = syscall.Wait4(-command.Pid, nil, syscall.WNOHANG, nil)
	return errors.Is(syscall.Kill(-command.Pid, 0), syscall.ESRCH)
}
