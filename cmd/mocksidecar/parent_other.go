//go:build !linux

package main

import "syscall"

// Only Linux can have a command killed when the mock is.
func dieWithParent(*syscall.SysProcAttr) {}
