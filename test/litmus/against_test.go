package litmus

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
)

var (
	bootstrap = flag.String("bootstrap", "", "addresses of a running cluster, HOST:PORT,…, to play the litmus tests on")
	control   = flag.String("control", "", "URL of its control surface, http://HOST:PORT, as \"lso-exporter sim\" has it")
)

// The litmus tests on a cluster that somebody else runs with the properties of
// server.properties:
//
//	lso-exporter sim --brokers 3 --server.properties test/litmus/server.properties --control.listen-address 127.0.0.1:0
//	go test ./test/litmus -run AgainstCluster -bootstrap ADDRESSES -control URL
//
// Without a control surface those with faults are skipped.
func TestAgainstCluster(t *testing.T) {
	if *bootstrap == "" {
		t.Skip("not run: no -bootstrap names a cluster")
	}
	var faults scenario.Faults
	if *control != "" {
		faults = scenario.Control{URL: *control}
	}
	network, err := scenario.Dial(context.Background(), strings.Split(*bootstrap, ","), faults)
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	namespace := fmt.Sprintf("run%d-", os.Getpid()) // the cluster may have seen these texts before
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			if ownCluster(s) {
				t.Skip("not run: it needs a cluster of its own")
			}
			if *control == "" && s.DisturbsBrokers() {
				t.Skip("not run: it needs a control surface")
			}
			report(t)(s.Run(context.Background(), network, scenario.Options{Namespace: namespace, Given: Properties()}))
		})
	}
}
