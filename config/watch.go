package config

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Files are the files on whose content the configuration depends: the
// configuration file, and those that settings name.
func (l *Loaded) Files() []string {
	var files []string
	if l.file != "" {
		files = append(files, l.file)
	}
	for _, s := range settings {
		if s.files != nil {
			files = append(files, s.files(&l.config)...)
		}
	}
	return files
}

// Changes are the keys of the settings by which the configuration differs from
// another one; nil for none. A secret that was replaced where it stands is no
// change.
func (c Config) Changes(other Config) []string {
	var keys []string
	for _, s := range settings {
		if !slices.Equal(s.get(&c), s.get(&other)) {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// SweepsLike says whether the cluster is read in the same way and shown under
// the same label as by another configuration, whatever else is different.
func (c Config) SweepsLike(other Config) bool {
	for _, key := range c.Changes(other) {
		section, _, _ := strings.Cut(key, ".")
		if !slices.Contains([]string{"granularity", "alerts", "compatibility", "web", "reload", "log"}, section) {
			return false
		}
	}
	return true
}

// Follows says which settings differ from those in effect although they cannot
// change while the exporter runs. Its error is [Problems]; nil for none.
func (l *Loaded) Follows(inEffect Config) error {
	var problems Problems
	for _, s := range settings {
		if before := s.get(&inEffect); s.fixed && !slices.Equal(s.get(&l.config), before) {
			problems = append(problems, l.problem(s.key, fmt.Sprintf(
				"cannot change while the exporter runs (in effect is %s); set it back, or start the exporter anew", quote(inline(before)))))
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// A Watch tells by their content whether files have changed. Links that lead
// elsewhere, as those of a mounted ConfigMap do, are changes like any other.
type Watch struct {
	known string // digest of what is in effect
	next  string // digest of what was found instead
}

// Know takes what was loaded for what is in effect: the files as they were then,
// whatever they hold by now.
func (w *Watch) Know(l *Loaded) { w.known, w.next = l.digest, "" }

// KnowPresent takes files as they are now for what is in effect, or is found bad
// in a moment.
func (w *Watch) KnowPresent(files []string) { w.known, w.next = digest(files, nil), "" }

// Changed says whether files have changed since Know, or since Changed last said
// so. It waits until it finds the same twice, so that it does not tell of a file
// that is being written.
func (w *Watch) Changed(files []string) bool {
	found := digest(files, nil)
	switch {
	case found == w.known:
		w.next = ""
		return false
	case found != w.next:
		w.next = found
		return false
	}
	w.known, w.next = found, ""
	return true
}

// digest is equal for equal contents of files. What was read before is not read
// again. Pipes and devices cannot be read twice, and count as never changing.
func digest(files []string, read map[string][]byte) string {
	var b strings.Builder
	for _, name := range files {
		info, err := os.Stat(name)
		var content []byte
		if err == nil && info.Mode().IsRegular() {
			var before bool
			if content, before = read[name]; !before {
				content, err = readAtMost(name, maxFileSize)
			}
		}
		if err != nil {
			content = []byte("error " + err.Error())
		}
		fmt.Fprintf(&b, "%q %x\n", name, sha256.Sum256(content))
	}
	return b.String()
}
