package workflow

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// isCertificate says whether a connection failed on a certificate, the server's or one that the server
// wanted of us. Trying again does not mend one.
func isCertificate(err error) bool {
	var verification *tls.CertificateVerificationError
	if errors.As(err, &verification) {
		return true
	}
	// crypto/tls has no types for the rest: a certificate that can't be used, an alert from the server.
	return strings.HasPrefix(err.Error(), "tls: ") && strings.Contains(err.Error(), "certificate") || isAlert(err)
}

// isAlert says whether the server has objected to our certificate, or to having none.
func isAlert(err error) bool {
	var alert *net.OpError
	return errors.As(err, &alert) && alert.Op == "remote error" && strings.Contains(alert.Err.Error(), "certificate")
}

// aboutCertificate says what is wrong with which certificate.
func aboutCertificate(err error) string {
	why := err.Error()
	if isAlert(err) {
		return why + " (the sidecar wants a certificate of this program, which has none to show)"
	}
	var verification *tls.CertificateVerificationError
	if errors.As(err, &verification) {
		why += trusted(os.Getenv("SSL_CERT_FILE"))
		if c := offending(verification); c != nil {
			why += " (" + describeCertificate(c) + ")"
		}
	}
	return why
}

// offending returns the certificate that a verification failed on. It may be one behind the sidecar's.
func offending(failed *tls.CertificateVerificationError) *x509.Certificate {
	var invalid x509.CertificateInvalidError
	if errors.As(failed, &invalid) && invalid.Cert != nil {
		return invalid.Cert
	}
	if len(failed.UnverifiedCertificates) > 0 {
		return failed.UnverifiedCertificates[0]
	}
	return nil
}

func describeCertificate(c *x509.Certificate) string {
	subject := short(c.Subject.String())
	if subject == "" {
		subject = "no subject"
	}
	return fmt.Sprintf("the certificate of %s, issued by %s, valid from %s to %s, for %s", subject, short(c.Issuer.String()),
		c.NotBefore.UTC().Format(time.RFC3339), c.NotAfter.UTC().Format(time.RFC3339), names(c))
}

// names returns what a certificate is valid for, a few if there are many.
func names(c *x509.Certificate) string {
	const most = 5
	names := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	for _, uri := range c.URIs {
		names = append(names, uri.String())
	}
	if len(names) == 0 {
		return "no name at all"
	}
	more := ""
	if len(names) > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	return short(strings.Join(names, ", ")) + more
}

// trusted says what is wrong with the file that SSL_CERT_FILE names, if anything is: crypto/x509 passes over a
// file that is missing or holds no certificate, and then knows no authority.
func trusted(path string) string {
	if path == "" {
		return ""
	}
	content, err := os.ReadFile(path)
	var trouble *os.PathError
	switch {
	case errors.As(err, &trouble):
		return fmt.Sprintf("; SSL_CERT_FILE names %s: %v", short(path), trouble.Err)
	case !x509.NewCertPool().AppendCertsFromPEM(content):
		return fmt.Sprintf("; SSL_CERT_FILE names %s, which holds no certificate", short(path))
	}
	return ""
}
