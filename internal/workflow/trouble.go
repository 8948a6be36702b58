package workflow

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
)

// isCertificate says whether a connection failed on a certificate, the server's or one that the server
// wanted of us. Trying again does not mend one.
func isCertificate(err error) bool {
	var verification *tls.CertificateVerificationError
	if errors.As(err, &verification) {
		return true
	}
	// crypto/tls has no types for the rest: an alert from the server, a certificate that can't be read.
	var alert *net.OpError
	return errors.As(err, &alert) && alert.Op == "remote error" && strings.Contains(alert.Err.Error(), "certificate") ||
		strings.Contains(err.Error(), "failed to parse certificate")
}

// explain says in a sentence why nothing, or not everything, came back.
func explain(ctx context.Context, err error) string {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx).Error()
	case errors.Is(err, io.ErrUnexpectedEOF) && !strings.Contains(err.Error(), "half an answer"):
		return "half an answer: the connection was closed"
	case errors.Is(err, io.EOF):
		return "the connection was closed without an answer"
	case strings.Contains(err.Error(), "malformed HTTP"):
		return "not an HTTP answer: " + err.Error()
	}
	return err.Error()
}
