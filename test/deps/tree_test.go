// Package deps holds the rooms of the project apart: which package may import
// which, and what the simulator's rooms may use, each rule with its reason. It
// reads source files and runs nothing.
package deps

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/lso-exporter/lso-exporter"

// A source is one Go file of the project.
type source struct {
	path    string // from the module's root, slashes
	test    bool   // a _test.go file
	imports []string
	syntax  *ast.File
	set     *token.FileSet
}

// room is the folder of the file.
func (s source) room() string {
	dir := filepath.ToSlash(filepath.Dir(s.path))
	if dir == "." {
		return ""
	}
	return dir
}

// at is a place in the file, for messages.
func (s source) at(pos token.Pos) string {
	return s.path + ":" + strconv.Itoa(s.set.Position(pos).Line)
}

// tree reads every Go file of the module.
func tree(t *testing.T) []source {
	t.Helper()
	const root = "../.."
	var all []source
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata") {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		s := source{path: filepath.ToSlash(relative), test: strings.HasSuffix(name, "_test.go"), set: token.NewFileSet()}
		s.syntax, err = parser.ParseFile(s.set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, spec := range s.syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, imported)
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no Go files found")
	}
	return all
}

// within says whether a folder or import path is root or lies below it.
func within(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }
