package streams

import (
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
)

// noTopics is the metadata of a cluster without topics.
type noTopics struct{ group.Topics }

func (noTopics) Topic(string) (group.Topic, bool) { return group.Topic{}, false }

// Of many missing topics the first ones are named.
func TestManyMissingTopics(t *testing.T) {
	topology := &group.Topology{Subtopologies: []group.Subtopology{{ID: "0", SourceTopics: []string{"x1", "x2", "x3", "x4", "x5"}}}}
	if got := configure(topology, noTopics{}).status.Detail; got != "Source topics x1, x2, x3 and 2 additional topics are missing." {
		t.Errorf("status: %s", got)
	}
}
