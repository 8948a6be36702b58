package mockdapr

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// maxBody is the largest body that daprd reads, in bytes: a byte more than its documented 4 MiB.
const maxBody = 4<<20 + 1

func (s *Sidecar) handler() http.Handler {
	mux := http.NewServeMux()
	for _, version := range []string{"v1.0", "v1.0-beta1"} {
		path := "/" + version + "/workflows/{component}/"
		mux.HandleFunc("GET "+path+"{id}", s.api("get", s.get))
		mux.HandleFunc("POST "+path+"{name}/start", s.api("start", s.start))
		for verb, change := range s.store.changes() {
			mux.HandleFunc("POST "+path+"{id}/"+verb, s.api("", change.answer))
		}
	}
	healthy := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }
	mux.HandleFunc("GET /v1.0/healthz", healthy)
	mux.HandleFunc("GET /v1.0/healthz/outbound", healthy)
	mux.HandleFunc("GET /mock/starts", func(w http.ResponseWriter, _ *http.Request) { response{http.StatusOK, s.Starts()}.write(w) })
	mux.HandleFunc("GET /mock/requests", func(w http.ResponseWriter, _ *http.Request) { response{http.StatusOK, s.Requests()}.write(w) })
	mux.HandleFunc("/", s.api("", func(*http.Request, []byte) response {
		return failure(http.StatusNotFound, "ERR_DIRECT_INVOKE", "failed getting app id either from the URL path or the header dapr-app-id")
	}))
	return mux
}

// A response is what the API answers.
type response struct {
	status int
	body   any
}

func failure(status int, code, format string, args ...any) response {
	return response{status, map[string]string{"errorCode": code, "message": fmt.Sprintf(format, args...)}}
}

// api makes a handler of the API out of what answers one request of a kind: it writes the journal, demands
// the token and lets the faults happen.
func (s *Sidecar) api(kind string, answer func(*http.Request, []byte) response) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
		fault := s.faults.take(kind)
		id := r.PathValue("id")
		if kind == "start" {
			id = r.URL.Query().Get("instanceID")
		}
		s.journal.add(Request{Time: time.Now(), Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, InstanceID: id,
			Token: r.Header.Get("dapr-api-token") != "", Fault: fault.String()}, body)
		if s.token != "" && r.Header.Get("dapr-api-token") != s.token {
			http.Error(w, "invalid api token", http.StatusUnauthorized)
			return
		}
		if err != nil {
			failure(http.StatusBadRequest, "ERR_BODY_READ", "failed to read request body: stream too large").write(w)
			return
		}
		if kind == "get" { // the port is closed before the answer goes out, so that what follows meets it closed
			s.refuse("get")
			if fault.Name == "" || fault.Name == "ok" {
				s.refuse("start")
			}
		}
		s.perform(w, r, body, fault, answer)
	}
}

// perform answers a request, or does to it what the fault says.
func (s *Sidecar) perform(w http.ResponseWriter, r *http.Request, body []byte, fault Fault, answer func(*http.Request, []byte) response) {
	switch fault.Name {
	case "status":
		if fault.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(fault.RetryAfter/time.Second)))
		}
		failure(fault.Status, "ERR_MOCK_FAULT", "the mock was told to answer %d", fault.Status).write(w)
	case "garbage":
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, "this is not JSON")
	case "redirect":
		w.Header().Set("Location", r.URL.RequestURI())
		w.WriteHeader(http.StatusTemporaryRedirect)
	case "not-http":
		hijack(w, "this is not HTTP\r\n")
	case "drop-request":
		hijack(w, "")
	case "drop-response":
		answer(r, body)
		hijack(w, "")
	case "half":
		whole := answer(r, body).bytes()
		hijack(w, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(whole), whole[:len(whole)/2]))
	case "delay":
		late := answer(r, body)
		_ = wait(r.Context(), fault.Duration)
		late.write(w)
	case "hold":
		if wait(r.Context(), fault.Duration) == nil {
			answer(r, body).write(w)
		}
	case "pending":
		id := r.URL.Query().Get("instanceID")
		s.store.leavePending(id)
		startFailed(r.PathValue("name"), errActive(id)).write(w)
	default:
		answer(r, body).write(w)
	}
}

func (s *Sidecar) get(r *http.Request, _ []byte) response {
	i, err := s.store.get(r.PathValue("id"))
	if err != nil {
		return notFound(r.PathValue("id"))
	}
	return response{http.StatusOK, struct {
		InstanceID    string            `json:"instanceID"`
		WorkflowName  string            `json:"workflowName,omitempty"`
		CreatedAt     time.Time         `json:"createdAt"`
		LastUpdatedAt time.Time         `json:"lastUpdatedAt"`
		RuntimeStatus string            `json:"runtimeStatus"`
		Properties    map[string]string `json:"properties,omitempty"`
	}{i.id, i.name, i.created.UTC(), i.updated.UTC(), i.status, i.properties()}}
}

func (s *Sidecar) start(r *http.Request, body []byte) response {
	name, id := r.PathValue("name"), r.URL.Query().Get("instanceID")
	if id == "" {
		id = rand.Text()
	}
	if len(id) > 64 {
		return failure(http.StatusBadRequest, "ERR_INSTANCE_ID_TOO_LONG", "workflow instance ID exceeds the max length of 64 characters")
	}
	if strings.ContainsFunc(id, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '-' }) {
		return failure(http.StatusBadRequest, "ERR_INSTANCE_ID_INVALID", "workflow instance ID '%s' is invalid: only alphanumeric and underscore characters are allowed", id)
	}
	switch err := s.store.start(r.Context(), name, id, body); {
	case errors.Is(err, context.Canceled):
		return response{499, nil} // nobody reads it
	case err != nil:
		return startFailed(name, err)
	}
	return response{http.StatusAccepted, map[string]string{"instanceID": id}}
}

func startFailed(name string, err error) response {
	return failure(http.StatusInternalServerError, "ERR_START_WORKFLOW", "error starting workflow '%s': %v", name, err)
}

func notFound(id string) response {
	return failure(http.StatusNotFound, "ERR_INSTANCE_ID_NOT_FOUND", "unable to find workflow with the provided instance ID: %s", id)
}

// answer answers a request for a change to one instance.
func (c change) answer(r *http.Request, _ []byte) response {
	id := r.PathValue("id")
	switch err := c.make(id); {
	case errors.Is(err, errNotFound) && c.unknown == http.StatusNotFound:
		return notFound(id)
	case err != nil:
		return failure(http.StatusInternalServerError, c.code, "error %s workflow %s: %v", c.doing, id, err)
	}
	return response{http.StatusAccepted, struct{}{}}
}

func (r response) bytes() []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(r.body) // strings, numbers and times
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func (r response) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_, _ = w.Write(r.bytes())
}
