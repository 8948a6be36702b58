// Bench measures the trigger as whole processes: beside a shell script and a bare Go program that send the
// same two requests, and while many of them wait for one sidecar. It prints ratios, since machines differ,
// and judges nothing.
package main

import (
	"bytes"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/mockdapr"
)

const rounds = 60

func main() {
	log.SetFlags(0)
	scratch, err := os.MkdirTemp("", "bench")
	check(err)
	defer os.RemoveAll(scratch)
	bare := filepath.Join(scratch, "bare")
	check(exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bare, "./build/bench/bare").Run())
	trigger, err := filepath.Abs("bin/trigger")
	check(err)

	sideBySide([]contender{
		{"trigger", []string{trigger, "--input-dir", "testdata/cluster-build-watch"}},
		{"shell script", []string{"sh", "build/bench/start.sh", "testdata/cluster-build-watch"}},
		{"bare Go", []string{bare, "testdata/cluster-build-watch"}},
	})
	for range 3 {
		lateSidecar(trigger, 200)
	}
}

type contender struct {
	name    string
	command []string
}

// A cost is what one run took.
type cost struct {
	wall, cpu time.Duration
	memory    int64 // KiB resident at the peak, 0 if it was not watched
}

// sideBySide runs the contenders in turn, each on a sidecar that has not seen the instance.
func sideBySide(contenders []contender) {
	costs, peaks := make([][]cost, len(contenders)), make([][]cost, len(contenders))
	for round := range rounds {
		for i, c := range contenders {
			sidecar, err := mockdapr.Start(mockdapr.Options{})
			check(err)
			cost := measure(sidecar, c.command, round%10 == 0)
			if len(sidecar.Starts()) != 1 {
				log.Fatalf("%s started %v", c.name, sidecar.Starts())
			}
			check(sidecar.Close())
			if cost.memory > 0 { // watching the memory costs time
				peaks[i] = append(peaks[i], cost)
			} else {
				costs[i] = append(costs[i], cost)
			}
		}
	}
	fmt.Printf("ask and start on the mock, median of %d whole processes run in turn\n", len(costs[0]))
	fmt.Printf("%-14s%10s%10s%12s%27s\n", "", "wall", "CPU", "memory", "trigger's wall / CPU / mem")
	for i, c := range contenders {
		wall, ours := median(costs[i], cost.getWall), median(costs[0], cost.getWall)
		cpu, oursCPU := median(costs[i], cost.getCPU), median(costs[0], cost.getCPU)
		memory, oursMemory := median(peaks[i], cost.getMemory), median(peaks[0], cost.getMemory)
		fmt.Printf("%-14s%8.1fms%8.1fms%9.1fMiB%13.2f%7.2f%7.2f\n", c.name, ms(wall), ms(cpu), float64(memory)/1024,
			float64(ours)/float64(wall), float64(oursCPU)/float64(cpu), float64(oursMemory)/float64(memory))
	}
}

func (c cost) getWall() time.Duration { return c.wall }
func (c cost) getCPU() time.Duration  { return c.cpu }
func (c cost) getMemory() int64       { return c.memory }

func measure(sidecar *mockdapr.Sidecar, command []string, watchMemory bool) (c cost) {
	cmd := exec.Command(command[0], command[1:]...)
	_, port, err := net.SplitHostPort(sidecar.Address())
	check(err)
	cmd.Env = append(os.Environ(), "DAPR_HTTP_PORT="+port, "DAPR_HTTP_ENDPOINT=", "DAPR_API_TOKEN=")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	begin := time.Now()
	check(cmd.Start())
	if watchMemory {
		ended, peak := make(chan struct{}), make(chan int64)
		go func() { peak <- peakMemory(cmd.Process.Pid, ended) }()
		err = cmd.Wait()
		close(ended)
		c.memory = <-peak
	} else {
		err = cmd.Wait()
	}
	if err != nil {
		log.Fatalf("%v: %v\n%s", command, err, out.Bytes())
	}
	c.wall, c.cpu = time.Since(begin), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	return c
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median[T any, N int64 | time.Duration](all []T, of func(T) N) N {
	var values []N
	for _, one := range all {
		values = append(values, of(one))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
