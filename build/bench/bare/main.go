// Bare does the trigger's two requests and nothing else: the floor for a Go program.
package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	dir := os.Args[1]
	read := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			log.Fatal(err)
		}
		return content
	}
	url := "http://127.0.0.1:" + os.Getenv("DAPR_HTTP_PORT") + "/v1.0/workflows/dapr/"
	id := string(read("instance-id"))
	response, err := http.Get(url + id)
	if err != nil {
		log.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(body), "ERR_INSTANCE_ID_NOT_FOUND") {
		log.Fatal(string(body), err)
	}
	response, err = http.Post(url+string(read("workflow-name"))+"/start?instanceID="+id, "application/json", bytes.NewReader(read("input.json")))
	if err != nil || response.StatusCode != http.StatusAccepted {
		log.Fatal(response, err)
	}
}
