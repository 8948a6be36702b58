package main_test

import "testing"

func TestKilledItTakesTheCommandWithIt(t *testing.T) {
	t.Parallel()
	p := start(t, mocksidecar(t, shipped), "--", "sh", "-c", "trap '' TERM INT HUP; echo ready $$; while :; do sleep 0.05; done")
	child := p.waitFor("ready", 1)
	_ = p.cmd.Process.Kill()
	p.wait()
	gone(t, child)
}
