package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/mockdapr"
)

// lateSidecar lets many triggers wait for one sidecar that comes up at a random moment, and says how long
// after that their starts arrived and how many asks reached it in the busiest second.
func lateSidecar(trigger string, many int) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	address := listener.Addr().String()
	check(listener.Close())

	var waiting []*exec.Cmd
	for i := range many {
		cmd := exec.Command(trigger, "--input-dir", "testdata/cluster-build-watch", "--instance-id", fmt.Sprint("late-", i), "--sidecar", "http://"+address)
		cmd.Env = append(os.Environ(), "DAPR_API_TOKEN=")
		check(cmd.Start())
		waiting = append(waiting, cmd)
	}
	time.Sleep(4*time.Second + rand.N(4*time.Second))
	up := time.Now()
	sidecar, err := mockdapr.Start(mockdapr.Options{Address: address})
	check(err)
	defer sidecar.Close()
	for _, cmd := range waiting {
		check(cmd.Wait())
	}

	var delays []time.Duration
	asks := map[int]int{} // by second
	busiest := 0
	for _, request := range sidecar.Requests() {
		since := request.Time.Sub(up)
		if strings.HasSuffix(request.Path, "/start") {
			delays = append(delays, since)
			continue
		}
		asks[int(since.Seconds())]++
		busiest = max(busiest, asks[int(since.Seconds())])
	}
	once := 0
	for _, n := range sidecar.Starts() {
		if n == 1 {
			once++
		}
	}
	fmt.Printf("%d triggers waiting, the sidecar comes up: median %.2f s until the start arrives, at most %d asks a second, %d started once\n",
		many, median(delays, func(d time.Duration) time.Duration { return d }).Seconds(), busiest, once)
}
