package property

import (
	"bufio"
	"cmp"
	"os"
	"strings"
	"testing"
)

// kafkasOwn says whether a real broker would load what the property names, which
// the simulator has not, or whether it depends on the node being a controller.
func kafkasOwn(r Resource, name string) bool {
	d, ok := Lookup(r, name)
	return ok && d.Type == Class || name == "controller.quorum.auto.join.enable"
}

// What 4.3.1's own classes say to values (LogConfig.validate for topics,
// GroupConfig.validate for groups, KafkaConfig for a broker that starts) is in
// testdata/values.txt, which test/java writes.
func TestValuesAreThoseOfKafka(t *testing.T) {
	compared := 0
	for _, v := range readVerdicts(t) {
		if len(v.settings) == 1 && kafkasOwn(v.resource, v.settings[0].Name) {
			continue
		}
		compared++
		if got := verdict(v.resource, v.settings); got != v.says {
			t.Errorf("%v %+v:\n  here  %s\n  Kafka %s", v.resource, v.settings, got, v.says)
		}
	}
	if compared < 20_000 {
		t.Errorf("%d sets of values compared", compared)
	}
}

// verdict is what this package says to values of a resource that has no others.
func verdict(r Resource, settings []Setting) string {
	values := make(Values)
	for _, s := range settings {
		if err := CheckValue(r, s.Name, s.Value); err != nil {
			return err.Error()
		}
		values[s.Name] = strings.TrimSpace(s.Value)
	}
	var err error
	switch r {
	case Topic:
		err = NewConfig(nil).CheckTopic(values)
	case Group:
		err = NewConfig(nil).CheckGroup(values)
	default:
		err = NewConfig(values).Check()
	}
	if err != nil {
		return err.Error()
	}
	return "ok"
}

// said is what Kafka says to values.
type said struct {
	resource Resource
	settings []Setting
	says     string
}

// readVerdicts reads testdata/values.txt: first the values that were tried, then
// for each property what was said to which of them, with {} in the place of a
// value, and what was said to several properties together.
func readVerdicts(t *testing.T) []said {
	t.Helper()
	f, err := os.Open("testdata/values.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var (
		all   []said
		tried []string
		block []string
	)
	flush := func() {
		switch {
		case len(block) == 0:
		case block[0] == "values":
			tried = quoted(block[1])
		default:
			all = append(all, blockOf(block, tried)...)
		}
		block = nil
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if line := lines.Text(); strings.HasPrefix(line, "\t") {
			block = append(block, line[1:])
		} else {
			flush()
			block = []string{line}
		}
	}
	flush()
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func blockOf(block, tried []string) []said {
	kind, name, single := strings.Cut(block[0], " ")
	resource := map[string]Resource{"broker": Broker, "topic": Topic, "group": Group}[kind]
	var all []said
	told := make(map[string]bool)
	others := ""
	for _, line := range block[1:] {
		text, values, _ := strings.Cut(line, "\t")
		switch {
		case !single:
			v := said{resource: resource, says: text}
			for _, pair := range strings.Fields(values) {
				name, value, _ := strings.Cut(pair, "=")
				v.settings = append(v.settings, Setting{Name: name, Value: value})
			}
			all = append(all, v)
		case values == "the others":
			others = text
		default:
			for _, value := range quoted(values) {
				told[value] = true
				all = append(all, said{resource, []Setting{{Name: name, Value: value}}, strings.ReplaceAll(text, "{}", value)})
			}
		}
	}
	if single {
		for _, value := range tried {
			if !told[value] {
				all = append(all, said{resource, []Setting{{Name: name, Value: value}}, strings.ReplaceAll(cmp.Or(others, "nothing"), "{}", value)})
			}
		}
	}
	return all
}

// quoted splits "a" "b c".
func quoted(s string) []string {
	return strings.Split(strings.TrimSuffix(strings.TrimPrefix(s, `"`), `"`), `" "`)
}
