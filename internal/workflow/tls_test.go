package workflow_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/outcome"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return authority{certificate, key}
}

func (a authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

func (a authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw}))
}

func (a authority) issue(t *testing.T, ip string, notAfter time.Time) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.ParseIP(ip)}, Subject: pkix.Name{CommonName: "dapr of " + ip},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: notAfter}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, a.key.Public(), a.key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
}

// hugeKey returns a certificate with an RSA key of more bits than crypto/tls would use.
func (a authority) hugeKey(t *testing.T) []byte {
	t.Helper()
	modulus := new(big.Int).Lsh(big.NewInt(1), 9000)
	template := &x509.Certificate{SerialNumber: big.NewInt(3), IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &rsa.PublicKey{N: modulus.Add(modulus, big.NewInt(1)), E: 65537}, a.key)
	require.NoError(t, err)
	return der
}

// overTLS makes the whole decision over the wire, with TLS as the server's config says for connection n.
func overTLS(t *testing.T, trusted *x509.CertPool, config func(n int) *tls.Config, asks, starts []behaviour) outcome.Outcome {
	t.Helper()
	return overTLSAt(t, "127.0.0.1:0", trusted, config, asks, starts)
}

func overTLSAt(t *testing.T, address string, trusted *x509.CertPool, config func(n int) *tls.Config, asks, starts []behaviour) outcome.Outcome {
	t.Helper()
	w := newWire(t, asks, starts)
	front := listen(t, address)
	t.Cleanup(func() { front.Close() })
	go func() {
		for n := 0; ; n++ {
			conn, err := front.Accept()
			if err != nil {
				return
			}
			go terminate(conn, config(n), w.listener.Addr().String())
		}
	}()
	request := w.request("https")
	host, _, err := net.SplitHostPort(address)
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(front.Addr().String())
	require.NoError(t, err)
	request.Sidecar.Host = net.JoinHostPort(host, port)
	return runOn(overHTTP(t, request).Trust(trusted), request)
}

// terminate speaks TLS on a connection and hands what it carries to the wire.
func terminate(conn net.Conn, config *tls.Config, to string) {
	defer conn.Close()
	outer := tls.Server(conn, config)
	if outer.Handshake() != nil {
		return
	}
	inner, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer inner.Close()
	go func() { _, _ = io.Copy(inner, outer) }()
	_, _ = io.Copy(outer, inner)
	_ = outer.Close()
}

func TestOverTLSTheServerIsVerified(t *testing.T) {
	ours, other := newAuthority(t), newAuthority(t)
	later := time.Now().Add(time.Hour)
	good := &tls.Config{Certificates: []tls.Certificate{ours.issue(t, "127.0.0.1", later)}}
	always := func(c *tls.Config) func(int) *tls.Config { return func(int) *tls.Config { return c } }

	t.Run("a good certificate", func(t *testing.T) {
		o := overTLS(t, ours.pool(), always(good), onceLost, []behaviour{says(wireAccepted)})
		assert.Equal(t, outcome.Started, o.Name, o.Message())
	})
	t.Run("a server that would rather speak HTTP/2 gets HTTP/1.1", func(t *testing.T) {
		c := good.Clone()
		c.NextProtos = []string{"h2", "http/1.1"}
		o := overTLS(t, ours.pool(), always(c), onceLost, []behaviour{says(wireAccepted)})
		assert.Equal(t, outcome.Started, o.Name, o.Message())
	})
	const date = `20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`
	const whose = `\(the certificate of CN=dapr of IP, issued by CN=test authority, valid from ` + date + ` to ` + date + `, for IP\)`
	tooLarge := ours.issue(t, "127.0.0.1", later)
	tooLarge.Certificate = [][]byte{ours.hugeKey(t)}
	for name, c := range map[string]struct {
		config *tls.Config
		says   string
	}{
		"an unknown authority":          {&tls.Config{Certificates: []tls.Certificate{other.issue(t, "127.0.0.1", later)}}, "unknown authority .*" + strings.ReplaceAll(whose, "IP", "127.0.0.1")},
		"an expired certificate":        {&tls.Config{Certificates: []tls.Certificate{ours.issue(t, "127.0.0.1", time.Now().Add(-time.Hour))}}, "expired .*" + strings.ReplaceAll(whose, "IP", "127.0.0.1")},
		"another host's certificate":    {&tls.Config{Certificates: []tls.Certificate{ours.issue(t, "127.0.0.9", later)}}, "is valid for 127.0.0.9, not 127.0.0.1 " + strings.ReplaceAll(whose, "IP", "127.0.0.9")},
		"a certificate wanted from us":  {&tls.Config{Certificates: good.Certificates, ClientAuth: tls.RequireAnyClientCert}, "certificate required .the sidecar wants a certificate of this program, which has none to show"},
		"something that is none at all": {&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{[]byte("x")}, PrivateKey: ours.key}}}, "failed to parse certificate"},
		"a key that is too large":       {&tls.Config{Certificates: []tls.Certificate{tooLarge}}, "certificate containing RSA key larger"},
	} {
		t.Run(name+" stops at once", func(t *testing.T) {
			o := overTLS(t, ours.pool(), always(c.config), onceLost, nil)
			assert.Equal(t, outcome.Undetermined, o.Name)
			assert.Regexp(t, c.says, o.Message())
			assert.NotContains(t, o.Message(), "did not answer for", "it is not retried")
			assert.Contains(t, o.Message(), "; asked https://127.0.0.1:")
		})
	}
	t.Run("an address with an IPv6 zone is verified without it", func(t *testing.T) {
		v6 := &tls.Config{Certificates: []tls.Certificate{ours.issue(t, "::1", later)}}
		o := overTLSAt(t, "[::1%lo]:0", ours.pool(), always(v6), onceLost, []behaviour{says(wireAccepted)})
		assert.Equal(t, outcome.Started, o.Name, o.Message())
	})
	t.Run("a bad certificate at the start only: nothing was sent", func(t *testing.T) {
		bad := &tls.Config{Certificates: []tls.Certificate{other.issue(t, "127.0.0.1", later)}}
		o := overTLS(t, ours.pool(), func(n int) *tls.Config {
			if n == 0 {
				return good
			}
			return bad
		}, onceLost, []behaviour{says(wireAccepted)})
		assert.Equal(t, outcome.Unstarted, o.Name, o.Message())
	})
	t.Run("a server that does not speak TLS is asked again", func(t *testing.T) {
		w := newWire(t, onceLost, nil)
		request := w.request("https")
		state, err := overHTTP(t, request).Exists(context.Background())
		assert.Equal(t, askAgain, meaning(t, state, err), "%v", err)
	})
}

func TestAWireThatSpeaksTLSOnlyIsNoHTTPSidecar(t *testing.T) {
	ours := newAuthority(t)
	config := &tls.Config{Certificates: []tls.Certificate{ours.issue(t, "127.0.0.1", time.Now().Add(time.Hour))}}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).Handshake()
			conn.Close()
		}
	}()
	w := newWire(t, nil, nil)
	request := w.request("http")
	request.Sidecar.Host = listener.Addr().String()
	briefly(&request)
	o := runOn(overHTTP(t, request), request)
	assert.Equal(t, outcome.Undetermined, o.Name)
}
