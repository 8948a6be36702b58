package workflow

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// An answer is what of daprd's JSON answers matters here. Fields that were not there are "".
type answer struct {
	InstanceID    string
	WorkflowName  string
	RuntimeStatus string
	ErrorCode     string
	Message       string
}

// parseAnswer reads one JSON object and nothing behind it; anything else, or one of our fields twice, gives
// the zero answer. It is stricter than json.Unmarshal, which takes "errorcode" for "errorCode" and the last of
// two: an answer that only resembles daprd's must not start anything.
func parseAnswer(body []byte) answer {
	var a answer
	fields := map[string]*string{
		"instanceID": &a.InstanceID, "workflowName": &a.WorkflowName, "runtimeStatus": &a.RuntimeStatus,
		"errorCode": &a.ErrorCode, "message": &a.Message,
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return answer{}
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return answer{}
		}
		name, _ := key.(string)
		field, wanted := fields[name]
		switch {
		case !wanted:
			err = skip(decoder)
		case field == nil:
			return answer{} // twice
		default:
			err = decoder.Decode(field)
			fields[name] = nil
		}
		if err != nil {
			return answer{}
		}
	}
	if _, err := decoder.Token(); err != nil { // the closing brace
		return answer{}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return answer{}
	}
	return a
}

// skip reads over one value piece by piece: it may be the workflow's whole input, in an object.
func skip(decoder *json.Decoder) error {
	for depth := 0; ; {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// describe returns what an answer said, as in "400, ERR_INSTANCE_ID_INVALID: …".
func (a answer) describe(status int, body []byte) string {
	const most = 64 << 10 // a larger body is no message
	text := ""
	switch {
	case a.ErrorCode != "" && a.Message != "":
		text = a.ErrorCode + ": " + a.Message
	case a.ErrorCode+a.Message != "":
		text = a.ErrorCode + a.Message
	case len(bytes.TrimSpace(body)) == 0:
		text = "an empty body"
	case len(body) > most:
		text = fmt.Sprintf("a body of %d bytes that does not say it", len(body))
	default:
		text = string(body)
	}
	return fmt.Sprintf("%d, %s", status, text)
}

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
