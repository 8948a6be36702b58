package main

import "syscall"

// dieWithParent has a command killed when the mock is, which can't pass that on.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
