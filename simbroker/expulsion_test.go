package simbroker_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// A member whose session is over, and whose expulsion could not be written, is not
// expelled any more once it has joined again: the next attempt is its session timer,
// which joining sets anew.
func TestExpulsionOfAMemberThatHasJoinedAgain(t *testing.T) {
	s := simulated(t, map[string]string{
		"offsets.topic.num.partitions": "1", "min.insync.replicas": "2", "group.consumer.min.session.timeout.ms": "1000",
		"group.consumer.session.timeout.ms": "8000", "group.consumer.min.heartbeat.interval.ms": "1000", "group.consumer.heartbeat.interval.ms": "2000",
	})
	s.createTopic("t", 1, 2)
	beat := func(epoch int32) *kmsg.ConsumerGroupHeartbeatRequest {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Group, req.MemberID, req.MemberEpoch = "g", "m", epoch
		if epoch == 0 {
			req.RebalanceTimeoutMillis, req.SubscribedTopicNames, req.Topics = 60_000, []string{"t"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		}
		req.SetVersion(1)
		return req
	}
	send := func(broker kafka.BrokerID, epoch int32) *kmsg.ConsumerGroupHeartbeatResponse {
		t.Helper()
		call, err := s.Send(simbroker.Client{ID: "c"}, broker, beat(epoch))
		s.must(err)
		s.RunUntil(call.Done, 10*time.Second)
		resp, err := call.Answer()
		s.must(err)
		return resp.(*kmsg.ConsumerGroupHeartbeatResponse)
	}
	var coordinator kafka.BrokerID
	var joined *kmsg.ConsumerGroupHeartbeatResponse
	for tries := 0; joined == nil || joined.ErrorCode != 0; tries++ {
		if tries == 50 {
			t.Fatalf("no coordinator lets the member join: %+v", joined)
		}
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.CoordinatorKeys = []string{"g"}
		s.Advance(100 * time.Millisecond)
		if c := ask[*kmsg.FindCoordinatorResponse](s, 1, find, 6).Coordinators[0]; c.ErrorCode == 0 {
			coordinator = kafka.BrokerID(c.NodeID)
			joined = send(coordinator, 0)
		}
	}
	s.Advance(7900 * time.Millisecond)
	s.must(s.Pause(coordinator%3 + 1)) // in sync for seven seconds or more, and nothing is written in five
	s.Advance(5300 * time.Millisecond) // the expulsion has failed, and is tried again in a moment
	again := send(coordinator, 0)
	s.none(again.ErrorCode)
	if resp := send(coordinator, again.MemberEpoch); resp.ErrorCode != 0 {
		t.Errorf("the member, which has joined again: %v", kerr.ErrorForCode(resp.ErrorCode))
	}
}
