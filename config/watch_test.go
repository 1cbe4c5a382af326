package config

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestWatch(t *testing.T) {
	t.Chdir(t.TempDir())
	files := []string{"link"}
	write := func(name, content string) func() {
		return func() {
			if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	link := func(target string) func() {
		return func() {
			os.Remove("link")
			if err := os.Symlink(target, "link"); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("a", "1")()
	write("b", "2")()
	link("a")()
	var w Watch
	w.KnowPresent(files)
	for _, step := range []struct {
		what string
		do   func()
		want bool
	}{
		{"nothing", func() {}, false},
		{"the content is another", write("a", "11"), false},
		{"and stays", func() {}, true},
		{"and is known", func() {}, false},
		{"the same is written", write("a", "11"), false},
		{"and was no change", func() {}, false},
		{"a file is being written", write("a", "11\n2"), false},
		{"and goes on", write("a", "11\n22"), false},
		{"and is complete", func() {}, true},
		{"the link leads elsewhere", link("b"), false},
		{"and stays", func() {}, true},
		{"a change", write("b", "3"), false},
		{"that is taken back", write("b", "2"), false},
		{"is none", func() {}, false},
		{"the file is gone", func() { os.Remove("b") }, false},
		{"and stays away", func() {}, true},
		{"the file is there again", write("b", "2"), false},
		{"and stays", func() {}, true},
		{"what is known already", func() { write("b", "4")(); w.KnowPresent(files) }, false},
		{"is no change", func() {}, false},
	} {
		step.do()
		if got := w.Changed(files); got != step.want {
			t.Errorf("%s: changed %t", step.what, got)
		}
	}
}

// A change between reading and watching is noticed.
func TestWatchKnowsWhatWasRead(t *testing.T) {
	file := inFile(t, brokers)
	loaded, err := Load(Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	var w Watch
	w.Know(loaded)
	for range 3 {
		if w.Changed(loaded.Files()) {
			t.Error("what was read counts as changed")
		}
	}
	if err := os.WriteFile(file, []byte(brokers+"cluster: blue\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Know(loaded)
	changed := 0
	for range 3 {
		if w.Changed(loaded.Files()) {
			changed++
		}
	}
	if changed != 1 {
		t.Errorf("what was written since counts as %d changes", changed)
	}
}

func TestFiles(t *testing.T) {
	if loaded, err := Load(Sources{}); err != nil || len(loaded.Files()) > 0 {
		t.Errorf("without a file: %q, %v", loaded.Files(), err)
	}
	withSecret(t)
	file := inFile(t, brokers+"store: {login: {password: \"file:password\"}}\nweb: {config_file: web.yml}\n")
	loaded, err := Load(Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := loaded.Files(), []string{"exporter.yml", "web.yml", "password"}; !reflect.DeepEqual(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
}

func TestChanges(t *testing.T) {
	before, err := loadAndValidate(Sources{File: inFile(t, brokers+"log: {level: warn}\n")})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(Sources{File: inFile(t, brokers+"cluster: blue\nlog: {level: warn}\nweb:\n  listen_address: \":1\"\n  config_file: \"\"\n")})
	if err != nil {
		t.Fatal(err)
	}
	c, err := loaded.Validated()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Changes(before), []string{"cluster", "web.listen_address"}; !reflect.DeepEqual(got, want) {
		t.Errorf("changes %q, want %q", got, want)
	}
	const want = `exporter.yml:5: web.listen_address = ":1" cannot change while the exporter runs (in effect is ":10308"); set it back, or start the exporter anew`
	if err := loaded.Follows(before); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := loaded.Follows(c); err != nil {
		t.Error(err)
	}
	// What was removed from the file is named all the same.
	if loaded, err = Load(Sources{File: inFile(t, brokers)}); err != nil {
		t.Fatal(err)
	}
	if err := loaded.Follows(c); err == nil || !strings.HasPrefix(err.Error(), `exporter.yml: web.listen_address = ":10308" cannot change`) {
		t.Errorf("got %v", err)
	}
}

// What is only shown in another way does not make the exporter read anew.
func TestSweepsLike(t *testing.T) {
	before, err := loadAndValidate(Sources{File: inFile(t, brokers)})
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]bool{
		"granularity: topic\nlog: {level: warn}\nalerts: {stalled: 1h}\nweb: {telemetry_path: /m}\nreload: {interval: 1s}\n": true,
		"cluster: blue\n": false, "sweep: {interval: 1s}\n": false, "topics: {exclude: a}\n": false, "groups: {still_after: 2m}\n": false,
	} {
		c, err := loadAndValidate(Sources{File: inFile(t, brokers+content)})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.SweepsLike(before); got != want {
			t.Errorf("%q sweeps like nothing: %t", content, got)
		}
	}
}
