package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"
)

func faultVerbs() []Verb {
	return []Verb{
		faultVerb("pause", "Stops a broker's process as SIGSTOP does: it is silent, and fenced after its session timeout.",
			Cluster.Pause, paused),
		faultVerb("resume", "Lets a paused broker go on.", Cluster.Resume, ""),
		faultVerb("kill", "Ends a broker's process as SIGKILL does; its disk stays.", Cluster.Kill, down),
		faultVerb("stop", "Shuts a broker down in the controlled way.", Cluster.Stop, down),
		faultVerb("start", "Starts a broker that was killed or stopped, and waits until it serves.", Cluster.Start, ""),
		{
			Name:  "wait",
			Usage: "wait DURATION",
			Doc:   "Lets time pass.",
			Parse: parseWait,
		},
	}
}

// What a scenario did to a broker that is silent.
const (
	paused = "paused"
	down   = "down"
)

func faultVerb(name, doc string, act func(Cluster, context.Context, int32) error, after string) Verb {
	return Verb{
		Name: name, Usage: name + " BROKER", Doc: doc,
		Parse: func(words []string) (Action, error) {
			if len(words) != 1 || !brokerLetter.MatchString(words[0]) {
				return nil, fmt.Errorf("%s wants a broker", name)
			}
			return func(ctx context.Context, p *Play) (string, error) {
				broker, err := p.broker(words[0])
				if err != nil {
					return "", err
				}
				if err := act(p.cluster, ctx, broker); err != nil {
					return "", err
				}
				if after == "" {
					delete(p.silent, broker)
				} else {
					p.silent[broker] = after
				}
				return "", nil
			}, nil
		},
	}
}

func parseWait(words []string) (Action, error) {
	if len(words) != 1 {
		return nil, errors.New("wait wants a duration")
	}
	d, err := parsePeriod(words[0])
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *Play) (string, error) { return "", p.cluster.Wait(ctx, d) }, nil
}

// maxPeriod is the longest time that a text can name: longer than Kafka keeps
// anything by default, and not too long to be simulated.
const maxPeriod = 20 * 24 * time.Hour

// parsePeriod reads how long something is to last.
func parsePeriod(word string) (time.Duration, error) {
	d, err := time.ParseDuration(word)
	if err != nil || d <= 0 || d > maxPeriod {
		return 0, fmt.Errorf("%s is no time that passes; expected one such as 5s, up to %v", word, maxPeriod)
	}
	return d, nil
}

// parseTimeout reads a timeout that a request carries, which may be a nonsensical
// one.
func parseTimeout(word string) (time.Duration, error) {
	d, err := time.ParseDuration(word)
	if err != nil || d.Abs() > maxPeriod {
		return 0, fmt.Errorf("timeout %s is none; expected one such as 5s, up to %v", word, maxPeriod)
	}
	return d, nil
}
