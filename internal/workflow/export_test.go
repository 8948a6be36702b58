package workflow

import (
	"context"
	"crypto/x509"
	"time"
)

// Trust makes the sidecar's connections trust roots in place of the system's.
func (s *HTTP) Trust(roots *x509.CertPool) *HTTP {
	s.tls.RootCAs = roots
	return s
}

// ParseAnswer makes the strict parser of answers testable by itself.
func ParseAnswer(body []byte) (instanceID, workflowName, runtimeStatus, errorCode string) {
	a, _ := parseAnswer(context.Background(), body)
	return a.InstanceID, a.WorkflowName, a.RuntimeStatus, a.ErrorCode
}

// Age makes the age of an answer testable on two clocks that differ.
func Age(asked, now time.Time) time.Duration { return age(asked, now) }
