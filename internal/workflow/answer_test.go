package workflow_test

import (
	"encoding/json"
	"testing"

	"github.com/stuttgart-things/dapr-workflow-trigger/internal/workflow"
)

// FuzzParseAnswer wants whatever the strict parser finds in an answer to be what any JSON parser would.
func FuzzParseAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"errorCode":"ERR_INSTANCE_ID_NOT_FOUND","message":"x"}`,
		`{"instanceID":"a","workflowName":"W","runtimeStatus":"RUNNING","properties":{"x":"{\"a\":[1,2]}"}}`,
		`{"errorCode":"X","errorCode":"ERR_INSTANCE_ID_NOT_FOUND"}`, `{"errorcode":"ERR_INSTANCE_ID_NOT_FOUND"}`,
		`{"a":[{"errorCode":"ERR_INSTANCE_ID_NOT_FOUND"}]}`, `[]`, `{}`, `{"a":}`, `{"a":1}{}`, "{\"a\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		instanceID, workflowName, runtimeStatus, errorCode := workflow.ParseAnswer(body)
		if instanceID+workflowName+runtimeStatus+errorCode == "" {
			return
		}
		var all map[string]any
		if err := json.Unmarshal(body, &all); err != nil {
			t.Fatalf("found something in what is not JSON: %v", err)
		}
		for key, got := range map[string]string{
			"instanceID": instanceID, "workflowName": workflowName, "runtimeStatus": runtimeStatus, "errorCode": errorCode,
		} {
			if want, _ := all[key].(string); got != want {
				t.Fatalf("%s is %q, not %q", key, got, want)
			}
		}
	})
}
