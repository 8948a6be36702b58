package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// peakMemory watches a process and its children until they end and returns the most memory, in KiB, that
// one of them had resident. The kernel's own figure for an ended process won't do: it counts what the
// process that forked it had.
func peakMemory(pid int, ended <-chan struct{}) int64 {
	peak := int64(0)
	for {
		for _, p := range family(pid) {
			peak = max(peak, highWaterMark(p))
		}
		select {
		case <-ended:
			return peak
		case <-time.After(200 * time.Microsecond):
		}
	}
}

func family(pid int) []int {
	all := []int{pid}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, text := range strings.Fields(string(children)) {
		if child, err := strconv.Atoi(text); err == nil {
			all = append(all, family(child)...)
		}
	}
	return all
}

func highWaterMark(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, found := strings.Cut(string(status), "VmHWM:")
	if !found {
		return 0
	}
	kib, _ := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	return kib
}
