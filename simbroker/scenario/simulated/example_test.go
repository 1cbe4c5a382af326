package simulated_test

import (
	"context"
	"fmt"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/simulated"
)

// A text is played in simulated time, and what differs from it is told.
func ExampleNew() {
	story, err := scenario.Parse("open", `# An open transaction holds readers back until it times out.
topic T1

InitProducerId X1 timeout=60s => ok (P1,0)
T(P1,0,0,3) T1-0 => ok @0
T1-0 LEO/HWM/LSO => 3/3/0
wait 2m
T1-0 LEO/HWM/LSO => 4/4/4
consume T1-0 from 0 => reads 0-2, position 4
`)
	if err != nil {
		panic(err)
	}
	cluster, err := simbroker.Start(simbroker.Config{
		Brokers: story.Brokers, Clock: simbroker.Simulated(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), Seed: 1,
	})
	if err != nil {
		panic(err)
	}
	defer cluster.Close()
	result, err := story.Run(context.Background(), simulated.New(cluster), scenario.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Err())
	// Output:
	// open:9: consume T1-0 from 0
	//   want reads 0-2, position 4
	//   got  reads nothing, position 4
}
