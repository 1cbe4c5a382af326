package collector

import (
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// api is one of Kafka's APIs and the versions of it that this package can use.
type api struct {
	key      kmsg.Key
	min, max int16
}

// apis lists every API that a sweep uses, and those that a connection needs.
// It is the one place where versions stand.
var apis = []api{
	{kmsg.Metadata, 1, 10},      // 7 has leader epochs, 8 rights to the cluster, 10 topic ids; 11 not those rights
	{kmsg.ListOffsets, 4, 9},    // 2 has isolation levels, 4 CurrentLeaderEpoch
	{kmsg.ListGroups, 0, 5},     // 4 has states, 5 types
	{kmsg.DescribeGroups, 0, 6}, // 6 answers 69 for groups of other types (KIP-1043)
	{kmsg.ConsumerGroupDescribe, 0, 1},
	{kmsg.ShareGroupDescribe, 0, 1},
	{kmsg.StreamsGroupDescribe, 0, 0},
	{kmsg.DescribeShareGroupOffsets, 0, 1}, // 1 has the lag
	{kmsg.FindCoordinator, 0, 5},           // 4 has many keys a request; see singly.go
	{kmsg.OffsetFetch, 2, 9},               // 2 has all commits of a group, 7 stable offsets, 8 many groups a request, 10 topic ids in place of names
	{kmsg.Fetch, 4, 12},                    // 4 has isolation levels, 13 topic ids in place of names
	{kmsg.DescribeProducers, 0, 0},
	{kmsg.ListTransactions, 0, 2},
	{kmsg.DescribeTransactions, 0, 0},
	{kmsg.DescribeConfigs, 1, 4},
	{kmsg.DescribeACLs, 1, 3}, // 1 has prefixed patterns

	{kmsg.ApiVersions, 0, 4},
	{kmsg.SASLHandshake, 0, 1},
	{kmsg.SASLAuthenticate, 0, 2},
}

// limits returns the lowest and the highest version of every API that may be
// used, as franz-go wants them.
func limits() (lowest, highest *kversion.Versions) {
	lowest, highest = new(kversion.Versions), new(kversion.Versions)
	for _, a := range apis {
		lowest.SetMaxKeyVersion(a.key.Int16(), a.min)
		highest.SetMaxKeyVersion(a.key.Int16(), a.max)
	}
	return lowest, highest
}

// newest sets a request's version to the highest that may be used, for clients
// that do not negotiate.
func newest(req kmsg.Request) {
	for _, a := range apis {
		if a.key.Int16() == req.Key() {
			req.SetVersion(a.max)
			return
		}
	}
	panic("collector: no version is listed for " + kmsg.NameForKey(req.Key()))
}

// tooOld says whether an answer has a version that lacks what is needed.
func tooOld(resp kmsg.Response) bool {
	for _, a := range apis {
		if a.key.Int16() == resp.Key() {
			return resp.GetVersion() < a.min
		}
	}
	return false
}
