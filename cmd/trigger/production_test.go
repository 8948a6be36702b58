package main_test

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What can only be seen on the program as it is shipped: tests of its parts put others in their place.

func TestCertificatesAreVerifiedAndHTTP2IsNotOffered(t *testing.T) {
	f := newFake(t, nil)
	var offered atomic.Value
	f.TLS = &tls.Config{NextProtos: []string{"h2", "http/1.1"}, GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		offered.Store(append([]string{}, hello.SupportedProtos...))
		return nil, nil
	}}
	f.StartTLS()
	r := start(t, f.URL, "").wait()
	assert.Equal(t, "undetermined", r.Outcome)
	assert.Contains(t, r.Message, "certificate signed by unknown authority (the certificate of O=Acme Co, issued by O=Acme Co, valid from 1970-01-01T00:00:00Z to ")
	assert.Contains(t, r.Message, "; asked "+f.URL+")")
	assert.Zero(t, f.asks.Load())
	assert.NotContains(t, offered.Load(), "h2")

	r = startWith(t, trusting(f, t), f.URL).wait()
	assert.Equal(t, "started", r.Outcome, r.Message)
	assert.NotContains(t, offered.Load(), "h2")
	for _, request := range f.seen {
		assert.Equal(t, 1, request.ProtoMajor)
	}
}

func TestAnSSLCertFileThatCantHelpIsNamed(t *testing.T) {
	f := newFake(t, nil)
	f.StartTLS()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pem")
	require.NoError(t, os.WriteFile(empty, []byte("\n"), 0o644))
	for path, want := range map[string]string{
		filepath.Join(dir, "gone.pem"): "; SSL_CERT_FILE names " + filepath.Join(dir, "gone.pem") + ": no such file or directory (the certificate of ",
		empty:                          "; SSL_CERT_FILE names " + empty + ", which holds no certificate (the certificate of ",
	} {
		r := startWith(t, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+path) }, f.URL).wait()
		assert.Equal(t, "undetermined", r.Outcome)
		assert.Contains(t, r.Message, want)
	}
	assert.Zero(t, f.asks.Load())
}

func TestAnAddressWithAnIPv6ZoneIsAsked(t *testing.T) {
	listener, err := net.Listen("tcp", "[::1]:0")
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Skip(err) // some containers have no IPv6 at all
	}
	require.NoError(t, err)
	f := newFake(t, nil)
	require.NoError(t, f.Listener.Close())
	f.Listener = listener
	f.Start()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	r := start(t, "http://[::1%25lo]:"+port, "").wait()
	assert.Equal(t, "started", r.Outcome, r.Message)
	assert.Equal(t, "[::1]:"+port, f.seen[0].Host)
}

func TestNoProxyOfTheEnvironmentIsUsed(t *testing.T) {
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer proxy.Close()
	var used atomic.Bool
	go func() {
		for {
			conn, err := proxy.Accept()
			if err != nil {
				return
			}
			used.Store(true)
			conn.Close()
		}
	}()
	for _, scheme := range []string{"http", "https"} {
		r := startWith(t, func(cmd *exec.Cmd) {
			for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
				cmd.Env = append(cmd.Env, name+"=http://"+proxy.Addr().String())
			}
			cmd.Env = append(cmd.Env, "NO_PROXY=", "no_proxy=")
		}, scheme+"://sidecar.invalid:3500", "--retry-for", "300ms").wait()
		assert.Equal(t, "undetermined", r.Outcome)
		assert.Contains(t, r.Message, "sidecar.invalid")
	}
	time.Sleep(50 * time.Millisecond)
	assert.False(t, used.Load())
}

func TestWhatItSaysOfItself(t *testing.T) {
	f := newFake(t, nil)
	f.Start()
	assert.Equal(t, "started", start(t, f.URL, "s3cret").wait().Outcome)
	require.GreaterOrEqual(t, len(f.seen), 2) // more if the machine is so slow that it asks again
	for _, request := range f.seen {
		assert.Equal(t, "dapr-workflow-trigger/v1.2.3-test", request.UserAgent())
		assert.Equal(t, "s3cret", request.Header.Get("dapr-api-token"))
		assert.NotContains(t, request.Header, "Accept-Encoding", "nothing that would have to be unpacked")
		assert.True(t, request.Close)
	}
	assert.Equal(t, "no-cache", f.seen[0].Header.Get("Cache-Control"))
	assert.Equal(t, []string{"application/json"}, f.seen[len(f.seen)-1].Header["Content-Type"])
}
