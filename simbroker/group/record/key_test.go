package record

import (
	"bytes"
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Rule H1: the records are Kafka's, byte for byte; kmsg is the second opinion.
func TestH1KeyBytes(t *testing.T) {
	tp := kafka.TopicPartition{Topic: "orders", Partition: 3}
	offset := kmsg.NewOffsetCommitKey()
	offset.Version, offset.Group, offset.Topic, offset.Partition = 1, "payments-é", "orders", 3
	if got := OffsetKey("payments-é", tp); !bytes.Equal(got, offset.AppendTo(nil)) {
		t.Errorf("offset key %x, want %x", got, offset.AppendTo(nil))
	}
	group := kmsg.NewGroupMetadataKey()
	group.Version, group.Group = 2, "payments-é"
	if got := ClassicKey("payments-é"); !bytes.Equal(got, group.AppendTo(nil)) {
		t.Errorf("group key %x, want %x", got, group.AppendTo(nil))
	}
	for _, version := range []int16{0, 1} { // both are in use
		offset.Version = version
		if k, known, err := DecodeKey(offset.AppendTo(nil)); err != nil || !known || k != (Key{"payments-é", tp}) {
			t.Errorf("offset key v%d: %+v, %t, %v", version, k, known, err)
		}
	}
	if k, known, err := DecodeKey(ClassicKey("g")); err != nil || !known || k != (Key{Group: "g"}) {
		t.Errorf("group key: %+v, %t, %v", k, known, err)
	}
	for _, other := range []byte{3, 4, 5, 6, 7, 8, 16} { // the keys of groups of the newer protocols
		if _, known, err := DecodeKey([]byte{0, other, 0, 1, 'g'}); known || err != nil {
			t.Errorf("key of type %d: %t, %v", other, known, err)
		}
	}
	if _, _, err := DecodeKey([]byte{0, 1, 0, 9, 'g'}); err == nil {
		t.Error("a truncated key was accepted")
	}
}
