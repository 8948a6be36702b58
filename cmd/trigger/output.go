package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// How the program says what it does, and what keeps that from holding up what it does:
//
//   - A log line is handed over and never waited for. Lines that nobody takes are dropped and counted. Otherwise
//     a reader of standard error that is stuck would stand between the last check and the start, and let one go
//     out after its deadline.
//   - At the end the termination log comes first, then standard output, then what is left of the log; each of
//     them gets a moment.
const (
	maxQueued  = 256             // log lines, of a few kilobytes at most
	lastMoment = time.Second     // for what is left of the log, and for a termination log that is a pipe
	lineMoment = 5 * time.Second // for the line on standard output, which somebody may be about to read
)

// A logWriter hands lines to a slow writer.
type logWriter struct {
	lines   chan []byte
	dropped int
	idle    chan struct{}
}

func newLogWriter(to io.Writer) *logWriter {
	l := &logWriter{lines: make(chan []byte, maxQueued), idle: make(chan struct{})}
	go func() {
		defer close(l.idle)
		for line := range l.lines {
			_, _ = to.Write(line)
		}
	}()
	return l
}

// Write implements io.Writer for one whole line at a time.
func (l *logWriter) Write(line []byte) (int, error) {
	select {
	case l.lines <- bytes.Clone(line):
	default:
		l.dropped++
	}
	return len(line), nil
}

// close waits a moment for the lines that are left.
func (l *logWriter) close() {
	close(l.lines)
	select {
	case <-l.idle:
	case <-time.After(lastMoment):
	}
}

// writeLine writes the outcome to standard output.
func writeLine(to io.Writer, line []byte) error {
	written := make(chan error, 1)
	go func() {
		_, err := to.Write(append(line, '\n'))
		written <- err
	}()
	select {
	case err := <-written:
		return err
	case <-time.After(lineMoment):
		return fmt.Errorf("nobody took it for %v", lineMoment)
	}
}

// writeTerminationLog writes to a file that exists: the kubelet makes it, a laptop has none.
func writeTerminationLog(path string, line []byte) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|syscall.O_NONBLOCK, 0) // never waits for a FIFO's reader
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_ = f.SetWriteDeadline(time.Now().Add(lastMoment)) // a file has none and needs none
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}
