package deps

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fewFiles is how many files a room has at least for its cycles to be judged: a
// quarter of fewer is a file, or none.
const fewFiles = 8

// A file uses another if something in it names what the other declares: a function, a
// type, a field, a method. Files that use each other in a circle can only be read
// together.
func TestFilesOfRoomsCanBeReadAlone(t *testing.T) {
	packages, exports := listed(t, "./simbroker/...")
	for _, p := range packages {
		room := strings.TrimPrefix(p.ImportPath, module+"/")
		if len(p.GoFiles) < fewFiles {
			continue
		}
		cycle := largestCycle(p.GoFiles, p.uses(t, exports))
		if len(cycle) > 1 && 4*len(cycle) > len(p.GoFiles) {
			t.Errorf("%s: %d of %d files can only be read together, more than a quarter: %v", room, len(cycle), len(p.GoFiles), cycle)
		}
	}
}

// goPackage is what "go list" says of a package.
type goPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Standard                bool
}

// listed are the packages that a pattern names, and the compiled form of each package
// that they need.
func listed(t *testing.T, pattern string) (packages []goPackage, exports map[string]string) {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Standard", pattern)
	list.Dir, list.Stderr = "../..", os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports = map[string]string{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, exports
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if within(p.ImportPath, module+"/simbroker") {
			packages = append(packages, p)
		}
	}
}

// uses says of each file of a package which of the others it uses.
func (p goPackage) uses(t *testing.T, exports map[string]string) map[string][]string {
	t.Helper()
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	config := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	checked, err := config.Check(p.ImportPath, set, files, &info)
	if err != nil {
		t.Fatal(err)
	}
	uses := map[string][]string{}
	file := func(pos token.Pos) string { return filepath.Base(set.Position(pos).Filename) }
	for name, object := range info.Uses {
		if object.Pkg() != checked {
			continue
		}
		if from, to := file(name.Pos()), file(object.Pos()); from != to && !slices.Contains(uses[from], to) {
			uses[from] = append(uses[from], to)
		}
	}
	return uses
}

// largestCycle is the largest set of files of which each reaches each other.
func largestCycle(files []string, uses map[string][]string) []string {
	reached := map[string]map[string]bool{}
	for _, from := range files {
		reached[from] = map[string]bool{}
		for left := []string{from}; len(left) > 0; {
			next := left[0]
			left = left[1:]
			for _, to := range uses[next] {
				if !reached[from][to] {
					reached[from][to] = true
					left = append(left, to)
				}
			}
		}
	}
	var largest []string
	for _, a := range files {
		var cycle []string
		for _, b := range files {
			if a == b || reached[a][b] && reached[b][a] {
				cycle = append(cycle, b)
			}
		}
		if len(cycle) > len(largest) {
			largest = cycle
		}
	}
	return largest
}

func TestLargestCycle(t *testing.T) {
	uses := map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
	if got := largestCycle([]string{"a", "b", "c", "d", "e", "f"}, uses); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("the largest cycle is %v", got)
	}
}
