package deps

import (
	"go/ast"
	"slices"
	"testing"
)

// rooms are the simulator's state machines: given state, a request and the
// time, they return answers and effects. A history must replay byte for byte
// from a seed, which the following rules make possible.
var rooms = []string{
	"simbroker/kafka", "simbroker/property", "simbroker/producer", "simbroker/commitlog",
	"simbroker/replica", "simbroker/txn", "simbroker/group", "simbroker/controller",
}

// forbiddenImports are what a room must not use at all.
var forbiddenImports = map[string]string{
	"sync":        "a room runs on one goroutine, so there is nothing to lock",
	"sync/atomic": "a room runs on one goroutine, so there is nothing to share",
	"math/rand":   "use math/rand/v2, from the cluster's seed",
	"crypto/rand": "chance comes from the cluster's seed, not from the system",
	"net":         "sockets are in simbroker/wire",
	"net/http":    "sockets are in simbroker/wire",
	"context":     "a room's calls return at once; waiting is a timer of the clock",
}

// forbiddenCalls are the functions of package time that look at the real
// clock, or wait for it.
var forbiddenCalls = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

// seeded are the names of math/rand/v2 that make a source from a seed. All
// others draw from the global one.
var seeded = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG", "ChaCha8", "Zipf"}

func TestRoomsAreStateMachines(t *testing.T) {
	for _, s := range tree(t) {
		if s.test || !slices.Contains(rooms, s.room()) {
			continue
		}
		for _, imported := range s.imports {
			if why, forbidden := forbiddenImports[imported]; forbidden {
				t.Errorf("%s imports %s: %s", s.path, imported, why)
			}
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a room starts no goroutine: what happens later is an event of the clock", s.at(n.Pos()))
			case *ast.SelectStmt, *ast.ChanType, *ast.SendStmt:
				t.Errorf("%s: a room uses no channel: it runs on one goroutine", s.at(n.Pos()))
			case *ast.SelectorExpr:
				of, ok := n.X.(*ast.Ident)
				switch {
				case !ok:
				case of.Name == "time" && slices.Contains(forbiddenCalls, n.Sel.Name):
					t.Errorf("%s: time.%s: a room has the time from its clock.Clock", s.at(n.Pos()), n.Sel.Name)
				case of.Name == "rand" && slices.Contains(s.imports, "math/rand/v2") && !slices.Contains(seeded, n.Sel.Name):
					t.Errorf("%s: rand.%s: chance comes from the cluster's seed, not from a global source", s.at(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
}

// Package lag is as pure as a room: a view follows from samples alone.
func TestLagIsPure(t *testing.T) {
	for _, s := range tree(t) {
		if s.test || !within(s.room(), "lag") {
			continue
		}
		for _, imported := range s.imports {
			if why, forbidden := forbiddenImports[imported]; forbidden {
				t.Errorf("%s imports %s: %s", s.path, imported, why)
			}
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a goroutine", s.at(n.Pos()))
			case *ast.SelectorExpr:
				if of, ok := n.X.(*ast.Ident); ok && of.Name == "time" && slices.Contains(forbiddenCalls, n.Sel.Name) {
					t.Errorf("%s: time.%s: the time is that of the sample", s.at(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
}
