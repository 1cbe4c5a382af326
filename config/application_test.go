package config

import (
	"fmt"
	"testing"
)

// The ready patterns take apart what clients make of the application's name.
func TestApplications(t *testing.T) {
	all, err := parseApplications(defaultPatterns)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ reason, id, want string }{
		{"a Streams application, at each start another id", "fraud-check-9b2c7b36-9f0e-4b2f-8c61-6f1d1b0a9f7e-3", "fraud-check"},
		{"Streams with a producer for each task", "fraud-check-2_17", "fraud-check"},
		{"Flink's sink: subtask and checkpoint", "orders-sink-3-1842", "orders-sink"},
		{"Flink before that sink", "Source: Custom Source -> Sink: Unnamed-7df19f87deec5680128845fd9a6ca18d-1", "Source: Custom Source -> Sink: Unnamed"},
		{"the leader of a Connect cluster", "connect-cluster-etl", "connect-cluster-etl"},
		{"a task of a source connector", "etl-jdbc-orders-12", "etl-jdbc-orders"},
		{"Spring with a number", "tx-0", "tx"},
		{"Spring with a number and nothing before it", "billing7", "billing"},
		{"Spring with a producer for each partition", "tx.billing.orders.11", "tx.billing.orders"},
		{"a pod of a StatefulSet", "payments-2", "payments"},
		{"a pod of a Deployment", "payments-7d4b9c6f5d-x2k8z", "payments"},
		{"a pod of a Deployment, and a producer in it", "payments-7d4b9c6f5d-x2k8z-4", "payments"},
		{"a plain name", "nightly-report", "nightly-report"},
		{"nothing but a number", "42", OtherApplication},
		{"empty", "", OtherApplication},
		{"a name that no pattern takes apart", "7f3a-x", OtherApplication},
	} {
		if got := all.Of(c.id); got != c.want {
			t.Errorf("%s: %q is of %q, want %q", c.reason, c.id, got, c.want)
		}
	}
}

// The first pattern that matches counts, and an own one can stand before the
// ready ones.
func TestOwnPatterns(t *testing.T) {
	a, err := parseApplications([]string{`team-(\w+)-.*`, "spring"})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"team-red-7": "red", "x-7": "x", "x": OtherApplication} {
		if got := a.Of(id); got != want {
			t.Errorf("%q is of %q, want %q", id, got, want)
		}
	}
}

// However unbounded the ids, the names are not.
func TestApplicationsAreBounded(t *testing.T) {
	a, err := parseApplications([]string{"(.*)"})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for i := range 10 * maxApplications {
		names[a.Of(fmt.Sprint("id", i))] = true
	}
	if len(names) != maxApplications+1 || !names[OtherApplication] {
		t.Errorf("%d names, want %d and %s", len(names), maxApplications, OtherApplication)
	}
	if got := a.Of("id0"); got != "id0" {
		t.Errorf("one of the first is of %q later", got)
	}
}
