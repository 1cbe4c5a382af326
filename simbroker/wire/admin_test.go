package wire_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// KIP-546: quotas are remembered, by entity, and found by a filter.
func TestClientQuotas(t *testing.T) {
	c := newCluster(t, nil)
	name := func(s string) *string { return &s }
	alter := func(validate bool, entity []kmsg.AlterClientQuotasRequestEntryEntity, key string, value float64, remove bool) string {
		t.Helper()
		req := kmsg.NewPtrAlterClientQuotasRequest()
		req.Version, req.ValidateOnly = 1, validate
		req.Entries = []kmsg.AlterClientQuotasRequestEntry{{Entity: entity, Ops: []kmsg.AlterClientQuotasRequestEntryOp{{Key: key, Value: value, Remove: remove}}}}
		entry := ask[*kmsg.AlterClientQuotasResponse](c, 2, req).Entries[0]
		if entry.ErrorMessage != nil {
			return fmt.Sprint(entry.ErrorCode, " ", *entry.ErrorMessage)
		}
		return fmt.Sprint(entry.ErrorCode)
	}
	alice := []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "user", Name: name("alice")}}
	both := []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "user"}, {Type: "client-id", Name: name("c1")}}
	address := []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "ip", Name: name("127.0.0.1")}}
	for _, test := range []struct {
		entity []kmsg.AlterClientQuotasRequestEntryEntity
		key    string
		value  float64
		want   string
	}{
		{alice, "producer_byte_rate", 1000, "0"},
		{alice, "request_percentage", 12.5, "0"},
		{both, "consumer_byte_rate", 99, "0"},
		{address, "connection_creation_rate", 9, "0"},
		{address, "producer_byte_rate", 9, "42 Invalid configuration key producer_byte_rate"},
		{alice, "producer_byte_rate", -1, "42 Quota producer_byte_rate must be greater than 0"},
		{alice, "producer_byte_rate", 1.5, "42 producer_byte_rate cannot be a fractional value."},
		{alice, "producer_byte_rate", 1e30, "42 Proposed value for producer_byte_rate is too large for a LONG."},
		{nil, "producer_byte_rate", 1, "42 Invalid empty client quota entity"},
		{[]kmsg.AlterClientQuotasRequestEntryEntity{{Type: "ip", Name: name("no address")}}, "connection_creation_rate", 1, "42 no address is not a valid IP or resolvable host."},
		{[]kmsg.AlterClientQuotasRequestEntryEntity{{Type: "user", Name: name("")}}, "producer_byte_rate", 1, "42 Empty user not supported"},
	} {
		if got := alter(false, test.entity, test.key, test.value, false); got != test.want {
			t.Errorf("%v %s=%v: %s, want %s", test.entity, test.key, test.value, got, test.want)
		}
	}
	alter(true, alice, "consumer_byte_rate", 1, false) // changes nothing
	describe := func(strict bool, components ...kmsg.DescribeClientQuotasRequestComponent) string {
		t.Helper()
		req := kmsg.NewPtrDescribeClientQuotasRequest()
		req.Version, req.Strict, req.Components = 1, strict, components
		resp := ask[*kmsg.DescribeClientQuotasResponse](c, 3, req)
		got := fmt.Sprint(resp.ErrorCode)
		for _, e := range resp.Entries {
			got += ";"
			for _, part := range e.Entity {
				got += " " + part.Type
				if part.Name != nil {
					got += "=" + *part.Name
				}
			}
			for _, v := range e.Values {
				got += fmt.Sprint(" ", v.Key, " ", v.Value)
			}
		}
		return got
	}
	const ofAlice, ofBoth = "; user=alice producer_byte_rate 1000 request_percentage 12.5", "; client-id=c1 user consumer_byte_rate 99"
	anyUser := kmsg.DescribeClientQuotasRequestComponent{EntityType: "user", MatchType: 2}
	for want, got := range map[string]string{
		"0" + ofBoth + "; ip=127.0.0.1 connection_creation_rate 9" + ofAlice: describe(false),
		"0" + ofBoth + ofAlice: describe(false, anyUser),
		"0" + ofAlice:          describe(true, anyUser),
		"0" + ofBoth:           describe(false, kmsg.DescribeClientQuotasRequestComponent{EntityType: "user", MatchType: 1}),
		"0":                    describe(false, kmsg.DescribeClientQuotasRequestComponent{EntityType: "user", Match: name("bob")}),
		"35":                   describe(false, kmsg.DescribeClientQuotasRequestComponent{EntityType: "host", MatchType: 2}),
		"42":                   describe(false, anyUser, anyUser),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	alter(false, alice, "producer_byte_rate", 0, true)
	alter(false, alice, "request_percentage", 0, true)
	if got := describe(true, anyUser); got != "0" {
		t.Errorf("after removal: %s", got)
	}
}

// KIP-584: levels change together or not at all, and every broker learns them.
func TestUpdateFeatures(t *testing.T) {
	c := newCluster(t, nil)
	update := func(version int16, validate bool, updates ...kmsg.UpdateFeaturesRequestFeatureUpdate) string {
		t.Helper()
		req := kmsg.NewPtrUpdateFeaturesRequest()
		req.Version, req.ValidateOnly, req.FeatureUpdates = version, validate, updates
		resp := ask[*kmsg.UpdateFeaturesResponse](c, 2, req)
		got := fmt.Sprint(resp.ErrorCode, " ", len(resp.Results))
		if resp.ErrorMessage != nil {
			got += " " + *resp.ErrorMessage
		}
		return got
	}
	to := func(name string, level int16, kind int8) kmsg.UpdateFeaturesRequestFeatureUpdate {
		return kmsg.UpdateFeaturesRequestFeatureUpdate{Feature: name, MaxVersionLevel: level, UpgradeType: kind}
	}
	const prefix = "95 0 The update failed for all features since the following feature had an error: "
	for _, test := range []struct {
		update kmsg.UpdateFeaturesRequestFeatureUpdate
		want   string
	}{
		{to("transaction.version", 2, 1), "0 0"},
		{to("transaction.version", 1, 1), prefix + "Invalid update version 1 for feature transaction.version. Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."},
		{to("transaction.version", 9, 1), prefix + "Invalid update version 9 for feature transaction.version. Local controller 0 only supports versions 0-2"},
		{to("no.version", 1, 1), prefix + "Invalid update version 1 for feature no.version. Local controller 0 does not support this feature."},
		{to("metadata.version", 25, 2), prefix + "Unsupported metadata.version downgrade from 30 to 25. Refusing to perform the requested downgrade because it might delete metadata information."},
		{to("transaction.version", 1, 0), prefix + "Invalid update version 1 for feature transaction.version. The controller does not support the given upgrade type."},
	} {
		if got := update(2, false, test.update); got != test.want {
			t.Errorf("%+v: got %s", test.update, got)
		}
	}
	level := func(name string) int16 {
		t.Helper()
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 4, "test", "1"
		for _, f := range ask[*kmsg.ApiVersionsResponse](c, 3, req).FinalizedFeatures {
			if f.Name == name {
				return f.MaxVersionLevel
			}
		}
		return 0
	}
	update(2, true, to("transaction.version", 1, 2))
	update(2, false, to("transaction.version", 1, 2), to("no.version", 1, 1))
	c.Advance(time.Second)
	if got := level("transaction.version"); got != 2 {
		t.Errorf("level %d, want 2: nothing was to change", got)
	}
	if got := update(1, false, to("transaction.version", 1, 2), to("group.version", 0, 2)); got != "0 2" {
		t.Errorf("downgrade: %s", got)
	}
	c.Advance(time.Second)
	if level("transaction.version") != 1 || level("group.version") != 0 {
		t.Errorf("levels %d and %d, want 1 and 0", level("transaction.version"), level("group.version"))
	}
}

// AlterConfigs unsets what it does not name.
func TestAlterConfigsReplaces(t *testing.T) {
	c := newCluster(t, nil)
	alter := func(topic string, set map[string]string) int16 {
		t.Helper()
		req := kmsg.NewPtrAlterConfigsRequest()
		req.Version = 2
		r := kmsg.AlterConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic}
		for name, value := range set {
			r.Configs = append(r.Configs, kmsg.AlterConfigsRequestResourceConfig{Name: name, Value: &value})
		}
		req.Resources = []kmsg.AlterConfigsRequestResource{r}
		code := ask[*kmsg.AlterConfigsResponse](c, 1, req).Resources[0].ErrorCode
		c.Advance(time.Second)
		return code
	}
	describe := func() (values []string) {
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.Version = 4
		req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "orders", ConfigNames: []string{"retention.ms", "segment.ms"}}}
		for _, config := range ask[*kmsg.DescribeConfigsResponse](c, 1, req).Resources[0].Configs {
			values = append(values, *config.Value)
		}
		return values
	}
	if code := alter("orders", map[string]string{"retention.ms": "1000000", "segment.ms": "900000"}); code != 0 {
		t.Fatalf("error %d", code)
	}
	if got := fmt.Sprint(describe()); got != "[1000000 900000]" {
		t.Errorf("set: %s", got)
	}
	alter("orders", map[string]string{"retention.ms": "2000000"})
	if got := fmt.Sprint(describe()); got != "[2000000 604800000]" {
		t.Errorf("set again: %s", got)
	}
	for asked, want := range map[bool]string{false: "null", true: "A long, at least -1."} {
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.Version, req.IncludeDocumentation = 4, asked
		req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "orders", ConfigNames: []string{"retention.ms"}}}
		got := "null"
		if text := ask[*kmsg.DescribeConfigsResponse](c, 1, req).Resources[0].Configs[0].Documentation; text != nil {
			got = *text
		}
		if got != want {
			t.Errorf("documentation, asked for: %v: %s, want %s", asked, got, want)
		}
	}
	if code := alter("missing", nil); code != 3 {
		t.Errorf("a topic that does not exist: error %d", code)
	}
	if code := alter("orders", map[string]string{"retention.ms": "long"}); code != 40 {
		t.Errorf("no number: error %d", code)
	}
}

// The quorum is one controller, which every broker observes; a dead broker can be
// unregistered, a live one not.
func TestQuorumAndBrokers(t *testing.T) {
	c := newCluster(t, nil)
	quorum := kmsg.NewPtrDescribeQuorumRequest()
	quorum.Version = 2
	quorum.Topics = []kmsg.DescribeQuorumRequestTopic{
		{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}},
		{Topic: "orders", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}},
	}
	resp := ask[*kmsg.DescribeQuorumResponse](c, 1, quorum)
	p := resp.Topics[0].Partitions[0]
	if p.ErrorCode != 0 || p.LeaderID != 0 || len(p.CurrentVoters) != 1 || len(p.Observers) != 3 || p.HighWatermark <= 0 || resp.Topics[1].Partitions[0].ErrorCode != 3 {
		t.Errorf("got %+v", resp)
	}
	unregister := func(id int32) int16 {
		req := kmsg.NewPtrUnregisterBrokerRequest()
		req.BrokerID = id
		return ask[*kmsg.UnregisterBrokerResponse](c, 1, req).ErrorCode
	}
	if code := unregister(9); code != 102 {
		t.Errorf("no such broker: error %d", code)
	}
	if code := unregister(3); code != 42 {
		t.Errorf("a live broker: error %d", code)
	}
	if err := c.Kill(3); err != nil {
		t.Fatal(err)
	}
	c.Advance(30 * time.Second)
	if code := unregister(3); code != 0 {
		t.Errorf("a dead broker: error %d", code)
	}
	if code := unregister(3); code != 102 {
		t.Errorf("again: error %d", code)
	}
	if err := c.Start(3); err != nil {
		t.Errorf("a broker that comes back: %v", err)
	}
}
