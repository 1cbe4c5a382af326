package config

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Schema is the form of the file as a JSON schema (draft 7, which editors know),
// made from the table of settings. What it accepts may still be a mistake: that
// a duration is out of bounds or that settings disagree is told by Load.
func Schema() []byte {
	c := defaults()
	root := newObject("Configuration of lso-exporter.")
	objects := map[string]*schemaObject{"": root}
	for _, s := range sections {
		parent, name := split(s.key)
		object := newObject(s.help)
		object.Type = []string{"object", "null"} // all of its keys may be commented out
		objects[s.key] = object
		objects[parent].Properties[name] = object
	}
	for _, s := range settings {
		value := s.schema()
		value["description"] = strings.ReplaceAll(s.help, "`", "")
		if texts := s.get(&c); s.kind.list {
			value["default"] = texts
		} else if s.kind == boolKind {
			value["default"] = texts[0] == "true"
		} else {
			value["default"] = texts[0]
		}
		objects[s.section()].Properties[s.name()] = value
	}
	root.Schema = "http://json-schema.org/draft-07/schema#"
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(root); err != nil {
		panic("config: schema: " + err.Error()) // it is made of texts
	}
	return b.Bytes()
}

// schemaObject is the schema of the file or of a section.
type schemaObject struct {
	Schema      string         `json:"$schema,omitempty"`
	Description string         `json:"description"`
	Type        any            `json:"type"`
	Properties  map[string]any `json:"properties"`
	// Additional is false: an unknown key is a mistake.
	Additional bool `json:"additionalProperties"`
}

func newObject(help string) *schemaObject {
	return &schemaObject{Description: strings.ReplaceAll(help, "`", ""), Type: "object", Properties: map[string]any{}}
}

// Expressions of a schema, as JavaScript has them.
const (
	referencePattern = `\$\{`
	durationPattern  = `^\+?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$|^0$|` + referencePattern
)

// schema is what the setting's value looks like. Any value may be a reference to
// the environment, or be made of some.
func (s setting) schema() map[string]any {
	str := map[string]any{"type": "string"}
	reference := map[string]any{"type": "string", "pattern": referencePattern}
	anyOf := func(options ...map[string]any) map[string]any { return map[string]any{"anyOf": options} }
	switch {
	case s.kind.list:
		// One text has the entries with commas between them.
		return anyOf(map[string]any{"type": "array", "items": str}, str)
	case len(s.options) > 0:
		return anyOf(map[string]any{"enum": s.options}, reference)
	case s.kind == boolKind:
		return anyOf(map[string]any{"type": "boolean"}, reference)
	case s.kind == durationKind:
		return map[string]any{"type": "string", "pattern": durationPattern}
	}
	return str
}
