package rights

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/property"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
)

//go:embed *.txt
var texts embed.FS

//go:embed server.properties
var serverProperties string

// Scenarios are the stories of users who see less than there is, by name.
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

// Properties are the broker properties with which the stories are played, on a
// cluster that is secured besides.
func Properties() map[string]string {
	settings, err := property.Parse("server.properties", strings.NewReader(serverProperties))
	if err != nil {
		panic(fmt.Sprintf("the embedded properties cannot be read: %v", err))
	}
	properties := map[string]string{}
	for _, s := range settings {
		properties[s.Name] = s.Value
	}
	return properties
}
