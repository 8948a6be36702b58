package workflow_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/workflow"
)

func TestACertificateIsDescribed(t *testing.T) {
	spiffe := &url.URL{Scheme: "spiffe", Host: "cluster.local", Path: "/ns/dapr"}
	c := &x509.Certificate{
		Subject: pkix.Name{CommonName: "dapr", Organization: []string{"o"}}, Issuer: pkix.Name{CommonName: "ca"},
		NotBefore: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)), NotAfter: time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC),
		DNSNames: []string{"a", "b"}, IPAddresses: []net.IP{net.ParseIP("::1")}, URIs: []*url.URL{spiffe},
	}
	const dates = "valid from 2026-01-02T02:04:05Z to 2026-12-31T00:00:00Z"
	assert.Equal(t, "the certificate of CN=dapr,O=o, issued by CN=ca, "+dates+", for a, b, ::1, spiffe://cluster.local/ns/dapr", workflow.DescribeCertificate(c))
	c.DNSNames, c.IPAddresses, c.URIs, c.Subject = nil, nil, nil, pkix.Name{}
	assert.Equal(t, "the certificate of no subject, issued by CN=ca, "+dates+", for no name at all", workflow.DescribeCertificate(c))
	for i := range 100 {
		c.DNSNames = append(c.DNSNames, fmt.Sprint("n", i))
	}
	assert.True(t, strings.HasSuffix(workflow.DescribeCertificate(c), ", for n0, n1, n2, n3, n4 and 95 more"))
	c.DNSNames = []string{strings.Repeat("x", 5000)}
	assert.True(t, strings.HasSuffix(workflow.DescribeCertificate(c), ", for a text of 5000 bytes"))
}

func TestAnSSLCertFileThatHoldsNoneIsNamed(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
		return filepath.Join(dir, name)
	}
	missing, empty, key := filepath.Join(dir, "gone.pem"), file("empty.pem", ""), file("key.pem", "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n")
	assert.Equal(t, "", workflow.Trusted(""))
	assert.Equal(t, "; SSL_CERT_FILE names "+missing+": no such file or directory", workflow.Trusted(missing))
	assert.Equal(t, "; SSL_CERT_FILE names "+dir+": is a directory", workflow.Trusted(dir))
	for _, path := range []string{empty, key} {
		assert.Equal(t, "; SSL_CERT_FILE names "+path+", which holds no certificate", workflow.Trusted(path))
	}
	good := file("ca.pem", newAuthority(t).pem())
	assert.Equal(t, "", workflow.Trusted(good))
}
