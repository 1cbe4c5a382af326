package java

import (
	"os"
	"testing"

	"github.com/lso-exporter/lso-exporter/test/kafka"
)

// valuesFile is what Kafka says to values of configuration, to which
// simbroker/property is held.
const valuesFile = "../../simbroker/property/testdata/values.txt"

// Kafka's own classes say to values of configuration what is written down.
func TestValues(t *testing.T) {
	asked(t)
	if !*update {
		kafka.Long(t)
	}
	printed, status, err := openShell(t, version, compile(t, version)).run("Values", nil, nil)
	if err != nil || status != 0 {
		t.Fatalf("status %d: %v\n%s", status, err, printed)
	}
	if *update {
		if err := os.WriteFile(valuesFile, []byte(printed), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	written, err := os.ReadFile(valuesFile)
	if err != nil {
		t.Fatal(err)
	}
	if printed != string(written) {
		t.Errorf("%s is not what Kafka %s says; TestValues -update writes it anew", valuesFile, version)
	}
}
