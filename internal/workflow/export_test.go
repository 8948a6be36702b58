package workflow

import (
	"crypto/tls"
	"crypto/x509"
	"net"
)

// Trust makes the sidecar's connections trust roots in place of the system's.
func (s *HTTP) Trust(roots *x509.CertPool) *HTTP {
	s.dialTLS = (&tls.Dialer{NetDialer: &net.Dialer{}, Config: &tls.Config{RootCAs: roots}}).DialContext
	return s
}

// ParseAnswer makes the strict parser of answers testable by itself.
func ParseAnswer(body []byte) (instanceID, workflowName, runtimeStatus, errorCode string) {
	a := parseAnswer(body)
	return a.InstanceID, a.WorkflowName, a.RuntimeStatus, a.ErrorCode
}
