package offsets

import (
	"bytes"
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
)

func TestH1CommitBytes(t *testing.T) {
	id := kafka.TopicID{1, 2, 3, 15: 9}
	tests := []struct {
		name string
		c    Commit
		want int16
	}{
		{"plain", Commit{Offset: 5, LeaderEpoch: 2, Metadata: "m", At: 1000, Expires: group.NoTime, TopicID: id}, 4},
		{"of a transaction", Commit{Offset: 1 << 40, LeaderEpoch: NoLeaderEpoch, At: 1000, Expires: group.NoTime}, 4},
		{"with a retention of its own", Commit{Offset: 5, LeaderEpoch: NoLeaderEpoch, Metadata: "m", At: 1000, Expires: 2000}, 1},
	}
	for _, test := range tests {
		want := commitValue(test.c, test.want)
		got := Encode(test.c)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: value %x, want %x", test.name, got, want)
		}
		if c, known, err := Decode(got); err != nil || !known || c != test.c {
			t.Errorf("%s: decoded %+v, %t, %v, want %+v", test.name, c, known, err, test.c)
		}
	}
}

func commitValue(c Commit, version int16) []byte {
	v := kmsg.NewOffsetCommitValue()
	v.Version, v.Offset, v.LeaderEpoch, v.Metadata = version, int64(c.Offset), int32(c.LeaderEpoch), c.Metadata
	v.CommitTimestamp, v.ExpireTimestamp, v.TopicID = c.At, c.Expires, c.TopicID
	return v.AppendTo(nil)
}

// Logs of older brokers have other versions; newer ones are skipped.
func TestH1OtherCommitVersions(t *testing.T) {
	for version := range int16(5) {
		want := Commit{Offset: 5, LeaderEpoch: NoLeaderEpoch, Metadata: "m", At: 1000, Expires: group.NoTime}
		if version == 1 {
			want.Expires = 2000
		}
		if version >= 3 {
			want.LeaderEpoch = 2
		}
		value := commitValue(Commit{Offset: 5, LeaderEpoch: 2, Metadata: "m", At: 1000, Expires: 2000}, version)
		if c, known, err := Decode(value); err != nil || !known || c != want {
			t.Errorf("version %d: %+v, %t, %v, want %+v", version, c, known, err, want)
		}
		for n := 2; n < len(value); n++ {
			if _, _, err := Decode(value[:n]); err == nil {
				t.Errorf("version %d cut to %d of %d bytes was accepted", version, n, len(value))
			}
		}
	}
	if _, known, err := Decode([]byte{0, 5}); known || err != nil {
		t.Errorf("version 5: %t, %v", known, err)
	}
}
