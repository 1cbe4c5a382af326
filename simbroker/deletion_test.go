package simbroker_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// deletion asks for a topic to be deleted, by its id.
func deletion(id [16]byte) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = 2000
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.TopicID = id
	req.Topics = append(req.Topics, t)
	req.SetVersion(6)
	return req
}

// topic is a topic's id by a broker's metadata; false if it has none of that name.
func (s *story) topic(broker kafka.BrokerID, name string) (id [16]byte, ok bool) {
	s.t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = &name
	req.Topics = append(req.Topics, t)
	got := ask[*kmsg.MetadataResponse](s, broker, req, 12).Topics[0]
	return got.TopicID, got.ErrorCode == 0
}

// A broker that stood still with a deletion by topic id forwards it as it is: a topic
// of that name that was created meanwhile has another id, and stays.
func TestDeletionOfATopicThatWasMadeAnew(t *testing.T) {
	s := simulated(t, small)
	s.createTopic("t", 1, 2)
	first, _ := s.topic(3, "t")
	s.must(s.Pause(3))
	late, err := s.Send(simbroker.Client{ID: "late"}, 3, deletion(first))
	s.must(err)
	s.none(ask[*kmsg.DeleteTopicsResponse](s, 1, deletion(first), 6).Topics[0].ErrorCode)
	s.createTopic("t", 1, 2)
	second, _ := s.topic(1, "t")
	s.must(s.Resume(3))
	s.RunUntil(late.Done, 10*time.Second)
	resp, err := late.Answer()
	s.must(err)
	const unknownTopicID = 100
	if got := resp.(*kmsg.DeleteTopicsResponse).Topics[0]; got.ErrorCode != unknownTopicID || got.Topic != nil || got.TopicID != first {
		t.Errorf("the late deletion: error %d, topic %v, id %x", got.ErrorCode, got.Topic, got.TopicID)
	}
	s.Advance(time.Second)
	if id, ok := s.topic(1, "t"); !ok || id != second {
		t.Errorf("the topic is there: %v, with id %x, want %x", ok, id, second)
	}
}
