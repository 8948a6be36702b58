package outcome

import (
	"bytes"
	"encoding/json"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/printable"
)

// MaxBytes is the most that the kubelet keeps of a container's termination message, and so the limit
// of Line.
const MaxBytes = 4096

// Limits, in characters, of what a line can hold besides the message. An instance ID has 64.
const (
	maxName    = 200
	maxStatus  = 64
	maxMessage = 3000
)

// Line returns the outcome as one JSON object on one line, at most MaxBytes long, without a line break
// at its end:
//
//	{"outcome":"exists","instanceID":"…","workflowName":"…","runtimeStatus":"RUNNING","message":"…"}
//
// Every text in it went through filter. A message that does not fit is cut, its hint is not.
func (o Outcome) Line(filter printable.Filter) []byte {
	for limit := maxMessage; ; limit = limit * 3 / 4 {
		line := encode(struct {
			Outcome       Name   `json:"outcome"`
			InstanceID    string `json:"instanceID"`
			WorkflowName  string `json:"workflowName"`
			RuntimeStatus string `json:"runtimeStatus"`
			Message       string `json:"message"`
		}{
			o.Name,
			filter.Clean(o.InstanceID, maxName),
			filter.Clean(o.WorkflowName, maxName),
			filter.Clean(o.RuntimeStatus, maxStatus),
			o.sentence(filter, limit),
		})
		if len(line) <= MaxBytes {
			return line
		}
	}
}

// sentence returns the message, cleaned and cut, and its hint.
func (o Outcome) sentence(filter printable.Filter, limit int) string {
	message := filter.Clean(o.Message, limit)
	if o.Hint != "" {
		message += "; " + o.Hint
	}
	return message
}

func encode(v any) []byte {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)              // people read it
	if err := encoder.Encode(v); err != nil { // a struct of strings always encodes
		panic(err)
	}
	return bytes.TrimSuffix(line.Bytes(), []byte("\n"))
}
