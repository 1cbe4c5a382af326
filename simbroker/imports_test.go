package simbroker_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/lso-exporter/lso-exporter/simbroker/"

// rooms are the packages of the simulator, each with the rooms that it may
// import: those below it, so that no change of a room can reach the ones that
// it stands on.
var rooms = map[string][]string{
	"kafka":     nil,
	"property":  nil,
	"clock":     nil,
	"message":   nil,
	"acl":       nil,
	"sasl":      nil,
	"producer":  {"kafka"},
	"commitlog": {"kafka", "producer"},
	"replica":   {"kafka", "clock", "producer", "commitlog"},
	"share":     {"kafka", "clock", "commitlog", "replica"},
	"group":     {"kafka", "producer"},

	// Of groups: values and arithmetic, then a partition of __consumer_offsets,
	// the protocols that use one, and who hands requests to them all.
	"group/offsets":     {"kafka", "message", "group"},
	"group/assignment":  {"kafka", "group"},
	"group/embedded":    {"message", "group"},
	"group/record":      {"kafka", "message", "group", "group/assignment"},
	"group/shard":       {"kafka", "clock", "group", "group/offsets", "group/assignment", "group/record"},
	"group/classic":     {"kafka", "message", "clock", "group", "group/offsets", "group/embedded", "group/record", "group/shard"},
	"group/share":       {"kafka", "message", "group", "group/offsets", "group/assignment", "group/record", "group/shard"},
	"group/streams":     {"kafka", "message", "group", "group/offsets", "group/assignment", "group/record", "group/shard"},
	"group/consumer":    {"kafka", "message", "group", "group/offsets", "group/assignment", "group/embedded", "group/record", "group/shard", "group/classic"},
	"group/coordinator": {"kafka", "clock", "producer", "group", "group/offsets", "group/record", "group/shard", "group/classic", "group/share", "group/streams", "group/consumer"},

	"txn":        {"kafka", "message", "clock"},
	"controller": {"kafka", "clock", "property", "acl", "sasl"},
	"wire":       {"kafka", "clock", "producer", "commitlog", "replica", "share", "group", "group/coordinator", "txn", "controller", "property", "acl", "sasl"},
	"control":    {"kafka"},
	".":          {"kafka", "clock", "producer", "commitlog", "replica", "share", "group", "group/coordinator", "txn", "controller", "property", "acl", "sasl", "wire"},
}

// outside are packages from elsewhere that only some rooms may import, with the
// reason.
var outside = []struct {
	packages []string // a trailing slash matches everything below
	rooms    []string
	reason   string
}{
	{[]string{"github.com/twmb/franz-go/"}, []string{"wire", "."}, "the protocol's shapes and codes stay at the wire"},
	{[]string{"net", "net/"}, []string{"wire", "control", "."}, "sockets stay at the wire"},
	{[]string{"sync", "sync/"}, []string{"clock", "wire"}, "rooms run on one loop and need no lock"},
	{[]string{"os"}, []string{"property", "wire"}, "rooms have no files"},
	{[]string{"math/rand"}, nil, "chance comes from the seed, by math/rand/v2"},
	{[]string{"crypto/rand"}, nil, "chance comes from the seed"},
}

// wallClock are the functions of package time that read it.
var wallClock = []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"}

func TestRoomsAreHeldApart(t *testing.T) {
	seen := make(map[string]bool)
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "scenario" || d.Name() == "testdata") {
			return fs.SkipDir // plays on clusters from outside
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		room := path.Dir(filepath.ToSlash(file))
		if _, ok := rooms[room]; !ok {
			t.Errorf("%s: room %s is not in the table of rooms", file, room)
			return nil
		}
		seen[room] = true
		checkFile(t, room, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room := range rooms {
		if !seen[room] {
			t.Errorf("room %s is in the table and has no files", room)
		}
	}
}

func checkFile(t *testing.T, room, file string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := strings.CutPrefix(imported, module); ok && !slices.Contains(rooms[room], other) {
			t.Errorf("%s: room %s must not import room %s", file, room, other)
		}
		for _, rule := range outside {
			if covers(rule.packages, imported) && !slices.Contains(rule.rooms, room) {
				t.Errorf("%s: room %s must not import %s: %s", file, room, imported, rule.reason)
			}
		}
	}
	if room != "clock" {
		checkWallClock(t, file)
	}
}

func covers(packages []string, imported string) bool {
	return slices.ContainsFunc(packages, func(p string) bool {
		return p == imported || strings.HasSuffix(p, "/") && strings.HasPrefix(imported, p)
	})
}
