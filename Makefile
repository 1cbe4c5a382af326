# What there is to run. "go test ./..." needs nothing but Go; what needs more has
# a target of its own and says "not run" where that is missing.

# Kafka is the version of the real Kafka that judges (Java 17 and Maven).
KAFKA ?= 4.3.1
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.9.0

.PHONY: help build test race lint generate kafka suites alerts chart image bench vuln ci judge

help: ## Show this list.
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

build: ## Build ./lso-exporter.
	go build -trimpath -o lso-exporter ./cmd/lso-exporter

test: ## Run the tests that need nothing but Go.
	go test ./...

race: ## The same with the race detector.
	go test -race ./...

lint: ## Check formatting, go vet and staticcheck.
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run gofmt -w on these"; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

generate: ## Make golden files and the generated parts of docs/ anew.
	go test ./config ./metrics ./alerting ./dashboards/generate ./web -update
	go test ./test/deploy -update # what the charts take over from these

kafka: ## Run the tests that need a real Kafka.
	LSO_KAFKA=$(KAFKA) go test -p 1 -timeout 40m ./test/...

suites: ## Run other clients' own tests, on the simulator and on a real Kafka (half an hour).
	cd test/suites && LSO_KAFKA=$(KAFKA) go test -count=1 -timeout 120m -v .

alerts: ## Run the tests of alerts that need promtool, Prometheus and Alertmanager.
	LSO_PROMETHEUS=1 go test -timeout 5m ./alerting ./test/alerts

chart: ## Judge the charts by Helm and Kubernetes (a quarter of an hour to compile, once).
	cd test/chart && go test -timeout 60m ./...

image: ## Build the image twice, compare, and run it; needs Linux, root and buildah.
	LSO_IMAGE=1 go test -count=1 -timeout 15m -v ./test/image

bench: ## Run the benchmarks.
	go test -run '^$$' -bench . -benchmem ./...

vuln: ## Look for known vulnerabilities in what is built.
	go run $(GOVULNCHECK) ./...

ci: ## Run what must pass before anything lands.
	.ci/run

judge: ## Run everything there is, without a limit of time.
	.ci/run --all
