package deps

import (
	"go/ast"
	"slices"
	"testing"
)

// isRoom says whether a package is one of the simulator's state machines: given
// state, a request and the time, they return answers and effects, so that a history
// replays byte for byte from its seed. All of the simulator is, but for the clock,
// the sockets, and what puts rooms together; scenarios play from outside. Which
// packages a room may import is told by a test of simbroker; here is what it may not
// do.
func isRoom(path string) bool {
	return within(path, "simbroker") && !within(path, "simbroker/scenario") &&
		!slices.Contains([]string{"simbroker", "simbroker/clock", "simbroker/control", "simbroker/wire"}, path)
}

// seeded are the names of math/rand/v2 that make a source from a seed. All
// others draw from the global one.
var seeded = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG", "ChaCha8", "Zipf"}

func TestRoomsAreStateMachines(t *testing.T) {
	for _, s := range tree(t) {
		if s.test || !isRoom(s.room()) {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a room starts no goroutine: what happens later is an event of the clock", s.at(n.Pos()))
			case *ast.SelectStmt, *ast.ChanType, *ast.SendStmt:
				t.Errorf("%s: a room uses no channel: it runs on one goroutine", s.at(n.Pos()))
			case *ast.SelectorExpr:
				of, ok := n.X.(*ast.Ident)
				if ok && of.Name == "rand" && slices.Contains(s.imports, "math/rand/v2") && !slices.Contains(seeded, n.Sel.Name) {
					t.Errorf("%s: rand.%s: chance comes from the cluster's seed, not from a global source", s.at(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
}

// impure are packages that package lag must not use, as a view follows from
// samples alone.
var impure = []string{"context", "io", "math/rand", "math/rand/v2", "net", "net/http", "os", "sync", "sync/atomic"}

// wallClock are the functions of package time that look at the real clock, or
// wait for it.
var wallClock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

func TestLagIsPure(t *testing.T) {
	for _, s := range tree(t) {
		if s.test || !within(s.room(), "lag") {
			continue
		}
		for _, imported := range s.imports {
			if slices.Contains(impure, imported) {
				t.Errorf("%s imports %s: lag is arithmetic on samples", s.path, imported)
			}
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: lag starts no goroutine", s.at(n.Pos()))
			case *ast.SelectorExpr:
				if of, ok := n.X.(*ast.Ident); ok && of.Name == "time" && slices.Contains(wallClock, n.Sel.Name) {
					t.Errorf("%s: time.%s: the time is that of the sample", s.at(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
}
