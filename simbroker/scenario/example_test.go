package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/application"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/simulated"
)

// biller stands for the application that is tested: it bills every committed order,
// each once.
type biller struct {
	cluster application.Cluster
	billed  map[string]bool
}

// work bills the orders of a partition, and returns how many were billed anew.
func (b *biller) work(ctx context.Context, orders application.Partition) (n int, err error) {
	keys, err := application.Records(ctx, b.cluster, orders)
	for _, key := range keys {
		if !b.billed[key] {
			b.billed[key] = true
			n++
		}
	}
	return n, err
}

// verb makes a command of the biller: its words are understood when the text is
// read, and it works when the step is carried out.
func (b *biller) verb() scenario.Verb {
	return scenario.Verb{
		Name:  "bill",
		Usage: "bill PARTITION",
		Doc:   "Lets the biller work through a partition. Prints how many orders it has billed.",
		Parse: func(words []string) (scenario.Action, error) {
			if len(words) != 1 {
				return nil, errors.New("bill wants a partition")
			}
			return func(ctx context.Context, p *scenario.Play) (string, error) {
				topic, number, err := p.Partition(ctx, words[0]) // T1-0 by its real name
				if err != nil {
					return "", err
				}
				n, err := b.work(ctx, application.Partition{Topic: topic, Number: number})
				return fmt.Sprintf("%d billed", n), err
			}, nil
		},
	}
}

// A text has a command of the test's own between those of the language.
func ExampleVerb() {
	cluster, err := simbroker.Start(simbroker.Config{Clock: simbroker.Simulated(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), Seed: 1})
	if err != nil {
		panic(err)
	}
	defer cluster.Close()
	stage := simulated.New(cluster)
	app := &biller{cluster: stage, billed: map[string]bool{}}

	story, err := scenario.Parse("billing", `# Orders are billed when they are committed, and once.
brokers 1
topic T1
topic T2

insert S1 5
send-at-least-once S1 T1-0 batch=2 lose-answer=2
bill T1-0 => 5 billed
insert S1 3
outbox S1 T2-0
fault hold_markers T1 => F1
transform X1 G1 T2-0 T1-0
bill T1-0 => 0 billed
heal F1
await bill T1-0 => 3 billed
`, app.verb())
	if err != nil {
		panic(err)
	}
	result, err := story.Run(context.Background(), stage, scenario.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Print(result.Transcript())
	// Output:
	// insert S1 5
	// send-at-least-once S1 T1-0 batch=2 lose-answer=2 => 5 written
	// bill T1-0 => 5 billed
	// insert S1 3
	// outbox S1 T2-0 => 8 written
	// fault hold_markers T1 => F1
	// transform X1 G1 T2-0 T1-0 => 8 written, 1 committed
	// bill T1-0 => 0 billed
	// heal F1
	// bill T1-0 => 3 billed
}
