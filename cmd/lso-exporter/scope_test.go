package main

import (
	"regexp"
	"slices"
	"testing"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/config"
	"github.com/lso-exporter/lso-exporter/lag"
)

// Members are told by the address from which brokers see them connect, in
// whatever form that is written, and by client id.
func TestAssigned(t *testing.T) {
	for _, c := range []struct {
		scope  config.Scope
		member lag.Member
		want   bool
	}{
		{config.Scope{Host: "10.1.2.3"}, lag.Member{Host: "/10.1.2.3"}, true},
		{config.Scope{Host: "10.1.2.3"}, lag.Member{Host: "/10.1.2.30"}, false},
		{config.Scope{Host: "10.1.2.3"}, lag.Member{}, false},
		{config.Scope{Host: "fd00::1"}, lag.Member{Host: "/fd00:0:0:0:0:0:0:1"}, true},
		{config.Scope{Host: "fe80::1"}, lag.Member{Host: "/fe80:0:0:0:0:0:0:1%eth0"}, true},
		{config.Scope{Host: "10.1.2.3"}, lag.Member{Host: "pod-1/10.1.2.3"}, true},
		{config.Scope{ClientID: regexp.MustCompile("^app-1$")}, lag.Member{ClientID: "app-1", Host: "/10.1.2.9"}, true},
		{config.Scope{ClientID: regexp.MustCompile("^app-1$")}, lag.Member{ClientID: "app-12"}, false},
		{config.Scope{Host: "10.1.2.3", ClientID: regexp.MustCompile("^app-1$")}, lag.Member{ClientID: "app-1", Host: "/10.1.2.9"}, false},
	} {
		if got := assigned(c.scope)(c.member); got != c.want {
			t.Errorf("%+v, %+v: %v, want %v", c.scope, c.member, got, c.want)
		}
	}
}

// A scope of transactional ids reads and shows no groups and nothing of the whole
// cluster, and tells of rights by the ids that it is about.
func TestScopeOfTransactionalIDs(t *testing.T) {
	loaded, err := config.Load(config.Sources{Environment: []string{
		"LSO_EXPORTER_KAFKA_BROKERS=127.0.0.1:9092", "LSO_EXPORTER_COLLECTORS_TXNLOG=true",
		"LSO_EXPORTER_SCOPE_KIND=transactional-id", "LSO_EXPORTER_SCOPE_TRANSACTIONAL_IDS=billing-.*",
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := loaded.Validated()
	if err != nil {
		t.Fatal(err)
	}
	options := collectorOptions(c)
	slices.Sort(options.Disabled)
	if want := []collector.Collector{collector.Audits, collector.Groups}; !slices.Equal(options.Disabled, want) {
		t.Errorf("disabled are %v, want %v", options.Disabled, want)
	}
	if options.TransactionalIDs != c.Scope.TransactionalIDs || options.SightID != "billing-lso-exporter.unused" || options.CensusPeriod == 0 || options.TransactionLog {
		t.Errorf("options %+v", options)
	}
	if page := expositionOptions(c); !page.Scoped || !page.OwnIDs {
		t.Errorf("page %+v", page)
	}
}
