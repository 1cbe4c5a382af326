// Package litmus holds the litmus tests: the shortest histories on which right
// and wrong behaviour of a Kafka differ, each a text in the language of package
// scenario. Its tests play them on the simulator, in process under simulated
// time and over TCP, and on a real Kafka. A real Apache Kafka 4.3.1 printed the
// outputs that stand in the texts; docs/litmus.md says what is left out and why.
package litmus

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
)

//go:embed *.txt
var texts embed.FS

//go:embed server.properties
var serverProperties string

// Scenarios are all litmus tests, by name.
func Scenarios() ([]*scenario.Scenario, error) {
	names, err := fs.Glob(texts, "*.txt")
	if err != nil {
		return nil, err
	}
	var scenarios []*scenario.Scenario
	for _, name := range names {
		text, err := texts.ReadFile(name)
		if err != nil {
			return nil, err
		}
		s, err := scenario.Parse(strings.TrimSuffix(name, ".txt"), string(text))
		if err != nil {
			return nil, err
		}
		scenarios = append(scenarios, s)
	}
	return scenarios, nil
}

// Properties are the broker properties with which the litmus tests are played,
// by Kafka's names.
func Properties() map[string]string {
	properties := map[string]string{}
	for _, line := range strings.Split(serverProperties, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, found := strings.Cut(line, "=")
		if !found {
			panic(fmt.Sprintf("server.properties: %q is no NAME=VALUE", line))
		}
		properties[name] = value
	}
	return properties
}
