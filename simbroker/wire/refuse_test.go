package wire

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Every API can refuse in every version, and its client can read the refusal.
func TestEveryRefusalCanBeRead(t *testing.T) {
	requestFrames(func(name string, _ []byte, req kmsg.Request) {
		if produce, ok := req.(*kmsg.ProduceRequest); ok {
			produce.Acks = -1
		}
		resp := handlers[req.Key()].refuse(req, 42)
		resp.SetVersion(req.GetVersion())
		if err := req.ResponseKind().ReadFrom(resp.AppendTo(nil)); err != nil {
			t.Errorf("%s v%d: %v", name, req.GetVersion(), err)
		}
	})
}

// A producer with acks=0 does not read responses, not even refusals.
func TestRefusedProduceWithoutAcksIsSilent(t *testing.T) {
	req := kmsg.NewPtrProduceRequest()
	req.Acks = 0
	if resp := refuseProduce(req, 42); resp != nil {
		t.Errorf("answered %v", resp)
	}
}
