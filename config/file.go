package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// A file is one configuration file while it is read: its mappings are walked
// beside the table of settings, so that every complaint has a line.
type file struct {
	name        string
	environment map[string]string
	assignments []assignment
	problems    Problems
}

// readFile reads the file called name and expands ${NAME} in its values from
// environment.
func readFile(name string, environment map[string]string) ([]assignment, Problems) {
	f := &file{name: name, environment: environment}
	content, err := readAtMost(name, maxFileSize)
	if err != nil {
		// The path is in the problem already.
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		f.complain(0, "", "", fmt.Sprintf("cannot be read (%v); give --config.file a file that this user may read", err))
		return nil, f.problems
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(content)))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil // an empty file sets nothing
	case err != nil:
		f.complainSyntax(err, content)
		return nil, f.problems
	}
	if !f.hasAliases(&document) {
		f.section("", document.Content[0])
	}
	var second yaml.Node
	switch err := decoder.Decode(&second); {
	case err == nil:
		f.complain(second.Content[0].Line, "", "", "is in a second document; keep one, without a line of three dashes after it")
	case !errors.Is(err, io.EOF):
		f.complainSyntax(err, content)
	}
	return f.assignments, f.problems
}

// maxFileSize is far above what a configuration needs, in bytes.
const maxFileSize = 1 << 20

// readAtMost reads a file, which may be a pipe, that is no larger than limit.
func readAtMost(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("it is larger than %d bytes", limit)
	}
	return content, err
}

// hasAliases complains of every alias: a few lines of them can stand for more
// than there is memory, or for themselves.
func (f *file) hasAliases(node *yaml.Node) bool {
	if node.Kind == yaml.AliasNode {
		f.complain(node.Line, "", "*"+node.Value, "is an alias; write in its place what it stands for")
		return true
	}
	found := false
	for _, part := range node.Content {
		found = f.hasAliases(part) || found
	}
	return found
}

func (f *file) complain(line int, key, value, fault string) {
	f.problems = append(f.problems, Problem{Source: f.name, Line: line, Key: key, Value: value, Fault: fault})
}

var yamlErrorForm = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

func (f *file) complainSyntax(err error, content []byte) {
	line, text, cause := 0, "", err.Error()
	if m := yamlErrorForm.FindStringSubmatch(cause); m != nil {
		line, _ = strconv.Atoi(m[1]) // no number is line 0, which is not shown
		cause = m[2]
	}
	if lines := strings.Split(string(content), "\n"); line > 0 && line <= len(lines) {
		text = maskLine(lines[:line])
	}
	f.complain(line, "", text, fmt.Sprintf("is not YAML (%s); mend indentation and quotes here or in the line before", cause))
}

// section walks the mapping node, whose key is path (empty for the file as a
// whole).
func (f *file) section(path string, node *yaml.Node) {
	if node.Kind != yaml.MappingNode {
		what := "the file"
		if path != "" {
			what = path
		}
		f.complain(node.Line, path, node.Value, fmt.Sprintf("is no section; %s holds keys, each on a line of its own", what))
		return
	}
	seen := make(map[string]int)
	for i := 0; i+1 < len(node.Content); i += 2 {
		keyNode, valueNode := node.Content[i], node.Content[i+1]
		key := keyNode.Value
		if path != "" {
			key = path + "." + key
		}
		if line, twice := seen[key]; twice {
			f.complain(keyNode.Line, key, maskNode(key, valueNode), fmt.Sprintf("stands in line %d already; remove one of the two", line))
			continue
		}
		seen[key] = keyNode.Line
		isSection := slices.ContainsFunc(sections, func(s section) bool { return s.key == key })
		at := slices.IndexFunc(settings, func(s setting) bool { return s.key == key })
		switch {
		case isSection:
			f.section(key, valueNode)
		case at >= 0:
			f.value(settings[at], keyNode.Line, valueNode)
		default:
			meant := suggestKey(path, key)
			f.complain(keyNode.Line, key, maskNode(key+meant, valueNode), "is an unknown key; remove it"+meant)
		}
	}
}

// suggestKey looks for a key near to the unknown one: first among its
// neighbours, then everywhere, as a key may stand in the wrong section.
func suggestKey(path, key string) string {
	var all, neighbours []string
	for _, s := range sections {
		all = append(all, s.key)
		if parent, name := split(s.key); parent == path {
			neighbours = append(neighbours, name)
		}
	}
	prefix, name := split(key)
	if prefix != "" {
		prefix += "."
	}
	for _, s := range settings {
		all = append(all, s.key)
		if s.section() == path {
			neighbours = append(neighbours, s.name())
		}
		if s.name() == name || s.key == name || strings.ReplaceAll(s.flag, "-", "_") == key {
			return fmt.Sprintf("; did you mean %s?", s.key)
		}
	}
	if s := suggestion(name, neighbours, prefix); s != "" {
		return s
	}
	return suggestion(key, all, "")
}

// value takes the value of a setting from node.
func (f *file) value(s setting, line int, node *yaml.Node) {
	scalars := []*yaml.Node{node}
	if node.Kind == yaml.SequenceNode && s.kind.list {
		scalars = node.Content
	}
	texts, written := []string{}, []string{}
	for _, scalar := range scalars {
		if fault := wrongType(s.kind, scalar); fault != "" {
			f.complain(max(line, scalar.Line), s.key, maskNode(s.key, node), fault)
			return
		}
		text, err := expand(scalar.Value, f.environment)
		if err != nil {
			fault := err.Error()
			if s.kind.secret && maskSecret(scalar.Value) == shownSecret {
				fault = "has a ${ that is no reference to a variable that is set; write ${NAME} for one, or $${ for the characters themselves"
			}
			f.complain(scalar.Line, s.key, maskNode(s.key, node), fault)
			return
		}
		if s.kind.secret && strings.HasPrefix(text, secretFilePrefix) && !strings.HasPrefix(scalar.Value, secretFilePrefix) {
			f.complain(scalar.Line, s.key, maskNode(s.key, node), "refers to a text that begins with file:, which would be taken for a file's name; write file: before the reference, or put the secret into a file")
			return
		}
		texts = append(texts, text)
		written = append(written, scalar.Value)
	}
	if s.kind.list && node.Kind == yaml.ScalarNode {
		texts, written = splitList(texts[0]), splitList(written[0])
	}
	f.assignments = append(f.assignments, assignment{
		setting: s, texts: texts, written: written, shown: maskNode(s.key, node),
		origin: Origin{Source: f.name, Line: line, Key: s.key},
	})
}

// wrongType says what is wrong with the type of a scalar, and how to mend it.
func wrongType(k kind, node *yaml.Node) string {
	const quoteIt = "; put it in quotes"
	switch tag := node.ShortTag(); {
	case node.Kind == yaml.MappingNode:
		return fmt.Sprintf("is a section where a %s belongs; write the value on the key's own line", k.name)
	case node.Kind == yaml.SequenceNode:
		return fmt.Sprintf("is a list where a %s belongs; write one value", k.name)
	case tag == "!!null":
		return "has no value; write one, or remove the key for the default"
	case strings.Contains(node.Value, "${"):
		return "" // its text is only known when it is expanded
	case k == boolKind && tag != "!!bool":
		return "is neither true nor false; write one of them, without quotes"
	case k == durationKind && tag != "!!str":
		return "is not a duration; write a number with its unit (ms, s, m or h), such as 10s or 1m30s"
	case k.tag == "!!str" && tag != "!!str":
		return fmt.Sprintf("is read as %s by YAML, not as text%s", strings.TrimPrefix(tag, "!!"), quoteIt)
	}
	return ""
}

// show is the value of node as a Problem names it.
func show(node *yaml.Node) string {
	switch node.Kind {
	case yaml.ScalarNode:
		return node.Value
	case yaml.SequenceNode:
		parts := make([]string, len(node.Content))
		for i, part := range node.Content {
			parts[i] = show(part)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case yaml.MappingNode:
		parts := make([]string, 0, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			parts = append(parts, node.Content[i].Value+": "+maskNode(node.Content[i].Value, node.Content[i+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return ""
}

var reference = regexp.MustCompile(`\$?\$\{[^}]*\}?`)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand replaces each ${NAME} by the variable's value, and $${ by a plain ${.
// A dollar sign without a brace stays as it is: regular expressions end in one.
func expand(text string, environment map[string]string) (string, error) {
	var fault error
	expanded := reference.ReplaceAllStringFunc(text, func(match string) string {
		if strings.HasPrefix(match, "$$") {
			return match[1:]
		}
		name, closed := strings.CutSuffix(match[2:], "}")
		value, set := environment[name]
		switch {
		case !closed || !variableName.MatchString(name):
			fault = fmt.Errorf("has %s, which is no reference; write ${NAME} for an environment variable, or $${ for the characters themselves", match)
		case !set:
			fault = fmt.Errorf("refers to the environment variable %s, which is not set; set it, or write the value", name)
		}
		return value
	})
	return expanded, fault
}

// splitList takes a list apart that is written as one text with commas, as in
// an environment variable.
func splitList(text string) []string {
	parts := []string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
