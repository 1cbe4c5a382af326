package collector

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// hanging returns a cluster of three brokers, 3 partitions and a group at each,
// whose answers take a millisecond, and a sweeper that has swept it once.
func hanging(t *testing.T) (*fake, *Sweeper) {
	f := newFake(3)
	f.latency = time.Millisecond
	f.topic("orders", 3)
	for id := range int32(3) {
		f.group(fmt.Sprint("g", id+1), id+1).commit("orders", id, 3)
	}
	s := NewSweeper(f, Options{})
	if sample := s.Sweep(t.Context()); len(sample.Missed) > 0 {
		t.Fatalf("missed %s before anything hangs", missed(sample))
	}
	f.take()
	return f, s
}

// TestHangingBrokerDelaysOneSweepOnce: the sweep that finds out is late by the
// broker's timeout, the ones after it by a moment; the other brokers' partitions
// and groups are there in all of them.
func TestHangingBrokerDelaysOneSweepOnce(t *testing.T) {
	for broker := int32(1); broker <= 3; broker++ {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			f, s := hanging(t)
			f.set(func() { f.hung[broker] = true })
			for i, c := range []struct {
				longest time.Duration
				kind    string
			}{{time.Second + 70*time.Millisecond, "timeout"}, {70 * time.Millisecond, "suspended"}, {70 * time.Millisecond, "suspended"}} {
				begun := time.Now()
				sample := s.Sweep(ctx)
				if took := time.Since(begun); took > c.longest {
					t.Errorf("broker %d, sweep %d: took %v, want at most %v", broker, i, took, c.longest)
				}
				if got, want := missed(sample), fmt.Sprintf("[broker %d: %s 1]", broker, c.kind); got != want {
					t.Errorf("broker %d, sweep %d: missed %s, want %s", broker, i, got, want)
				}
				for id := range int32(3) {
					g := groupNamed(sample, fmt.Sprint("g", id+1))
					p := offsets(partition(t, sample, "orders", int(id)))
					if id+1 == broker {
						if p != "- - - -" || g != nil {
							t.Errorf("broker %d, sweep %d: got %s and %s of the broker that hangs", broker, i, p, showGroup(g))
						}
					} else if p != "0 5 7 9" || g == nil || !g.CommitsRead {
						t.Errorf("broker %d, sweep %d: got %s and %s of broker %d", broker, i, p, showGroup(g), id+1)
					}
				}
				time.Sleep(10*time.Second - time.Since(begun))
			}
			cancel()
			s.wait()
		})
	}
}

// TestHangingBrokerIsAskedOnceASweep: one request finds out whether it is back.
func TestHangingBrokerIsAskedOnceASweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f, s := hanging(t)
		f.set(func() { f.hung[2] = true })
		for i := range 4 {
			f.take()
			s.Sweep(ctx)
			n := 0
			for _, c := range f.take() {
				if c.broker == 2 {
					n++
				}
			}
			want := 1
			if i == 0 { // its turn for Metadata, after which it has a chance in step 1
				want = 2
			}
			if n != want {
				t.Errorf("sweep %d: %d requests to the broker that hangs, want %d", i, n, want)
			}
			time.Sleep(10 * time.Second)
		}
		cancel()
		s.wait()
	})
}

// TestProbesDoNotPileUp: no second request while one is on its way.
func TestProbesDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f, s := hanging(t)
		f.set(func() { f.hung[2] = true })
		s.Sweep(ctx)
		f.take()
		for range 3 { // all within the broker's timeout
			if got, want := missed(s.Sweep(ctx)), "[broker 2: suspended 1]"; got != want {
				t.Errorf("missed %s, want %s", got, want)
			}
		}
		n := 0
		for _, c := range f.take() {
			if c.broker == 2 {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d requests to the broker that hangs, want 1", n)
		}
		cancel()
		s.wait()
	})
}

// TestBrokerThatAnswersAgain: it takes part in the next sweep, or in the one
// after it if its first answer comes after the others were done.
func TestBrokerThatAnswersAgain(t *testing.T) {
	for _, c := range []struct {
		reason string
		slow   time.Duration // of the first answer
		want   []string
	}{
		{"as quickly as the others", 0, []string{"[]", "[]"}},
		{"more slowly than the others", 300 * time.Millisecond, []string{"[broker 2: suspended 1]", "[]"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				f, s := hanging(t)
				f.set(func() { f.hung[2] = true })
				s.Sweep(ctx)
				time.Sleep(9 * time.Second)
				f.set(func() {
					f.hung[2] = false
					f.before = func(broker int32, _ kmsg.Request) (kmsg.Response, error) {
						if broker == 2 {
							time.Sleep(c.slow)
						}
						return nil, nil
					}
				})
				for i, want := range c.want {
					sample := s.Sweep(ctx)
					if got := missed(sample); got != want {
						t.Errorf("sweep %d: missed %s, want %s", i, got, want)
					}
					time.Sleep(9 * time.Second)
				}
				cancel()
				s.wait()
			})
		})
	}
}

// TestDeadBrokerCostsItsOwnSamples: a refused connection costs no time at all.
func TestDeadBrokerCostsItsOwnSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := hanging(t)
		o := &recorder{}
		s.options.Observer = o
		f.set(func() { f.dead[1] = true }) // the one that answers Metadata, too
		for i := range 3 {
			begun := time.Now()
			sample := s.Sweep(t.Context())
			if took := time.Since(begun); took > 20*time.Millisecond {
				t.Errorf("sweep %d took %v", i, took)
			}
			if got, want := missed(sample), "[broker 1: unreachable 1]"; got != want {
				t.Errorf("sweep %d: missed %s, want %s", i, got, want)
			}
			if got := offsets(partition(t, sample, "orders", 1)); got != "0 5 7 9" {
				t.Errorf("sweep %d: offsets %s of a broker beside it", i, got)
			}
			for j, want := range []string{"replicas true ", "offsets false ", "transactions true ", "groups false "} {
				if got := o.collectors[4*i+j]; !strings.HasPrefix(got, want) {
					t.Errorf("sweep %d: collector %s, want %s", i, got, want)
				}
			}
		}
		f.set(func() { f.dead[1] = false })
		if sample := s.Sweep(t.Context()); len(sample.Missed) > 0 {
			t.Errorf("missed %s after it came back", missed(sample))
		}
		s.wait()
	})
}

// TestBrokerDiesInTheSweep: its partitions are read at the new leaders that
// Metadata names, within the same sweep.
func TestBrokerDiesInTheSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := hanging(t)
		f.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
			r, ok := req.(*kmsg.ListOffsetsRequest)
			if !ok || broker != 2 || stepOf(r) != lastStable {
				return nil, nil
			}
			f.set(func() {
				f.dead[2] = true
				p := f.topics[0].partitions[1]
				p.leader, p.epoch, p.hwm, p.leo = 3, 1, 8, 10
			})
			return nil, errRefused
		}
		sample := s.Sweep(t.Context())
		if got, want := offsets(partition(t, sample, "orders", 1)), "0 5 8 10"; got != want {
			t.Errorf("offsets %s, want %s", got, want)
		}
		if got, want := missed(sample), "[broker 2: unreachable 1]"; got != want {
			t.Errorf("missed %s, want %s", got, want)
		}
		s.wait()
	})
}

// TestSlowBrokerIsCutAtHalfTheDeadline: one that answers each request just in
// time does not hold up the others for longer, and keeps its partitions.
func TestSlowBrokerIsCutAtHalfTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := hanging(t)
		s.options.Disabled = append(s.options.Disabled, noLookUps...)
		f.set(func() {
			f.group("n1", 2).groupType = "consumer"
			f.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
				if broker == 2 && req.Key() != kmsg.Metadata.Int16() {
					time.Sleep(950 * time.Millisecond)
				}
				return nil, nil
			}
		})
		sample := s.Sweep(t.Context())
		if got, want := missed(sample), "[broker 2: deadline 1]"; got != want {
			t.Errorf("missed %s, want %s", got, want)
		}
		if g := groupNamed(sample, "g2"); g != nil {
			t.Errorf("group %s of the slow broker was not left out", showGroup(g))
		}
		if got, want := offsets(partition(t, sample, "orders", 1)), "- 5 7 9"; got != want {
			t.Errorf("offsets %s of the slow broker, want %s", got, want)
		}
		if got := offsets(partition(t, sample, "orders", 0)); got != "0 5 7 9" {
			t.Errorf("offsets %s of a broker beside it", got)
		}
		if took := partition(t, sample, "orders", 0).HighWatermark.Within.Sent.Sub(sample.Started); took > 3760*time.Millisecond {
			t.Errorf("the others went on after %v", took)
		}
		s.wait()
	})
}

// TestDeadlineEndsASweep: with every broker slow, a sweep still ends; being cut
// short says nothing about a broker.
func TestDeadlineEndsASweep(t *testing.T) {
	for _, serial := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(3)
			f.topic("orders", 3)
			f.group("g", 1)
			f.latency = 900 * time.Millisecond
			s := NewSweeper(f, Options{Period: 4 * time.Second, BrokerTimeout: time.Second, Serial: serial})
			begun := time.Now()
			sample := s.Sweep(t.Context())
			if took := time.Since(begun); took > 3*time.Second {
				t.Errorf("serial %v: took %v, beyond the deadline", serial, took)
			}
			if !sample.Cluster.IsKnown() || !strings.Contains(missed(sample), "deadline") || strings.Contains(missed(sample), "timeout") {
				t.Errorf("serial %v: missed %s, cluster %v", serial, missed(sample), sample.Cluster)
			}
			s.wait()
			synctest.Wait()
			for _, id := range f.brokers {
				if s.isSuspended(id) {
					t.Errorf("serial %v: broker %d is suspended, though it was only cut short", serial, id)
				}
			}
		})
	}
}

// TestHangingSeed: the first sweep asks the seeds one after the other.
func TestHangingSeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := newFake(2)
		f.topic("orders", 2)
		f.hung[1] = true
		s := NewSweeper(f, Options{})
		sample := s.Sweep(ctx)
		if got, want := missed(sample), "[bootstrap broker: timeout 1 broker 1: timeout 1]"; got != want {
			t.Errorf("missed %s, want %s", got, want)
		}
		if got := offsets(partition(t, sample, "orders", 1)); got != "0 5 7 9" {
			t.Errorf("offsets %s of the broker that answers", got)
		}
		cancel()
		s.wait()
	})
}

// TestSilentBrokerAtAShortPeriod: while one broker answers nothing, what holds
// partitions of the others is judged all the same. At the default timeout that
// holds in the sweep that finds out, too; at one that takes up the sweep, from
// the one after it. The broker counts as one that does not answer, and nobody
// else lacks anything.
func TestSilentBrokerAtAShortPeriod(t *testing.T) {
	for _, timeout := range []time.Duration{0, 250 * time.Millisecond, 375 * time.Millisecond} {
		for silent := int32(1); silent <= 3; silent++ {
			t.Run(fmt.Sprintf("%v, broker %d", timeout, silent), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					f := newFake(3)
					f.stateTopic()
					f.latency = time.Millisecond
					orders := f.calm("orders", 3)
					for i := range int32(3) {
						orders.partitions[i].lso = 5
						f.transaction(fmt.Sprint("x", i), i+1, int64(i), orders, i, time.Now().UnixMilli())
						f.group(fmt.Sprint("g", i), i+1).commit("orders", i, 3)
					}
					const period = 500 * time.Millisecond
					s := NewSweeper(f, Options{Period: period, BrokerTimeout: timeout})
					tracker := lag.NewTracker(period)
					for n := range 6 {
						if n == 1 {
							f.set(func() { f.hung[silent] = true })
						}
						begun := time.Now()
						v := tracker.Observe(s.Sweep(ctx))
						if took := time.Since(begun); timeout == 0 && took > 115*time.Millisecond {
							t.Errorf("sweep %d took %v, for more than a quarter of the deadline", n, took)
						}
						for i := range 3 {
							want := fmt.Sprintf("ongoing none x%d", i)
							if got := blocker(v, "orders", i); int32(i+1) != silent && got != want {
								t.Errorf("sweep %d: %s, want %s; missed %v", n, got, want, v.Missed)
							}
						}
						for _, m := range v.Missed {
							kind := lag.MissSuspended
							if n == 1 {
								kind = lag.MissTimeout
							}
							if m.Subject != brokerSubject(silent) || m.Kind != kind {
								t.Errorf("sweep %d: missed %+v", n, m)
							}
						}
						if n > 0 && len(v.Missed) == 0 {
							t.Errorf("sweep %d: nothing missed of a silent broker", n)
						}
						time.Sleep(period - time.Since(begun))
					}
					cancel()
					s.wait()
				})
			})
		}
	}
}

// TestBrokerThatNobodyAskedIsNotSilent: of brokers that are asked one after the
// other, the one that was waited for is spared in the next sweep, and not those
// for which no time was left.
func TestBrokerThatNobodyAskedIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := newFake(3)
		f.latency = time.Millisecond
		f.topic("orders", 3)
		s := NewSweeper(f, Options{Period: 500 * time.Millisecond, BrokerTimeout: 250 * time.Millisecond, Serial: true})
		s.Sweep(ctx)
		f.set(func() {
			f.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
				if req.Key() == kmsg.Metadata.Int16() {
					f.set(func() { f.hung[1] = true }) // from the next request on
				}
				return nil, nil
			}
		})
		if got, want := missed(s.Sweep(ctx)), "[broker 2: deadline 1 broker 3: deadline 1 broker 1: timeout 1]"; got != want {
			t.Errorf("missed %s, want %s", got, want)
		}
		for _, id := range f.brokers {
			if got := s.isSuspended(id); got != (id == 1) {
				t.Errorf("broker %d: suspended is %v", id, got)
			}
		}
		cancel()
		s.wait()
	})
}

// TestErrorsInPlaceOfAnything: brokers that answer Metadata, or the question for
// any offset, with an error are not taken for brokers that are not there.
func TestErrorsInPlaceOfAnything(t *testing.T) {
	f := newFake(2)
	f.topic("orders", 2)
	s := NewSweeper(f, Options{})
	if sample := s.Sweep(t.Context()); sample.Offsetless != "" {
		t.Errorf("offsetless: %s", sample.Offsetless)
	}
	for _, p := range f.topics[0].partitions {
		p.errors[highWatermark], p.errors[lastStable], p.errors[logStart] = -1, -1, -1
	}
	text := codeText(-1)
	if got, want := s.Sweep(t.Context()).Offsetless, "broker 1: ListOffsets: "+text+"\nbroker 2: ListOffsets: "+text; got != want {
		t.Errorf("offsetless %q, want %q", got, want)
	}
	f.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		resp := kmsg.NewPtrMetadataResponse()
		resp.ErrorCode = -1
		resp.SetVersion(req.GetVersion())
		return resp, nil
	}
	v := lag.NewTracker(s.options.Period).Observe(s.Sweep(t.Context()))
	if got, want := v.Failure, "broker 1: Metadata: "+text+"\nbroker 2: Metadata: "+text+"\nbootstrap broker: Metadata: "+text; got != want {
		t.Errorf("failure %q, want %q", got, want)
	}
	if got, want := v.FailureTitle(), "the brokers answered Metadata with errors"; got != want {
		t.Errorf("title %q, want %q", got, want)
	}
}
