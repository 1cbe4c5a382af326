package acl

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// rule reads a binding as it prints: ALLOW User:alice READ on TOPIC LITERAL
// orders from *.
func rule(t *testing.T, text string) Binding {
	t.Helper()
	w := strings.Fields(text)
	if len(w) != 9 || w[3] != "on" || w[7] != "from" {
		t.Fatalf("%q is no binding", text)
	}
	b := Binding{
		Permission: Permission(w[0]), Principal: w[1], Operation: Operation(w[2]),
		ResourceType: ResourceType(w[4]), PatternType: PatternType(w[5]), Name: w[6], Host: w[8],
	}
	if b.String() != text {
		t.Fatalf("%q prints as %q", text, b)
	}
	return b
}

func TestAllows(t *testing.T) {
	for _, test := range []struct {
		name     string
		cfg      Config
		rules    []string
		client   Client
		op       Operation
		kind     ResourceType
		resource string
		want     bool
	}{
		{name: "nothing is said of a resource", op: Read, kind: Topic, resource: "orders", want: false},
		{name: "allow.everyone.if.no.acl.found", cfg: Config{AllowIfNoACL: true}, op: Read, kind: Topic, resource: "orders", want: true},
		{
			name: "allow.everyone.if.no.acl.found, but there is one for somebody else", cfg: Config{AllowIfNoACL: true},
			rules: []string{"ALLOW User:bob READ on TOPIC LITERAL orders from *"}, op: Read, kind: Topic, resource: "orders", want: false,
		},
		{
			name: "allow.everyone.if.no.acl.found, and a wildcard names every resource", cfg: Config{AllowIfNoACL: true},
			rules: []string{"ALLOW User:bob READ on TOPIC LITERAL * from *"}, op: Read, kind: Topic, resource: "orders", want: false,
		},
		{
			name: "allow.everyone.if.no.acl.found, and the rule is about another type", cfg: Config{AllowIfNoACL: true},
			rules: []string{"ALLOW User:bob READ on GROUP LITERAL orders from *"}, op: Read, kind: Topic, resource: "orders", want: true,
		},
		{name: "a literal name", rules: []string{"ALLOW User:alice READ on TOPIC LITERAL orders from *"}, op: Read, kind: Topic, resource: "orders", want: true},
		{name: "a literal name is no prefix", rules: []string{"ALLOW User:alice READ on TOPIC LITERAL orders from *"}, op: Read, kind: Topic, resource: "orders2", want: false},
		{name: "a prefix", rules: []string{"ALLOW User:alice READ on TOPIC PREFIXED ord from *"}, op: Read, kind: Topic, resource: "orders", want: true},
		{name: "a prefix names itself", rules: []string{"ALLOW User:alice READ on TOPIC PREFIXED ord from *"}, op: Read, kind: Topic, resource: "ord", want: true},
		{name: "a prefix that is longer than the name", rules: []string{"ALLOW User:alice READ on TOPIC PREFIXED orders2 from *"}, op: Read, kind: Topic, resource: "orders", want: false},
		{name: "every resource", rules: []string{"ALLOW User:alice READ on TOPIC LITERAL * from *"}, op: Read, kind: Topic, resource: "orders", want: true},
		{name: "a prefixed star is a star", rules: []string{"ALLOW User:alice READ on TOPIC PREFIXED * from *"}, op: Read, kind: Topic, resource: "orders", want: false},
		{name: "another type", rules: []string{"ALLOW User:alice READ on GROUP LITERAL orders from *"}, op: Read, kind: Topic, resource: "orders", want: false},
		{name: "another user", rules: []string{"ALLOW User:bob READ on TOPIC LITERAL orders from *"}, op: Read, kind: Topic, resource: "orders", want: false},
		{name: "everybody", rules: []string{"ALLOW User:* READ on TOPIC LITERAL orders from *"}, op: Read, kind: Topic, resource: "orders", want: true},
		{name: "this host", rules: []string{"ALLOW User:alice READ on TOPIC LITERAL orders from 127.0.0.1"}, op: Read, kind: Topic, resource: "orders", want: true},
		{name: "another host", rules: []string{"ALLOW User:alice READ on TOPIC LITERAL orders from 192.0.2.1"}, op: Read, kind: Topic, resource: "orders", want: false},
		{name: "all operations", rules: []string{"ALLOW User:alice ALL on TOPIC LITERAL orders from *"}, op: AlterConfigs, kind: Topic, resource: "orders", want: true},
		{name: "read implies describe", rules: []string{"ALLOW User:alice READ on TOPIC LITERAL orders from *"}, op: Describe, kind: Topic, resource: "orders", want: true},
		{name: "write implies describe", rules: []string{"ALLOW User:alice WRITE on TOPIC LITERAL orders from *"}, op: Describe, kind: Topic, resource: "orders", want: true},
		{name: "delete implies describe", rules: []string{"ALLOW User:alice DELETE on GROUP LITERAL g from *"}, op: Describe, kind: Group, resource: "g", want: true},
		{name: "alter implies describe", rules: []string{"ALLOW User:alice ALTER on CLUSTER LITERAL kafka-cluster from *"}, op: Describe, kind: Cluster, resource: ClusterName, want: true},
		{name: "create implies nothing", rules: []string{"ALLOW User:alice CREATE on TOPIC LITERAL orders from *"}, op: Describe, kind: Topic, resource: "orders", want: false},
		{name: "describe implies no read", rules: []string{"ALLOW User:alice DESCRIBE on TOPIC LITERAL orders from *"}, op: Read, kind: Topic, resource: "orders", want: false},
		{name: "alter configs implies describe configs", rules: []string{"ALLOW User:alice ALTER_CONFIGS on TOPIC LITERAL orders from *"}, op: DescribeConfigs, kind: Topic, resource: "orders", want: true},
		{name: "alter configs implies no describe", rules: []string{"ALLOW User:alice ALTER_CONFIGS on TOPIC LITERAL orders from *"}, op: Describe, kind: Topic, resource: "orders", want: false},
		{
			name:  "a denial outweighs permissions",
			rules: []string{"ALLOW User:alice ALL on TOPIC LITERAL orders from *", "DENY User:alice READ on TOPIC PREFIXED o from *"},
			op:    Read, kind: Topic, resource: "orders", want: false,
		},
		{
			name:  "a denial of everybody by the wildcard",
			rules: []string{"ALLOW User:alice READ on TOPIC LITERAL orders from *", "DENY User:* ALL on TOPIC LITERAL * from *"},
			op:    Read, kind: Topic, resource: "orders", want: false,
		},
		{
			name:  "a denial of reading leaves describing",
			rules: []string{"ALLOW User:alice DESCRIBE on TOPIC LITERAL orders from *", "DENY User:alice READ on TOPIC LITERAL orders from *"},
			op:    Describe, kind: Topic, resource: "orders", want: true,
		},
		{
			name: "a super user is denied nothing", cfg: Config{SuperUsers: []string{"User:alice"}},
			rules: []string{"DENY User:alice READ on TOPIC LITERAL orders from *"}, op: Read, kind: Topic, resource: "orders", want: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := NewAuthorizer(test.cfg)
			var bindings []Binding
			for _, text := range test.rules {
				bindings = append(bindings, rule(t, text))
			}
			a.Load(bindings)
			if got := a.Allows(alice, test.op, test.kind, test.resource); got != test.want {
				t.Errorf("%s on %s %s: %v, want %v", test.op, test.kind, test.resource, got, test.want)
			}
		})
	}
}

var alice = Client{Principal: "User:alice", Host: "127.0.0.1"}

// What Kafka asks of producers without a transactional id: WRITE on any topic.
func TestAllowsAny(t *testing.T) {
	for _, test := range []struct {
		name  string
		cfg   Config
		rules []string
		want  bool
	}{
		{name: "no rule", want: false},
		{name: "a super user", cfg: Config{SuperUsers: []string{"User:alice"}}, want: true},
		{name: "one topic, existing or not", rules: []string{"ALLOW User:alice WRITE on TOPIC LITERAL orders from *"}, want: true},
		{name: "topics by prefix", rules: []string{"ALLOW User:* ALL on TOPIC PREFIXED ord from *"}, want: true},
		{name: "every topic", rules: []string{"ALLOW User:alice WRITE on TOPIC LITERAL * from *"}, want: true},
		{name: "another user's", rules: []string{"ALLOW User:bob WRITE on TOPIC LITERAL orders from *"}, want: false},
		{name: "another operation", rules: []string{"ALLOW User:alice READ on TOPIC LITERAL orders from *"}, want: false},
		{
			name:  "the wildcard is denied",
			rules: []string{"ALLOW User:alice WRITE on TOPIC LITERAL orders from *", "DENY User:alice WRITE on TOPIC LITERAL * from *"}, want: false,
		},
		{
			name:  "the one topic is denied",
			rules: []string{"ALLOW User:alice WRITE on TOPIC LITERAL orders from *", "DENY User:* WRITE on TOPIC LITERAL orders from *"}, want: false,
		},
		{
			name:  "the prefix of the topic is denied",
			rules: []string{"ALLOW User:alice WRITE on TOPIC LITERAL orders from *", "DENY User:alice ALL on TOPIC PREFIXED or from *"}, want: false,
		},
		{
			name:  "the prefix is denied by a shorter one",
			rules: []string{"ALLOW User:alice WRITE on TOPIC PREFIXED orders from *", "DENY User:alice ALL on TOPIC PREFIXED or from *"}, want: false,
		},
		{
			name:  "one name of the prefix is denied",
			rules: []string{"ALLOW User:alice WRITE on TOPIC PREFIXED or from *", "DENY User:alice ALL on TOPIC PREFIXED orders from *"}, want: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := NewAuthorizer(test.cfg)
			var bindings []Binding
			for _, text := range test.rules {
				bindings = append(bindings, rule(t, text))
			}
			a.Load(bindings)
			if got := a.AllowsAny(alice, Write, Topic); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestOperations(t *testing.T) {
	a := NewAuthorizer(Config{})
	a.Load([]Binding{rule(t, "ALLOW User:alice READ on GROUP LITERAL g from *"), rule(t, "ALLOW User:alice ALL on CLUSTER LITERAL kafka-cluster from *")})
	if got, want := a.Operations(alice, Group, "g"), []Operation{Read, Describe}; !slices.Equal(got, want) {
		t.Errorf("group: %v, want %v", got, want)
	}
	if got, want := a.Operations(alice, Cluster, ClusterName), Supported(Cluster); !slices.Equal(got, want) {
		t.Errorf("cluster: %v, want %v", got, want)
	}
	if got := a.Operations(alice, Topic, "orders"); got != nil {
		t.Errorf("topic: %v, want none", got)
	}
}

func TestFilterMatches(t *testing.T) {
	literal := rule(t, "ALLOW User:alice READ on TOPIC LITERAL orders from *")
	prefixed := rule(t, "DENY User:bob WRITE on TOPIC PREFIXED ord from 127.0.0.1")
	wildcard := rule(t, "ALLOW User:alice DESCRIBE on TOPIC LITERAL * from *")
	group := rule(t, "ALLOW User:alice READ on GROUP LITERAL orders from *")
	all := []Binding{literal, prefixed, wildcard, group}
	text := func(s string) *string { return &s }
	for _, test := range []struct {
		name   string
		change func(*Filter)
		want   []Binding
	}{
		{"everything", func(*Filter) {}, all},
		{"a type", func(f *Filter) { f.ResourceType = Group }, []Binding{group}},
		{"a name, whatever the pattern", func(f *Filter) { f.Name = text("ord") }, []Binding{prefixed}},
		{"a kind of pattern", func(f *Filter) { f.PatternType = Prefixed }, []Binding{prefixed}},
		{"the literal wildcard is a name", func(f *Filter) { f.PatternType, f.Name = Literal, text("*") }, []Binding{wildcard}},
		{"what applies to a name", func(f *Filter) { f.ResourceType, f.PatternType, f.Name = Topic, Match, text("orders") }, []Binding{literal, prefixed, wildcard}},
		{"match without a name", func(f *Filter) { f.ResourceType, f.PatternType = Topic, Match }, []Binding{literal, prefixed, wildcard}},
		{"a principal", func(f *Filter) { f.Principal = text("User:bob") }, []Binding{prefixed}},
		{"a host", func(f *Filter) { f.Host = text("127.0.0.1") }, []Binding{prefixed}},
		{"an operation", func(f *Filter) { f.Operation = Read }, []Binding{literal, group}},
		{"a permission", func(f *Filter) { f.Permission = Deny }, []Binding{prefixed}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := Everything()
			test.change(&f)
			var got []Binding
			for _, b := range all {
				if f.Matches(b) {
					got = append(got, b)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	good := rule(t, "ALLOW User:alice READ on TOPIC LITERAL orders from *")
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Binding){
		"Invalid empty resource name":                                   func(b *Binding) { b.Name = "" },
		"The only valid name for the CLUSTER resource is kafka-cluster": func(b *Binding) { b.ResourceType = Cluster },
		"Invalid resourceType ANY":                                      func(b *Binding) { b.ResourceType = AnyResource },
		"Invalid patternType MATCH":                                     func(b *Binding) { b.PatternType = Match },
		"Invalid operation ANY":                                         func(b *Binding) { b.Operation = AnyOperation },
		"Invalid permissionType ANY":                                    func(b *Binding) { b.Permission = AnyPermission },
		"Could not parse principal from `alice` (no colon is present separating the principal type from the principal name)": func(b *Binding) { b.Principal = "alice" },
	} {
		b := good
		spoil(&b)
		if err := b.Check(); !errors.Is(err, ErrInvalid) || err.Error() != want {
			t.Errorf("%v: %v, want %s", b, err, want)
		}
	}
}

func TestParseSuperUsers(t *testing.T) {
	got, err := ParseSuperUsers("User:ANONYMOUS; User:CN=admin,O=x ;")
	if want := []string{"User:ANONYMOUS", "User:CN=admin,O=x"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if _, err := ParseSuperUsers("admin"); err == nil {
		t.Error("a name without a type is taken")
	}
}
