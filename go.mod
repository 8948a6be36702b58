module github.com/stuttgart-things/dapr-workflow-trigger

go 1.26.0

require github.com/stretchr/testify v1.12.1

require (
	github.com/cenkalti/backoff/v4 v4.3.0 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	github.com/spf13/pflag v1.1.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
