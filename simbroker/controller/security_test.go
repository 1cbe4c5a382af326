package controller

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
)

func reads(user, topic string) acl.Binding {
	return acl.Binding{
		ResourceType: acl.Topic, Name: topic, PatternType: acl.Literal,
		Principal: "User:" + user, Host: acl.Wildcard, Operation: acl.Read, Permission: acl.Allow,
	}
}

// names are the resources of bindings.
func names(bindings []acl.Binding) []string {
	var names []string
	for _, b := range bindings {
		names = append(names, b.Name)
	}
	return names
}

// A binding that is there is made again without an effect, and deleted by all
// filters that choose it.
func TestACLs(t *testing.T) {
	c := newCluster(t, 1, nil)
	before := c.Image().Offset()
	if errs := c.CreateACLs([]acl.Binding{reads("alice", "b"), reads("alice", "a"), reads("alice", "b"), {}}); errs[0] != nil || errs[1] != nil || errs[2] != nil || !errors.Is(errs[3], kafka.ErrInvalidRequest) {
		t.Errorf("created: %v", errs)
	}
	if got := names(c.Image().ACLs()); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("there are %v", got)
	}
	if got := c.Image().Offset(); got != before+1 {
		t.Errorf("%d updates for one request", got-before)
	}
	c.CreateACLs([]acl.Binding{reads("alice", "a")})
	if got := c.Image().Offset(); got != before+1 {
		t.Error("an ACL that is there makes an update")
	}

	onlyA := acl.Everything()
	name := "a"
	onlyA.Name = &name
	deleted := c.DeleteACLs([]acl.Filter{onlyA, acl.Everything(), onlyA})
	if got := fmt.Sprint(names(deleted[0]), names(deleted[1]), names(deleted[2])); got != "[a] [a b] [a]" {
		t.Errorf("deleted %s", got)
	}
	if got := c.Image().ACLs(); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
	if deleted := c.DeleteACLs([]acl.Filter{acl.Everything()}); deleted[0] != nil || c.Image().Offset() != before+2 {
		t.Errorf("deleted once more: %v, %d updates", deleted, c.Image().Offset()-before)
	}
}

func TestCredentials(t *testing.T) {
	c := newCluster(t, 1, nil)
	credential := sasl.Credential{Salt: []byte("salt"), Iterations: sasl.MinIterations}
	with := func(iterations int) *sasl.Credential { return &sasl.Credential{Iterations: iterations} }
	results := c.AlterCredentials([]CredentialChange{
		{"alice", sasl.ScramSHA512, &credential},
		{"bob", sasl.ScramSHA256, nil},
		{"carol", sasl.ScramSHA256, &credential},
		{"carol", sasl.ScramSHA512, &credential},
		{"", sasl.ScramSHA256, &credential},
		{"dave", sasl.Plain, &credential},
		{"erin", sasl.ScramSHA256, with(sasl.MinIterations - 1)},
		{"frank", sasl.ScramSHA256, with(sasl.MaxIterations + 1)},
	})
	for i, want := range []error{
		nil, kafka.ErrResourceNotFound, kafka.ErrDuplicateResource, kafka.ErrUnacceptableCredential,
		kafka.ErrUnsupportedSASLMechanism, kafka.ErrUnacceptableCredential, kafka.ErrUnacceptableCredential,
	} {
		if got := results[i]; !errors.Is(got.Err, want) {
			t.Errorf("%q: %v, want %v", got.User, got.Err, want)
		}
	}
	if got := c.Image().Credentials(); len(got) != 1 || got[0].User != "alice" || got[0].Mechanism != sasl.ScramSHA512 {
		t.Errorf("kept: %+v", got)
	}
	if r := c.AlterCredentials([]CredentialChange{{"alice", sasl.ScramSHA512, nil}}); r[0].Err != nil || len(c.Image().Credentials()) != 0 {
		t.Errorf("deleted: %v, kept %+v", r[0].Err, c.Image().Credentials())
	}
}

// A broker that starts learns of rights and credentials from the snapshot.
func TestSecurityIsInSnapshots(t *testing.T) {
	c := newCluster(t, 1, nil)
	c.CreateACLs([]acl.Binding{reads("alice", "a")})
	c.AlterCredentials([]CredentialChange{{"alice", sasl.ScramSHA256, &sasl.Credential{Iterations: 5000}}})
	image := newImage()
	image.apply(&Update{Snapshot: true, NewACLs: []acl.Binding{reads("bob", "old")}})
	image.apply(c.Image().snapshot())
	if got := names(image.ACLs()); !slices.Equal(got, []string{"a"}) {
		t.Errorf("rights %v", got)
	}
	if got, ok := image.Credential(sasl.ScramSHA256, "alice"); !ok || got.Iterations != 5000 {
		t.Errorf("credential %+v, %v", got, ok)
	}
}
