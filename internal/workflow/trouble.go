package workflow

import (
	"context"
	"errors"
	"io"
	"strings"
)

// explain says in a sentence why nothing, or not everything, came back.
func explain(ctx context.Context, err error) string {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx).Error()
	case isCertificate(err):
		return aboutCertificate(err)
	case errors.Is(err, io.ErrUnexpectedEOF) && !strings.Contains(err.Error(), "half an answer"):
		return "half an answer: the connection was closed"
	case errors.Is(err, io.EOF):
		return "the connection was closed without an answer"
	case strings.Contains(err.Error(), "malformed HTTP"):
		return "not an HTTP answer: " + err.Error()
	}
	return err.Error()
}
