package coordinator

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// List lists the groups of this broker, sorted by id (rule H10). It answers
// COORDINATOR_LOAD_IN_PROGRESS while any partition loads.
func (c *Coordinator) List(req group.ListRequest) ([]group.Listing, error) {
	selects := func(names []string, name string) bool {
		return len(names) == 0 ||
			slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(strings.TrimSpace(n), name) })
	}
	var listings []group.Listing
	for _, s := range c.sortedShards() {
		if s.Loading {
			return nil, kafka.ErrCoordinatorLoadInProgress
		}
		for _, g := range s.Sorted() {
			l := g.Listing()
			if selects(req.States, l.State.String()) && selects(req.Types, l.Kind.String()) {
				listings = append(listings, l)
			}
		}
	}
	slices.SortFunc(listings, func(a, b group.Listing) int { return cmp.Compare(a.GroupID, b.GroupID) })
	return listings, nil
}
