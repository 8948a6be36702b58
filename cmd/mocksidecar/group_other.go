//go:build !unix

package main

import (
	"os"
	"syscall"
)

// Where there are no process groups, a command has to end its children itself.

func ownGroup(*syscall.SysProcAttr) {}

func signalGroup(command *os.Process, s os.Signal) { _ = command.Signal(s) }

func groupGone(*os.Process) bool { return true }
