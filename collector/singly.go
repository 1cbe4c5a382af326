package collector

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// This file is for brokers that answer OffsetFetch and FindCoordinator for one group
// a request: Kafka before 3.0, and services whose versions end there. A request names
// many groups, and the first of them in the older form as well, so that whatever
// version a broker speaks, its answer is of use, and tells by its version whether the
// others have to be asked for one by one. There, and only there, the number of
// requests grows with the number of groups.

// The versions from which on brokers answer differently.
const (
	manyKeysVersion   = 4 // of FindCoordinator: many groups a request
	stableVersion     = 7 // of OffsetFetch: stable offsets may be required (Kafka 2.5)
	manyGroupsVersion = 8 // of OffsetFetch: many groups a request
)

const (
	// maxSingly bounds the groups that one broker is asked for one by one in a
	// sweep, of each kind of request: the first by name, so that they are the same
	// in each sweep.
	maxSingly = 1000

	// inFlight is how many requests a broker is sent before it has answered the
	// first of them, where they are many.
	inFlight = 32
)

// fetchRequestFor returns the request for commits of groups.
func fetchRequestFor(groups []kmsg.OffsetFetchRequestGroup) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Groups = groups
	first := &groups[0]
	req.Group = first.Group
	if first.Topics == nil {
		return req
	}
	req.Topics = make([]kmsg.OffsetFetchRequestTopic, len(first.Topics))
	for i := range first.Topics {
		req.Topics[i].Topic, req.Topics[i].Partitions = first.Topics[i].Topic, first.Topics[i].Partitions
	}
	return req
}

// fetchedGroups returns what an answer says of groups: in an old version of one, the
// first that was asked for.
func fetchedGroups(resp *kmsg.OffsetFetchResponse, first string) []kmsg.OffsetFetchResponseGroup {
	if resp.Version >= manyGroupsVersion {
		return resp.Groups
	}
	g := kmsg.NewOffsetFetchResponseGroup()
	g.Group, g.ErrorCode = first, resp.ErrorCode
	for i := range resp.Topics {
		t := kmsg.NewOffsetFetchResponseGroupTopic()
		t.Topic = resp.Topics[i].Topic
		for _, p := range resp.Topics[i].Partitions {
			t.Partitions = append(t.Partitions, kmsg.OffsetFetchResponseGroupTopicPartition(p))
		}
		g.Topics = append(g.Topics, t)
	}
	return []kmsg.OffsetFetchResponseGroup{g}
}

// fetchSingly asks for the commits of groups one by one.
func (w *sweep) fetchSingly(ctx context.Context, r *stepOne, names []string) {
	asked := names[:min(len(names), maxSingly-1)] // one was asked for before
	requests := make([]kmsg.Request, len(asked))
	for i, name := range asked {
		requests[i] = offsetFetchRequest([]string{name}, r.own)
	}
	unread := len(names)
	miss := r.line.sendEach(ctx, requests, func(i int, a answered) {
		unread--
		r.takeCommits(a.resp.(*kmsg.OffsetFetchResponse), asked[i], w.layout)
	})
	switch {
	case miss == lag.MissDeadline && r.line.failure == "":
		r.misses.add(miss, r.line.subject(), unread, tooSlowSingly("OffsetFetch"), Groups)
	case miss != "":
		r.lack(miss, "OffsetFetch")
	case unread > 0:
		r.misses.add(lag.MissDeadline, r.line.subject(), unread, tooManySingly("OffsetFetch"), Groups)
	}
}

// tooManySingly says why not all groups of a broker were asked for.
func tooManySingly(request string) string {
	return fmt.Sprintf("%s: this broker answers for one group a request, and is asked for %d a sweep at most; groups.include can leave out others", request, maxSingly)
}

// tooSlowSingly says why a broker was not asked for the rest of its groups.
func tooSlowSingly(request string) string {
	return request + ": this broker answers for one group a request, too slowly for all of them; groups.include can leave out others"
}

// findRequestFor returns the request for the coordinators of groups.
func findRequestFor(groups []string) *kmsg.FindCoordinatorRequest {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType = 0 // groups
	req.CoordinatorKeys, req.CoordinatorKey = groups, groups[0]
	return req
}

// foundCoordinators returns what an answer says of groups: in an old version of one,
// the first that was asked for.
func foundCoordinators(resp *kmsg.FindCoordinatorResponse, first string) []kmsg.FindCoordinatorResponseCoordinator {
	if resp.Version >= manyKeysVersion {
		return resp.Coordinators
	}
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.Key, c.NodeID, c.ErrorCode = first, resp.NodeID, resp.ErrorCode
	return []kmsg.FindCoordinatorResponseCoordinator{c}
}

// findSingly asks for the coordinators of groups one by one, and returns those that
// were told, and the groups that were not asked for: too many, or too slow a broker.
func (w *sweep) findSingly(ctx context.Context, l *line, groups []string) (found []kmsg.FindCoordinatorResponseCoordinator, unasked []string) {
	asked := groups[:min(len(groups), maxSingly-1)] // one was asked for before
	requests := make([]kmsg.Request, len(asked))
	for i := range asked {
		requests[i] = findRequestFor(asked[i : i+1])
	}
	answers := 0
	miss := l.sendEach(ctx, requests, func(i int, a answered) {
		answers++
		found = append(found, foundCoordinators(a.resp.(*kmsg.FindCoordinatorResponse), asked[i])...)
	})
	why := tooManySingly("FindCoordinator")
	switch {
	case miss == lag.MissDeadline && l.failure == "":
		why = tooSlowSingly("FindCoordinator")
	case miss != "":
		return found, nil
	}
	if unasked = groups[answers:]; len(unasked) > 0 {
		w.misses.add(lag.MissDeadline, l.subject(), len(unasked), why, Groups)
	}
	return found, unasked
}
