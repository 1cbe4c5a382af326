package collector

import (
	"fmt"
	"testing"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Misses of a subject are added up, but for APIs that it lacks: each of them is
// told.
func TestMissesOfASubject(t *testing.T) {
	m := newMisses()
	for _, detail := range []string{"OffsetFetch", "Fetch", "OffsetFetch"} {
		m.add(lag.MissAPIMissing, "broker 1", 1, detail, Groups)
		m.add(lag.MissOther, "broker 1", 1, detail)
	}
	if got, want := fmt.Sprint(m.list()), "[{api_missing broker 1 1 Fetch} {api_missing broker 1 2 OffsetFetch} {other broker 1 3 OffsetFetch}]"; got != want {
		t.Errorf("misses %s, want %s", got, want)
	}
	if !m.has(lag.MissAPIMissing, "broker 1") || m.has(lag.MissAPIMissing, "broker 2") || m.failed[Groups] {
		t.Errorf("counted %v, failed %v", m.count, m.failed)
	}
}
