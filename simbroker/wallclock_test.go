package simbroker_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// checkWallClock finds uses of the wall clock and of goroutines, which belong
// to rooms clock and wire: anywhere else they would make histories differ.
func checkWallClock(t *testing.T, file string) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == "time" && slices.Contains(wallClock, s.Sel.Name) {
			t.Errorf("%s: time.%s reads the wall clock, which only room clock may", files.Position(n.Pos()), s.Sel.Name)
		}
		return true
	})
}
