package outcome

import (
	"bytes"
	"encoding/json"
	"sort"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/printable"
)

// MaxBytes is the most that the kubelet keeps of a container's termination message, and so the limit
// of Line.
const MaxBytes = 4096

// Line returns the outcome as one JSON object on one line, at most MaxBytes long, without a line break
// at its end:
//
//	{"outcome":"exists","instanceID":"…","workflowName":"…","runtimeStatus":"RUNNING","message":"…"}
//
// Every text from outside in it went through filter. If it does not fit, the reason in the message is cut.
func (o Outcome) Line(filter printable.Filter) []byte {
	id, workflow := filter.Clean(o.InstanceID, maxName), filter.Clean(o.WorkflowName, maxName)
	status, message := filter.Clean(o.RuntimeStatus, maxName), o.message.clean(filter)
	upTo := func(limit int) []byte {
		return encode(struct {
			Outcome       Name   `json:"outcome"`
			InstanceID    string `json:"instanceID"`
			WorkflowName  string `json:"workflowName"`
			RuntimeStatus string `json:"runtimeStatus"`
			Message       string `json:"message"`
		}{o.Name, printable.Cut(id, limit), printable.Cut(workflow, limit), printable.Cut(status, limit), message.cut(limit)})
	}
	if line := upTo(MaxBytes); len(line) <= MaxBytes {
		return line
	}
	// The names are short, so that in practice it is the reason that gives way.
	tooMuch := sort.Search(MaxBytes, func(limit int) bool { return len(upTo(limit)) > MaxBytes })
	return upTo(tooMuch - 1)
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
