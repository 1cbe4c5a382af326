package docs

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lso-exporter/lso-exporter/diagnose"
)

var quoted = regexp.MustCompile("`([a-z_]+)`")

// The page about diagnose has a table for each object of the JSON form, with
// exactly its fields.
func TestDiagnoseFormIsDocumented(t *testing.T) {
	_, form, found := strings.Cut(pages(t)["docs/diagnose.md"], "\n## JSON\n")
	if !found {
		t.Fatal("no section about JSON")
	}
	documented := make(map[string][]string)
	for section := range strings.SplitSeq(form, "\n### ") {
		name, table, _ := strings.Cut(section, "\n")
		for line := range strings.Lines(table) {
			if cells := strings.Split(line, "|"); len(cells) > 2 {
				for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
					documented[name] = append(documented[name], m[1])
				}
			}
		}
	}
	seen := make(map[string]bool)
	var check func(reflect.Type)
	check = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice:
			check(of.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if of.PkgPath() == "time" || seen[of.Name()] {
			return
		}
		seen[of.Name()] = true
		var fields []string
		for i := range of.NumField() {
			field := of.Field(i)
			if !field.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			fields = append(fields, name)
			check(field.Type)
		}
		page := documented[of.Name()]
		slices.Sort(fields)
		slices.Sort(page)
		if !slices.Equal(fields, page) {
			t.Errorf("%s has the fields\n%v\nthe page\n%v", of.Name(), fields, page)
		}
		delete(documented, of.Name())
	}
	check(reflect.TypeFor[diagnose.Report]())
	for name, fields := range documented {
		if len(fields) > 0 {
			t.Errorf("the page has a table for %s, which is no object of the form", name)
		}
	}
	for _, kind := range diagnose.Kinds() {
		if !strings.Contains(form, "`"+string(kind)+"`") {
			t.Errorf("the page does not name the kind %s", kind)
		}
	}
}

// Every runbook that a report points to is there, and has the sections that
// somebody looks for at night.
func TestRunbooks(t *testing.T) {
	for page, content := range pages(t) {
		if !strings.HasPrefix(page, "docs/runbooks/") || strings.HasSuffix(page, "README.md") {
			continue
		}
		for _, section := range []string{"Meaning", "Impact", "Diagnosis", "Mitigation", "Verification"} {
			if !strings.Contains(content, "\n## "+section+"\n") {
				t.Errorf("%s has no section %s", page, section)
			}
		}
		if !strings.Contains(content, "lost") {
			t.Errorf("%s does not say what is lost", page)
		}
	}
	for _, address := range diagnose.Runbooks() {
		_, path, ok := strings.Cut(address, "/blob/main/")
		path, anchor, _ := strings.Cut(path, "#")
		if content := pages(t)[path]; !ok || content == "" || anchor != "" && !strings.Contains(strings.ToLower(content), "\n## "+anchor) {
			t.Errorf("reports point to %s, which is not there", address)
		}
	}
}
