package txn

import (
	"errors"
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Rule G0: ids come in blocks of 1000; a broker without one answers 14.
func TestG0ProducerIDBlocks(t *testing.T) {
	cl := newCluster(t) // it has seen 14 and then a block
	for want := range kafka.ProducerID(2500) {
		p, err := cl.init("", 0)
		if err != nil || p != (kafka.Producer{ID: want}) {
			t.Fatalf("producer %d: %s, %v", want, p, err)
		}
		cl.pass(latency)
	}
	if cl.blocks != 3 {
		t.Errorf("%d blocks for 2500 ids", cl.blocks)
	}
}

func TestG0BlockThatDoesNotCome(t *testing.T) {
	cl := newCluster(t)
	for range 899 {
		cl.init("", 0)
	}
	cl.blockErr = errors.New("no controller")
	for range 101 {
		if _, err := cl.init("", 0); err != nil {
			t.Fatal(err)
		}
	}
	cl.pass(latency)
	_, err := cl.init("", 0)
	expectErr(t, "without a block", err, kafka.ErrCoordinatorLoadInProgress)
	asked := cl.blocks
	_, err = cl.init("X1", 1)
	expectErr(t, "a new transactional id without a block", err, kafka.ErrCoordinatorLoadInProgress)
	cl.expect("X1", "TRANSACTIONAL_ID_NOT_FOUND")
	if cl.blocks != asked {
		t.Errorf("asked again within the back-off")
	}
	cl.blockErr = nil
	cl.pass(idRetryBackoff)
	_, err = cl.init("", 0)
	expectErr(t, "after the back-off", err, kafka.ErrCoordinatorLoadInProgress)
	cl.pass(latency)
	if p, err := cl.init("", 0); err != nil || p.ID != 1000 {
		t.Errorf("with the block: %s, %v", p, err)
	}
}
