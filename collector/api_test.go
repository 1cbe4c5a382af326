package collector

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// No broker that offers an API offers it in versions that are all too old: what is
// absent with a vendor is absent for lack of an API, which docs/compatibility.md names.
func TestVersionsOfVendors(t *testing.T) {
	newer := []kmsg.Key{kmsg.ConsumerGroupDescribe, kmsg.ShareGroupDescribe, kmsg.StreamsGroupDescribe, kmsg.DescribeShareGroupOffsets}
	lacks := map[string][]kmsg.Key{
		"kafka-2.8":  {kmsg.ListTransactions, kmsg.DescribeTransactions},
		"event-hubs": {kmsg.DescribeProducers, kmsg.ListTransactions, kmsg.DescribeTransactions, kmsg.DescribeACLs},
	}
	for _, vendor := range wire.VendorNames() {
		v, _ := wire.VendorNamed(vendor)
		for _, a := range apis {
			offered, known := v.Versions[a.key.Int16()]
			switch {
			case known && (offered.Max < a.min || offered.Min > a.max):
				t.Errorf("%s offers %s in versions %d to %d, of which none from %d to %d can be used", vendor, a.key.Name(), offered.Min, offered.Max, a.min, a.max)
			case known == slices.Contains(lacks[vendor], a.key) && !slices.Contains(newer, a.key):
				t.Errorf("%s offers %s: %v", vendor, a.key.Name(), known)
			}
		}
	}
}
