package collector

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

const (
	// scanPeriodProperty is how often a coordinator looks for transactions that
	// are past their timeout. A running broker does not change it.
	scanPeriodProperty = "transaction.abort.timed.out.transaction.cleanup.interval.ms"

	// scanPeriodAge is for how long an answer about it holds, also that it may
	// not be read.
	scanPeriodAge = time.Hour
)

// scanPeriod is what is remembered of a coordinator's scan period.
type scanPeriod struct {
	period lag.Optional[time.Duration]
	asked  time.Time
}

// readScanPeriods fills in the scan periods of coordinators that have left a
// transaction open past its deadline: only for those does it matter. What it
// asks, once an hour and broker, is of the sweep's budget.
func (u *lookUp) readScanPeriods(ctx context.Context) {
	if u.result == nil {
		return
	}
	now := u.options.Now()
	ask := make(map[int32]bool)
	for i := range u.result.Found {
		t := &u.result.Found[i]
		id := int32(t.Coordinator)
		start, known := t.Start.Get()
		if t.State != lag.Ongoing || !known || now.Before(start.Add(t.Timeout)) {
			continue
		}
		if s, asked := u.scanPeriods[id]; !asked || now.Sub(s.asked) > scanPeriodAge {
			ask[id] = true
		}
	}
	requests := make(map[int32]kmsg.Request)
	for _, id := range slices.Sorted(maps.Keys(ask)) {
		if !u.down[id] && u.budget.take() {
			requests[id] = scanPeriodRequest(id)
		}
	}
	u.askAll(ctx, "DescribeConfigs", one(requests),
		func(id int32, a answered) {
			u.scanPeriods[id] = scanPeriod{scanPeriodOf(a.resp.(*kmsg.DescribeConfigsResponse)), now}
		},
		func(id int32, kind lag.MissKind) {
			if kind == lag.MissAPIMissing {
				u.scanPeriods[id] = scanPeriod{asked: now}
			}
		})
	for i := range u.result.Found {
		t := &u.result.Found[i]
		t.ScanPeriod = u.scanPeriods[int32(t.Coordinator)].period
	}
}

// scanPeriodRequest asks a broker for its own scan period.
func scanPeriodRequest(id int32) kmsg.Request {
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType = kmsg.ConfigResourceTypeBroker
	resource.ResourceName = strconv.Itoa(int(id))
	resource.ConfigNames = []string{scanPeriodProperty}
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = append(req.Resources, resource)
	return req
}

// scanPeriodOf returns the scan period of an answer; unknown where it may not
// be read, for which it needs DESCRIBE_CONFIGS on the cluster.
func scanPeriodOf(resp *kmsg.DescribeConfigsResponse) lag.Optional[time.Duration] {
	for i := range resp.Resources {
		for _, c := range resp.Resources[i].Configs {
			if c.Name != scanPeriodProperty || c.Value == nil {
				continue
			}
			if ms, err := strconv.ParseInt(*c.Value, 10, 64); err == nil && ms > 0 {
				return lag.Known(time.Duration(ms) * time.Millisecond)
			}
		}
	}
	return lag.Optional[time.Duration]{}
}
