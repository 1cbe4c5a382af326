package group

import (
	"bytes"
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestH1CommitBytes(t *testing.T) {
	id := kafka.TopicID{1, 2, 3, 15: 9}
	tests := []struct {
		name string
		c    commit
		want int16
	}{
		{"plain", commit{offset: 5, leaderEpoch: 2, metadata: "m", at: 1000, expires: noTime, topicID: id}, 4},
		{"of a transaction", commit{offset: 1 << 40, leaderEpoch: noLeaderEpoch, at: 1000, expires: noTime}, 4},
		{"with a retention of its own", commit{offset: 5, leaderEpoch: noLeaderEpoch, metadata: "m", at: 1000, expires: 2000}, 1},
	}
	for _, test := range tests {
		want := commitValue(test.c, test.want)
		got := encodeCommit(test.c)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: value %x, want %x", test.name, got, want)
		}
		if c, known, err := decodeCommit(got); err != nil || !known || c != test.c {
			t.Errorf("%s: decoded %+v, %t, %v, want %+v", test.name, c, known, err, test.c)
		}
	}
}

func commitValue(c commit, version int16) []byte {
	v := kmsg.NewOffsetCommitValue()
	v.Version, v.Offset, v.LeaderEpoch, v.Metadata = version, int64(c.offset), int32(c.leaderEpoch), c.metadata
	v.CommitTimestamp, v.ExpireTimestamp, v.TopicID = c.at, c.expires, c.topicID
	return v.AppendTo(nil)
}

// Logs of older brokers have other versions; newer ones are skipped.
func TestH1OtherCommitVersions(t *testing.T) {
	for version := range int16(5) {
		want := commit{offset: 5, leaderEpoch: noLeaderEpoch, metadata: "m", at: 1000, expires: noTime}
		if version == 1 {
			want.expires = 2000
		}
		if version >= 3 {
			want.leaderEpoch = 2
		}
		value := commitValue(commit{offset: 5, leaderEpoch: 2, metadata: "m", at: 1000, expires: 2000}, version)
		if c, known, err := decodeCommit(value); err != nil || !known || c != want {
			t.Errorf("version %d: %+v, %t, %v, want %+v", version, c, known, err, want)
		}
		for n := 2; n < len(value); n++ {
			if _, _, err := decodeCommit(value[:n]); err == nil {
				t.Errorf("version %d cut to %d of %d bytes was accepted", version, n, len(value))
			}
		}
	}
	if _, known, err := decodeCommit([]byte{0, 5}); known || err != nil {
		t.Errorf("version 5: %t, %v", known, err)
	}
}
