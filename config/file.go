package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"sort"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// A file is one configuration file while it is read: its mappings are walked
// beside the table of settings, so that every complaint has a line.
type file struct {
	name        string
	environment map[string]string
	offline     bool // as in Sources
	assignments []assignment
	problems    Problems
}

// readFile reads the file called name and expands ${NAME} in its values from
// environment. It returns what the file sets and what was read. It waits for a
// pipe until ctx is done.
func readFile(ctx context.Context, name string, environment map[string]string, offline bool) ([]assignment, []byte, Problems) {
	f := &file{name: name, environment: environment, offline: offline}
	content, err := readWithin(ctx, name, maxFileSize)
	if err != nil {
		f.complain(0, "", "", Unreadable(err))
		return nil, nil, f.problems
	}
	read := content
	content = bytes.TrimPrefix(content, []byte("\uFEFF"))
	if line, fault := notText(content); fault != "" {
		f.complain(line, "", "", fault)
		return nil, read, f.problems
	}
	documents, err := parse(content)
	if err != nil {
		f.complainSyntax(err, content)
		return nil, read, f.problems
	}
	for i, document := range documents {
		switch root := document.Content[0]; {
		case i == 0 && root.ShortTag() == "!!null":
			// A file without keys sets nothing.
		case i == 0:
			if !f.hasOddities(root) {
				f.section("", root)
			}
		default:
			f.complain(root.Line, "", maskUser(show(root)), "is in a second document; keep one, without a line of three dashes after it")
			return f.assignments, read, f.problems
		}
	}
	return f.assignments, read, f.problems
}

// parse takes a file apart into its documents; an empty one has none.
func parse(content []byte) (documents []*yaml.Node, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document yaml.Node
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return nil, err
		}
		documents = append(documents, &document)
	}
}

// maxFileSize is far above what a configuration needs, in bytes.
const maxFileSize = 1 << 20

// errTooLarge is returned for files that would use up memory, as devices do.
var errTooLarge = fmt.Errorf("it is larger than %d bytes", maxFileSize)

// readAtMost reads a file, which may be a pipe, that is no larger than limit.
func readAtMost(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = errTooLarge
	}
	return content, err
}

// readWithin is readAtMost until ctx is done. A pipe into which nobody writes
// then costs a goroutine.
func readWithin(ctx context.Context, name string, limit int64) ([]byte, error) {
	type outcome struct {
		content []byte
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		content, err := readAtMost(name, limit)
		done <- outcome{content, err}
	}()
	select {
	case o := <-done:
		return o.content, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Unreadable words why a file could not be read, and what to do.
func Unreadable(err error) string {
	// The path is in the problem already.
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	remedy := "name one that can"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		remedy = "create it, or name one that is there"
	case errors.Is(err, fs.ErrPermission):
		remedy = "let this user read it"
	case errors.Is(err, syscall.EISDIR):
		remedy = "name a file in it"
	case errors.Is(err, errTooLarge):
		remedy = "name the file that is meant"
	case errors.Is(err, context.Canceled):
		remedy = "the exporter was told to stop before it came"
	case errors.Is(err, context.DeadlineExceeded):
		remedy = "write to that pipe, or name a file"
	}
	return fmt.Sprintf("cannot be read (%v); %s", err, remedy)
}

// notText says what in a file is no text, and in which line.
func notText(content []byte) (line int, fault string) {
	if bytes.HasPrefix(content, []byte{0xff, 0xfe}) || bytes.HasPrefix(content, []byte{0xfe, 0xff}) {
		return 1, "is UTF-16; save the file as UTF-8"
	}
	line = 1
	for rest := content; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == '\n':
			line++
		case r == 0:
			return line, "has a NUL byte; save the file as UTF-8 text"
		case r == utf8.RuneError && size == 1:
			return line, fmt.Sprintf("has the byte 0x%02x, which is not UTF-8; save the file as UTF-8", rest[0])
		case unicode.IsControl(r) && r != '\t' && r != '\r' && r != '\u0085':
			return line, fmt.Sprintf("has the control character %U; remove it, or write it as an escape in double quotes", r)
		}
		rest = rest[size:]
	}
	return 0, ""
}

// hasOddities complains of what YAML has beyond keys and values. Nothing that
// it could mean is guessed: a few lines of aliases can stand for more than
// there is memory, or for themselves.
func (f *file) hasOddities(node *yaml.Node) bool {
	switch {
	case node.Kind == yaml.AliasNode:
		f.complain(node.Line, "", "*"+node.Value, "is an alias; write in its place what it stands for")
		return true
	case node.Style&yaml.TaggedStyle != 0 && !slices.Contains(plainTags, node.ShortTag()):
		f.complain(node.Line, "", node.ShortTag(), "is a tag, which has no meaning here; remove it")
		return true
	}
	found := false
	for i, part := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			switch {
			case part.ShortTag() == "!!merge":
				f.complain(part.Line, "", part.Value, "is a merge key; write out the keys that it stands for")
				found = true
				continue
			case part.Kind != yaml.ScalarNode && part.Kind != yaml.AliasNode:
				f.complain(part.Line, "", maskUser(show(part)), "is no key; write a name, and put a value that begins with a brace or bracket in quotes")
				found = true
				continue
			}
		}
		found = f.hasOddities(part) || found
	}
	return found
}

// plainTags are those that say what a value is anyway.
var plainTags = []string{"!!map", "!!seq", "!!str", "!!bool", "!!null", "!!int", "!!float"}

func (f *file) complain(line int, key, value, fault string) {
	f.problems = append(f.problems, Problem{Source: f.name, Line: line, Key: key, Value: value, Fault: fault})
}

var (
	yamlErrorForm = regexp.MustCompile(`^yaml: (?:line \d+: )?(.*)$`)
	tabIndent     = regexp.MustCompile(`^ *\t`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// yamlFault is what the parser says, without the line: that is where the block
// begins in which something is wrong, which may be far above.
func yamlFault(err error) string {
	if m := yamlErrorForm.FindStringSubmatch(err.Error()); m != nil {
		return m[1]
	}
	return err.Error()
}

func (f *file) complainSyntax(err error, content []byte) {
	fault := yamlFault(err)
	lines := strings.Split(string(content), "\n")
	// The mistake is in the first line with which the file so far is wrong in
	// this way.
	n := 1 + sort.Search(len(lines)-1, func(i int) bool {
		_, err := parse([]byte(strings.Join(lines[:i+1], "\n")))
		return err != nil && yamlFault(err) == fault
	})
	text := maskLine(lines[:n])
	anchor := unknownAnchor.FindStringSubmatch(fault)
	switch {
	case tabIndent.MatchString(lines[n-1]):
		f.complain(n, "", text, "is indented with a tab; use spaces")
	case anchor != nil:
		f.complain(n, "", "*"+anchor[1], "is an alias; write in its place what it stands for, or put it in quotes")
	default:
		f.complain(n, "", text, fmt.Sprintf("is not YAML (%s); mend indentation and quotes here or in the line before", fault))
	}
}

// section walks the mapping node, whose key is path (empty for the file as a
// whole).
func (f *file) section(path string, node *yaml.Node) {
	switch {
	case node.Kind == yaml.MappingNode:
	case path == "":
		f.complain(node.Line, "", maskNode("", node), "is no key with a value; write keys, each on a line of its own, such as cluster: blue")
		return
	case node.ShortTag() == "!!null":
		return // all of its keys are commented out
	default:
		f.complain(node.Line, path, maskNode(path, node), fmt.Sprintf("is no section; %s holds keys, each on a line of its own", path))
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
		case keyNode.Value == "":
			f.complain(keyNode.Line, key, maskNode(key, valueNode), "has no key; write one before the colon")
		case strings.Contains(keyNode.Value, ".") && (isSection || at >= 0):
			section, name := split(key)
			f.complain(keyNode.Line, key, maskNode(key, valueNode), fmt.Sprintf("has a dot in its key; write %s: under a line %s:", name, section))
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
		if s.name() == strings.ReplaceAll(name, "-", "_") || s.key == name || strings.ReplaceAll(s.flag, "-", "_") == key {
			return fmt.Sprintf("; did you mean %s?", s.key)
		}
	}
	if s := Suggestion(name, neighbours, prefix); s != "" {
		return s
	}
	return Suggestion(key, all, "")
}

// value takes the value of a setting from node.
func (f *file) value(s setting, line int, node *yaml.Node) {
	scalars := []*yaml.Node{node}
	if node.Kind == yaml.SequenceNode && s.kind.list {
		scalars = node.Content
	}
	texts, written := []string{}, []string{}
	for _, scalar := range scalars {
		fault := wrongType(s.kind, scalar)
		if fault != "" && scalar != node {
			fault = wrongEntry(scalar, fault)
		}
		if fault != "" {
			f.complain(max(line, scalar.Line), s.key, maskNode(s.key, node), fault)
			return
		}
		text, err := expand(scalar.Value, f.environment)
		if err != nil && f.offline && s.kind.secret && secretReference.MatchString(scalar.Value) {
			text, err = scalar.Value, nil // that there is one is all that counts
		}
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

// wrongEntry words what is wrong with the type of a list's entry.
func wrongEntry(node *yaml.Node, fault string) string {
	switch {
	case node.Kind == yaml.MappingNode:
		return "has an entry that is a section; put the entry in quotes"
	case node.Kind == yaml.SequenceNode:
		return "has an entry that is a list; write one list of all entries"
	case node.ShortTag() == "!!null":
		return "has an empty entry; remove it"
	}
	return fmt.Sprintf("has the entry %s, which %s", cut(node.Value), fault)
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
			fault = fmt.Errorf("has %s, which is no reference; write ${NAME} for an environment variable, or $${ for the characters themselves", cut(match))
		case !set:
			fault = fmt.Errorf("refers to the environment variable %s, which is not set; set it, or write the value", cut(name))
		}
		return value
	})
	return expanded, fault
}

// splitList takes a list apart that is written as one text with commas, as in
// an environment variable. Nothing between two commas is an entry too; a comma at
// the end is only that of the last entry.
func splitList(text string) []string {
	parts := []string{}
	if text = strings.TrimSpace(text); text == "" {
		return parts
	}
	text = strings.TrimSuffix(text, ",")
	for part := range strings.SplitSeq(text, ",") {
		parts = append(parts, strings.TrimSpace(part))
	}
	return parts
}
