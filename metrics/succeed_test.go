package metrics

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// An exposition that takes the place of another one goes on counting, and shows
// the last view in its own way.
func TestSucceed(t *testing.T) {
	before := at(0, Options{})
	before.Publish(aView())
	before.Self.Sweep("complete", time.Second)
	before.Self.Collector("groups", true, time.Second)
	before.Self.Collector("offsets", true, time.Second)

	after := before.Succeed(Options{Granularity: PerGroup, Without: []string{"groups"}, Fingerprint: "f", Now: before.options.Now})
	page := text(t, after)
	for series, want := range map[string]bool{
		`lso_exporter_sweeps_total{result="complete"} 1`:                        true,
		`lso_exporter_collector_success{collector="offsets"} 1`:                 true,
		`lso_exporter_collector_success{collector="groups"} 1`:                  false,
		`lso_exporter_config_info{fingerprint="f",granularity="group"} 1`:       true,
		`lso_exporter_config_info{fingerprint="",granularity="partition"} 1`:    false,
		`lso_exporter_last_sweep_timestamp_seconds ` + timestamp(aView().Ended): true,
		"\nkafka_partition_high_watermark{":                                     true,
		"\nkafka_group_":                                                        false,
	} {
		if got := strings.Contains(page, series); got != want {
			t.Errorf("%s is there: %t", series, got)
		}
	}

	// Series with another label are others.
	blue := after.Succeed(Options{Cluster: "blue", Now: before.options.Now})
	if page := text(t, blue); !strings.Contains(page, `lso_exporter_sweeps_total{cluster="blue",result="complete"} 0`) ||
		!strings.Contains(page, "\nkafka_partition_high_watermark{cluster=\"blue\",") {
		t.Errorf("under another label the page is\n%s", page)
	}
	blue.Withdraw()
	if page := text(t, blue); strings.Contains(page, "\nkafka_") {
		t.Error("a view that was withdrawn is shown")
	}
}

// What a view is cut by counts once, though it is shown again.
func TestSucceedDoesNotCountAgain(t *testing.T) {
	const name = `lso_exporter_series_cut_total{metric="kafka_partition_blocking_transaction_info"} `
	before := at(0, Options{})
	blockers := make([]*lag.Blocker, MaxBlockingTransactions+3)
	for i := range blockers {
		blockers[i] = &lag.Blocker{Verdict: lag.Hanging, Reason: lag.ReasonNone, Coordinator: 1}
	}
	view := blocked(blockers...)
	before.Publish(view)
	after := before.Succeed(Options{Now: before.options.Now})
	if page := text(t, after); !strings.Contains(page, name+"3\n") {
		t.Errorf("no %s3", name)
	}
}

func TestReloaded(t *testing.T) {
	e := at(0, Options{})
	const successful, timestampName = "\nlso_exporter_config_last_reload_successful ", "\nlso_exporter_config_last_reload_success_timestamp_seconds "
	for _, step := range []struct {
		at        time.Duration
		success   bool
		want      string
		wantSince time.Duration
	}{
		{0, true, "1", 0}, {time.Minute, false, "0", 0}, {2 * time.Minute, true, "1", 2 * time.Minute},
	} {
		e.Self.Reloaded(sweepEnd.Add(step.at), step.success)
		page := text(t, e)
		if !strings.Contains(page, successful+step.want+"\n") || !strings.Contains(page, timestampName+timestamp(sweepEnd.Add(step.wantSince))+"\n") {
			t.Errorf("after %v: no%s%s and%s%s", step.at, successful, step.want, timestampName, timestamp(sweepEnd.Add(step.wantSince)))
		}
	}
}

// timestamp is a time as pages show it.
func timestamp(at time.Time) string {
	return strconv.FormatFloat(float64(at.UnixMilli())/1000, 'g', -1, 64)
}
