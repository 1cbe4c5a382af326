package simulated

import (
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
)

// Config is the configuration of a cluster for a text: as many brokers as it
// wants, with its properties, features and vendor. It checks all that can be known
// before the text is played, the properties of its topics and its faults included.
// The error is a *scenario.SyntaxError, or is about properties that exclude each
// other.
func Config(s *scenario.Scenario) (simbroker.Config, error) {
	config := simbroker.Config{Brokers: s.Brokers, Vendor: s.Vendor, Properties: map[string]string{}, Features: map[string]int16{}}
	if s.Vendor != "" {
		if err := (simbroker.Config{Vendor: s.Vendor}).Check(); err != nil {
			return config, s.Mistake(s.LineOf("vendor", ""), err)
		}
	}
	for _, f := range s.Features {
		config.Features[f.Name] = f.Level
		if err := (simbroker.Config{Features: map[string]int16{f.Name: f.Level}}).Check(); err != nil {
			return config, s.Mistake(s.LineOf("feature", f.Name), err)
		}
	}
	for _, p := range s.Properties {
		config.Properties[p.Name] = p.Value
	}
	if err := config.Check(); err != nil {
		for _, p := range s.Properties {
			if err := (simbroker.Config{Properties: map[string]string{p.Name: p.Value}}).Check(); err != nil {
				return config, s.Mistake(s.LineOf("property", p.Name), err)
			}
		}
		return config, err
	}
	for _, t := range s.Topics {
		for _, p := range t.Configs {
			if err := simbroker.CheckTopicProperty(p.Name, p.Value); err != nil {
				return config, s.Mistake(s.LineOf("topic", t.Symbol), err)
			}
		}
	}
	return config, CheckFaults(s)
}

// CheckFaults says whether a simulated cluster knows the faults of a text, which
// may be played on one that runs elsewhere. The error is a *scenario.SyntaxError.
func CheckFaults(s *scenario.Scenario) error {
	for _, f := range s.Faults() {
		if _, err := simbroker.ParseFault(f.Document); err != nil {
			return s.Mistake(f.Line, err)
		}
	}
	return nil
}
