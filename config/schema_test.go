package config

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

// compiledSchema is the schema as an editor has it.
func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("config.schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestSchemaFile(t *testing.T) {
	golden(t, "../docs/config.schema.json", string(Schema()))
}

// What the schema says of a file, the exporter says too.
func TestSchema(t *testing.T) {
	schema := compiledSchema(t)
	loaded, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	if err := loaded.Print(&printed); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, file string
		good       bool
	}{
		{"what config print shows", printed.String(), true},
		{"all forms", "cluster: blue\nkafka:\n  brokers: [a:1]\nsweep: {interval: 1m30.5s}\ncollectors: {groups: false}\ntopics: {include: 'a.*'}\nlog: {level: warn}\n", true},
		{"a list as one text", "kafka: {brokers: 'a:1,b:2'}\n", true},
		{"references", "kafka: {brokers: '${X}:1'}\nsweep: {interval: '${X}'}\n", true},
		{"an empty section", "log:\n", true},
		{"an unknown key", "colour: red\n", false},
		{"an unknown key in a section", "log: {colour: red}\n", false},
		{"a number for text", "cluster: 1\n", false},
		{"a number for a duration", "sweep: {interval: 10}\n", false},
		{"a duration without a unit", "sweep: {interval: '10'}\n", false},
		{"a negative duration", "sweep: {interval: -1s}\n", false},
		{"text for true", "collectors: {groups: 'yes'}\n", false},
		{"none of the options", "log: {level: loud}\n", false},
		{"text for a section", "log: warn\n", false},
		{"a section for a list", "kafka: {brokers: {a: 1}}\n", false},
		{"a number in a list", "kafka: {brokers: [9092]}\n", false},
		{"nothing for text", "cluster:\n", false},
		{"a list for the file", "- a\n", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var document any
			if err := yaml.Unmarshal([]byte(test.file), &document); err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(document); (err == nil) != test.good {
				t.Errorf("the schema says %v", err)
			}
			if _, err := Load(Sources{File: inFile(t, test.file), Environment: []string{"X=1s"}}); (err == nil) != test.good {
				t.Errorf("Load says %v", err)
			}
		})
	}
}
