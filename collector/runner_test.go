package collector

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector/security"
	"github.com/lso-exporter/lso-exporter/lag"
)

// recorder is an Observer that writes down what it is told.
type recorder struct {
	Unobserved // what no test looks at

	mu         sync.Mutex
	requests   map[string]int
	gaps       []time.Duration
	collectors []string
	sweeps     []string
	errors     []string
	skewed     int
}

func (r *recorder) Request(api string, broker int32, took time.Duration, failure lag.MissKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.requests == nil {
		r.requests = make(map[string]int)
	}
	r.requests[fmt.Sprintf("%s %d %v %s", api, broker, took, failure)]++
}

func (r *recorder) ReadGap(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaps = append(r.gaps, took)
}

func (r *recorder) Collector(name Collector, success bool, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.collectors = append(r.collectors, fmt.Sprintf("%s %v %v", name, success, took))
}

func (r *recorder) Sweep(result Result, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweeps = append(r.sweeps, fmt.Sprintf("%s %v", result, took))
}

func (r *recorder) Errors(kind lag.MissKind, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors = append(r.errors, fmt.Sprintf("%s %d", kind, n))
}

func (r *recorder) Skew(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skewed += n
}

// run runs a runner for some time and returns when the views it published
// began, from the start on.
func run(t *testing.T, f *fake, options Options, d time.Duration) (began []time.Duration) {
	ctx, cancel := context.WithCancel(t.Context())
	r := NewRunner(f, options)
	start := time.Now()
	r.Subscribe(func(v *lag.View) {
		if r.View() != v {
			t.Error("a view was handed on before it was published")
		}
		began = append(began, v.Started.Sub(start))
	})
	done := make(chan struct{})
	go func() { r.Run(ctx); close(done) }()
	time.Sleep(d)
	cancel()
	<-done
	return began
}

func TestRunnerSweepsAtOnceAndThenOnceAPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.topic("orders", 1)
		got := run(t, f, Options{Jitter: -1}, 35*time.Second)
		want := []time.Duration{0, 10 * time.Second, 20 * time.Second, 30 * time.Second}
		if !slices.Equal(got, want) {
			t.Errorf("sweeps began at %v, want %v", got, want)
		}
	})
}

func TestJitterDoesNotMoveLaterSweeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		next := []float64{0, 0.5, 0.75, 0.999, 0.25}
		got := run(t, f, Options{Random: func() float64 {
			v := next[0]
			next = append(next[1:], v)
			return v
		}}, 45*time.Second)
		want := []time.Duration{0, 9 * time.Second, 20 * time.Second, 30*time.Second + 500*time.Millisecond, 40*time.Second + 998*time.Millisecond}
		if !slices.Equal(got, want) {
			t.Errorf("sweeps began at %v, want %v", got, want)
		}
	})
}

// slowObserver holds up the end of sweeps: what no deadline bounds.
type slowObserver struct {
	recorder
	delays []time.Duration
}

func (o *slowObserver) Sweep(result Result, took time.Duration) {
	o.recorder.Sweep(result, took)
	if result != Skipped && len(o.delays) > 0 {
		time.Sleep(o.delays[0])
		o.delays = o.delays[1:]
	}
}

func TestSlowSweepsAreSkippedNeverQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		o := &slowObserver{delays: []time.Duration{25 * time.Second, 0}}
		got := run(t, f, Options{Jitter: -1, Observer: o}, 45*time.Second)
		want := []time.Duration{0, 30 * time.Second, 40 * time.Second}
		if !slices.Equal(got, want) {
			t.Errorf("sweeps began at %v, want %v", got, want)
		}
		if got, want := fmt.Sprint(o.sweeps), "[complete 0s skipped 0s skipped 0s complete 0s complete 0s]"; got != want {
			t.Errorf("observed %s, want %s", got, want)
		}
	})
}

func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		f.latency = time.Millisecond
		f.topic("orders", 3).partitions[2].leader = -1
		f.group("g", 1).commit("orders", 0, 3)
		f.dead[2] = true
		o := &recorder{}
		run(t, f, Options{Observer: o, Disabled: noLookUps, NoTimeIndex: true}, time.Second)
		for request, n := range map[string]int{
			"Metadata -100 1ms ":           1,
			"Metadata -99 0s unreachable":  0,
			"ListGroups 1 1ms ":            1,
			"DescribeGroups 1 1ms ":        1,
			"OffsetFetch 1 1ms ":           1,
			"ListOffsets 1 1ms ":           4,
			"ListGroups 2 0s unreachable":  1,
			"ListOffsets 2 0s unreachable": 0,
		} {
			if got := o.requests[request]; got != n {
				t.Errorf("%d requests %q, want %d", got, request, n)
			}
		}
		if got, want := fmt.Sprint(o.gaps), "[1ms]"; got != want {
			t.Errorf("read gaps %s, want %s", got, want)
		}
		if got, want := fmt.Sprint(o.errors), "[no_leader 1 unreachable 1]"; got != want {
			t.Errorf("errors %s, want %s", got, want)
		}
		if got, want := fmt.Sprint(o.collectors), "[replicas true 1ms offsets false 4ms groups false 4ms]"; got != want {
			t.Errorf("collectors %s, want %s", got, want)
		}
		if got, want := fmt.Sprint(o.sweeps), "[partial 9ms]"; got != want {
			t.Errorf("sweeps %s, want %s", got, want)
		}
	})
}

// What is not sent, as a broker is left alone, is an error and no request.
func TestObserverOfHeldRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		f.topic("orders", 2)
		var err error
		f.before = func(broker int32, _ kmsg.Request) (kmsg.Response, error) {
			if broker == 2 {
				return nil, err
			}
			return nil, nil
		}
		for _, test := range []struct {
			cause error
			want  int
		}{{nil, 1}, {security.ErrHeld, 0}} {
			err = &security.Error{Kind: security.KindAuthentication, Text: "refused", Cause: test.cause}
			o := &recorder{}
			run(t, f, Options{Observer: o, Disabled: noLookUps, NoTimeIndex: true}, time.Second)
			if got := o.requests["ListGroups 2 0s authentication"]; got != test.want {
				t.Errorf("%d requests that failed with the cause %v, want %d: %v", got, test.cause, test.want, o.requests)
			}
			if got, want := fmt.Sprint(o.errors), "[authentication 1]"; got != want {
				t.Errorf("errors %s with the cause %v, want %s", got, test.cause, want)
			}
		}
	})
}

func TestFailedSweepPublishesAnEmptyView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.topic("orders", 1)
		o := &recorder{}
		ctx, cancel := context.WithCancel(t.Context())
		r := NewRunner(f, Options{Observer: o, Jitter: -1})
		if r.View() != nil {
			t.Error("there is a view before the first sweep")
		}
		done := make(chan struct{})
		go func() { r.Run(ctx); close(done) }()
		time.Sleep(time.Second)
		if v := r.View(); v == nil || len(v.Topics) != 1 || v.Failure != "" {
			t.Errorf("view %+v", v)
		}
		f.set(func() { f.dead[1] = true })
		time.Sleep(10 * time.Second)
		if v := r.View(); len(v.Topics) != 0 || v.Failure != "connection refused" || v.Expired(time.Now()) {
			t.Errorf("view %+v", v)
		}
		f.set(func() { f.dead[1] = false })
		time.Sleep(10 * time.Second)
		v := r.View()
		if len(v.Topics) != 1 || v.Failure != "" {
			t.Errorf("view %+v", v)
		}
		if got := v.Topics[0].Partitions[0].StalledFor; got != 20*time.Second {
			t.Errorf("stalled for %v, want 20s: what was seen before the failure is remembered", got)
		}
		cancel()
		<-done
		if got, want := fmt.Sprint(o.sweeps), "[complete 0s failed 0s complete 0s]"; got != want {
			t.Errorf("sweeps %s, want %s", got, want)
		}
	})
}

// TestStoppingInASweepPublishesNothing: what is missing then is missing because
// we leave.
func TestStoppingInASweepPublishesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.topic("orders", 1)
		f.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
			if req.Key() == kmsg.ListGroups.Int16() {
				f.set(func() { f.hung[1] = true })
			}
			return nil, nil
		}
		o := &recorder{}
		if got := run(t, f, Options{Observer: o}, 500*time.Millisecond); len(got) > 0 || len(o.sweeps) > 0 {
			t.Errorf("published sweeps that began at %v, observed %v", got, o.sweeps)
		}
	})
}

// TestSucceed: a runner with other options goes on where the one before ended.
func TestSucceed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.topic("orders", 1)
		f.topic("internal", 1)
		runFor := func(r *Runner, d time.Duration) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { r.Run(ctx); close(done) }()
			time.Sleep(d)
			cancel()
			<-done
		}
		before := NewRunner(f, Options{Jitter: -1})
		runFor(before, 25*time.Second)
		after := before.Succeed(f, Options{Jitter: -1, Period: time.Second, Topics: func(name string) bool { return name == "orders" }})
		if v := after.View(); v == nil || v != before.View() {
			t.Errorf("the view before the first sweep is %+v", v)
		}
		runFor(after, 9500*time.Millisecond) // not when a sweep is due
		v := after.View()
		if len(v.Topics) != 1 || v.Period != time.Second {
			t.Errorf("%d topics, period %v", len(v.Topics), v.Period)
		}
		if got := v.Topics[0].Partitions[0].StalledFor; got != 34*time.Second {
			t.Errorf("stalled for %v, want 34s", got)
		}
	})
}

// A topic of coordinators that the broker which audits ask does not list yet is
// looked at as soon as it does; one that it never lists costs a few audits.
func TestAuditsOfWhatOneBrokerListsLate(t *testing.T) {
	for _, c := range []struct {
		late, audits, coordinating int
	}{{0, 2, 1}, {1, 3, 1}, {3, 5, 1}, {100, 1 + maxHastened, 0}} {
		t.Run(fmt.Sprint(c.late, " answers too late"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(2)
				f.calm("orders", 2)
				r := NewRunner(f, Options{AuditPeriod: time.Hour})
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				audits, late := 0, c.late
				f.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
					f.mu.Lock()
					defer f.mu.Unlock()
					switch kmsg.Key(req.Key()) {
					case kmsg.ApiVersions, kmsg.DescribeConfigs, kmsg.DescribeTransactions:
						return nil, ErrAPIMissing
					}
					if m, ok := req.(*kmsg.MetadataRequest); !ok || broker != -100 || m.IncludeClusterAuthorizedOperations {
						return nil, nil // not an audit's
					}
					audits++
					if len(f.topics) == 1 || late <= 0 {
						return nil, nil
					}
					late--
					all := f.topics
					f.topics = all[:1]
					resp := f.answer(1, req)
					f.topics = all
					resp.SetVersion(req.GetVersion())
					return resp, nil
				}
				time.AfterFunc(time.Minute, func() { f.set(f.stateTopic) })
				r.Run(ctx)
				if got := r.View().Audit.Coordinating(); audits != c.audits || got != c.coordinating {
					t.Errorf("%d audits, the last of %d topics of coordinators; want %d of %d", audits, got, c.audits, c.coordinating)
				}
			})
		})
	}
}
