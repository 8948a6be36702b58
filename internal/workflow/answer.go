package workflow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of an answer. One can carry the workflow's whole input and output, escaped, but what matters in
// it is short.
const (
	maxAnswer  = 32 << 20 // bytes that are read
	maxText    = 8 << 10  // bytes of a text in it that are kept, or of a body that is shown
	maxNesting = 1000     // objects and lists inside each other
)

// An answer is what of daprd's JSON answers matters here. Fields that were not there are "".
type answer struct {
	InstanceID    string
	WorkflowName  string
	RuntimeStatus string
	ErrorCode     string
	Message       string
}

var (
	errNotOneObject = errors.New("not one JSON object")
	errNoText       = errors.New("JSON with something else where a text should be")
	errTwice        = errors.New("JSON with one field twice")
	errTooDeep      = fmt.Errorf("JSON that is nested deeper than %d", maxNesting)
)

// parseAnswer reads one JSON object and nothing behind it, until ctx ends. It is stricter than
// json.Unmarshal, which takes "errorcode" for "errorCode" and the last of two: an answer that only resembles
// daprd's must not start anything. It copies nothing but the answer's own fields.
func parseAnswer(ctx context.Context, body []byte) (answer, error) {
	var a answer
	fields := map[string]*string{
		"instanceID": &a.InstanceID, "workflowName": &a.WorkflowName, "runtimeStatus": &a.RuntimeStatus,
		"errorCode": &a.ErrorCode, "message": &a.Message,
	}
	// Only our own fields must not come twice. To remember all the names could take any amount of memory.
	decoder := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	if decoder.PeekKind() != jsontext.KindBeginObject {
		return answer{}, errNotOneObject
	}
	_, err := decoder.ReadToken()
	var name []byte // used again and again: there can be millions
	for err == nil && decoder.PeekKind() != jsontext.KindEndObject {
		if name, err = readText(name[:0], decoder); err != nil {
			break
		}
		field, wanted := fields[string(name)]
		switch {
		case !wanted:
			err = skip(ctx, decoder)
		case field == nil:
			err = errTwice
		default:
			fields[string(name)] = nil
			var text []byte
			text, err = readText(nil, decoder)
			*field = string(text)
		}
	}
	if err == nil {
		_, err = decoder.ReadToken() // the closing brace
	}
	if err == nil {
		if _, end := decoder.ReadToken(); !errors.Is(end, io.EOF) {
			err = errNotOneObject
		}
	}
	if err != nil {
		return answer{}, err
	}
	return a, nil
}

// short returns a text from outside that something else has to fit behind. One that is too long is only counted:
// cut, it could show half a secret that nothing recognises any more.
func short(text string) string {
	if len(text) > 1000 {
		return fmt.Sprintf("a text of %d bytes", len(text))
	}
	return text
}

// readText reads a string, or a null for none, and appends it to dst. In place of one that is too long for
// anything that could matter it appends its size.
func readText(dst []byte, decoder *jsontext.Decoder) ([]byte, error) {
	if kind := decoder.PeekKind(); kind != jsontext.KindString && kind != jsontext.KindNull {
		return dst, errNoText
	}
	value, err := decoder.ReadValue()
	switch {
	case err != nil || value.Kind() == jsontext.KindNull:
		return dst, err
	case len(value) > maxText:
		return fmt.Appendf(dst, "a text of %d bytes", len(value)), nil
	}
	return jsontext.AppendUnquote(dst, value)
}

// skip reads over one value piece by piece: it may be the workflow's whole input, in an object. It takes
// no more time than ctx allows.
func skip(ctx context.Context, decoder *jsontext.Decoder) error {
	around := decoder.StackDepth()
	for pieces := 1; ; pieces++ {
		if _, err := decoder.ReadToken(); err != nil {
			return err
		}
		switch depth := decoder.StackDepth(); {
		case depth == around:
			return nil
		case depth > maxNesting:
			return errTooDeep
		case pieces%1024 == 0 && ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
}

// describe returns what a reply said, as in "400, ERR_INSTANCE_ID_INVALID: …" and "301, Location: …"; problem is
// why it could not be read.
func (a answer) describe(r reply, problem error) string {
	text := ""
	switch body := r.body; {
	case errors.Is(problem, errTooDeep):
		text = problem.Error()
	case a.ErrorCode != "" && a.Message != "":
		text = a.ErrorCode + ": " + a.Message
	case a.ErrorCode+a.Message != "":
		text = a.ErrorCode + a.Message
	case len(bytes.TrimSpace(body)) == 0:
		text = "an empty body"
	case len(body) > maxText:
		text = fmt.Sprintf("a body of %d bytes that does not say it", len(body))
	default:
		text = string(body)
	}
	if location := r.header.Get("Location"); location != "" && r.status >= 300 && r.status <= 399 {
		text = "Location: " + short(location) + ", " + text
	}
	return fmt.Sprintf("%d, %s", r.status, text)
}
