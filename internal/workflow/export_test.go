package workflow

import (
	"context"
	"crypto/x509"
	"net"
	"sync/atomic"
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

// Narrow makes a starter's connection take little that is not read.
func Narrow(starter Starter) {
	if conn, ok := starter.(*httpStarter).conn.(*net.TCPConn); ok {
		_ = conn.SetWriteBuffer(64 << 10)
	}
}

// Send makes the sending of a message testable by itself.
func Send(conn net.Conn, message []byte, answered bool) bool {
	var already atomic.Bool
	already.Store(answered)
	return send(conn, message, &already)
}

// Told returns what an answer to an ask for cbw_a means that came before the whole ask had been sent, or behind it.
func Told(status int, body string, whole bool) (State, error) {
	said, _ := parseAnswer(context.Background(), []byte(body))
	s := HTTP{instanceID: "cbw_a"}
	return s.told(reply{status: status, body: []byte(body), whole: whole}, said, "it")
}

// Age makes the age of an answer testable on two clocks that differ.
func Age(asked, now time.Time) time.Duration { return age(asked, now) }

// DescribeCertificate and Trusted make what is said of certificates testable by itself.
var (
	DescribeCertificate = describeCertificate
	Trusted             = trusted
)
