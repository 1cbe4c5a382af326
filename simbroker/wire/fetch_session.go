package wire

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Epochs of fetch sessions with a meaning of their own (KIP-227).
const (
	firstFetchEpoch int32 = 0  // a full fetch, which opens a session
	finalFetchEpoch int32 = -1 // a full fetch without one
)

// fetchSessions are the sessions of a broker's clients: what each fetches, so
// that a request names only what has changed since the one before, and an answer
// only what there is to tell. They end with the broker's process.
type fetchSessions struct {
	byID map[int32]*fetchSession
	// last is the id of the last session. It goes on counting when the broker
	// restarts: an id of before is not found then.
	last int32
}

// fetchSession is what one client fetches.
type fetchSession struct {
	id         int32
	epoch      int32 // of the next request
	byTopicID  bool
	used       time.Time
	partitions []*fetchedInSession // in the order in which they are read
	index      map[fetchKey]*fetchedInSession
}

// fetchKey names a partition in a request: by its topic's name or by its id.
type fetchKey struct {
	topic     string
	id        kafka.TopicID
	partition int32
}

// fetchedInSession is where a client is in a partition, and what it knows of it.
type fetchedInSession struct {
	fetchKey
	at                kmsg.FetchRequestTopicPartition
	toldHighWatermark int64
	toldLogStart      int64
	served            bool // there were records of it in the present answer
}

// clear ends all sessions.
func (s *fetchSessions) clear() { s.byID = nil }

// fetchContext is how one request is to be answered: with a session or without,
// all partitions or what is new of them.
type fetchContext struct {
	session     *fetchSession // nil without one
	incremental bool
}

// open finds what a request is about, now: all partitions that it names, or those
// of its session. slots says how many sessions there may be. Errors:
// FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH,
// FETCH_SESSION_TOPIC_ID_ERROR.
func (s *fetchSessions) open(req *kmsg.FetchRequest, now time.Time, slots func() int64) (fetchContext, []kmsg.FetchRequestTopic, error) {
	if req.SessionEpoch == firstFetchEpoch || req.SessionEpoch == finalFetchEpoch {
		delete(s.byID, req.SessionID)
		if req.SessionEpoch == finalFetchEpoch {
			return fetchContext{}, req.Topics, nil
		}
		return fetchContext{session: s.add(req, now, slots())}, req.Topics, nil
	}
	session := s.byID[req.SessionID]
	switch {
	case session == nil:
		return fetchContext{}, nil, kafka.ErrFetchSessionIDNotFound
	case session.epoch != req.SessionEpoch:
		return fetchContext{}, nil, errInvalidFetchSessionEpoch
	case session.byTopicID != (req.Version >= 13):
		return fetchContext{}, nil, kafka.ErrFetchSessionTopicIDError
	}
	session.update(req)
	session.used = now
	if len(session.partitions) == 0 {
		delete(s.byID, session.id)
		return fetchContext{}, req.Topics, nil
	}
	session.epoch = nextFetchEpoch(session.epoch)
	return fetchContext{session, true}, session.topics(), nil
}

// nextFetchEpoch is the epoch after another, which never is the first one again.
func nextFetchEpoch(epoch int32) int32 { return max(1, epoch+1) }

// add opens a session, in place of one that was not used for a while if there are
// too many; nil if there is none to replace.
func (s *fetchSessions) add(req *kmsg.FetchRequest, now time.Time, slots int64) *fetchSession {
	if int64(len(s.byID)) >= slots && !s.evict(now) {
		return nil
	}
	s.last = max(1, s.last+1)
	session := &fetchSession{id: s.last, epoch: nextFetchEpoch(firstFetchEpoch), byTopicID: req.Version >= 13, used: now, index: make(map[fetchKey]*fetchedInSession)}
	session.update(req)
	if s.byID == nil {
		s.byID = make(map[int32]*fetchSession)
	}
	s.byID[session.id] = session
	return session
}

// minEviction is min.incremental.fetch.session.eviction.ms, which Kafka does not
// let anybody set.
const minEviction = 2 * time.Minute

// evict ends the session that was not used for longest, if that is long enough.
func (s *fetchSessions) evict(now time.Time) bool {
	var oldest *fetchSession
	for _, session := range s.byID {
		if oldest == nil || session.used.Before(oldest.used) || session.used.Equal(oldest.used) && session.id < oldest.id {
			oldest = session
		}
	}
	if oldest == nil || now.Sub(oldest.used) <= minEviction {
		return false
	}
	delete(s.byID, oldest.id)
	return true
}

// update takes over what a request says of the session's partitions.
func (s *fetchSession) update(req *kmsg.FetchRequest) {
	for i := range req.Topics {
		t := &req.Topics[i]
		for _, at := range t.Partitions {
			key := fetchKey{t.Topic, t.TopicID, at.Partition}
			p := s.index[key]
			if p == nil {
				p = &fetchedInSession{fetchKey: key, toldHighWatermark: -1, toldLogStart: -1}
				s.index[key] = p
				s.partitions = append(s.partitions, p)
			}
			p.at = at
		}
	}
	for _, t := range req.ForgottenTopics {
		for _, number := range t.Partitions {
			delete(s.index, fetchKey{t.Topic, t.TopicID, number})
		}
	}
	if len(req.ForgottenTopics) > 0 {
		s.partitions = slices.DeleteFunc(s.partitions, func(p *fetchedInSession) bool { return s.index[p.fetchKey] != p })
	}
}

// topics are all partitions of a session as a request would name them, in the
// session's order.
func (s *fetchSession) topics() []kmsg.FetchRequestTopic {
	var topics []kmsg.FetchRequestTopic
	for _, p := range s.partitions {
		if n := len(topics); n == 0 || topics[n-1].Topic != p.topic || topics[n-1].TopicID != p.id {
			topics = append(topics, kmsg.FetchRequestTopic{Topic: p.topic, TopicID: p.id})
		}
		last := &topics[len(topics)-1]
		last.Partitions = append(last.Partitions, p.at)
	}
	return topics
}

// finish puts the session into an answer, and takes out of it what the client
// knows already. Partitions of which there were records come last in the next
// answer, so that all get their turn.
func (f fetchContext) finish(resp *kmsg.FetchResponse) {
	s := f.session
	if s == nil {
		return
	}
	resp.SessionID = s.id
	topics := resp.Topics[:0]
	for _, t := range resp.Topics {
		told := t.Partitions[:0]
		for _, p := range t.Partitions {
			known := s.index[fetchKey{t.Topic, t.TopicID, p.Partition}]
			if news := known.tell(&p); news || !f.incremental {
				told = append(told, p)
			}
			if known != nil {
				known.served = len(p.RecordBatches) > 0
			}
		}
		if t.Partitions = told; len(told) > 0 {
			topics = append(topics, t)
		}
	}
	resp.Topics = topics
	if f.incremental {
		slices.SortStableFunc(s.partitions, func(a, b *fetchedInSession) int { return a.turn() - b.turn() })
	}
}

func (p *fetchedInSession) turn() int {
	if p.served {
		return 1
	}
	return 0
}

// tell says whether there is anything in an answer that the client does not know,
// and that it does from now on.
func (p *fetchedInSession) tell(answer *kmsg.FetchResponseTopicPartition) (news bool) {
	if p == nil {
		return true // forgotten meanwhile
	}
	news = len(answer.RecordBatches) > 0 || answer.ErrorCode != 0 || answer.DivergingEpoch.EndOffset >= 0 || answer.PreferredReadReplica >= 0 ||
		answer.HighWatermark != p.toldHighWatermark || answer.LogStartOffset != p.toldLogStart
	p.toldHighWatermark, p.toldLogStart = answer.HighWatermark, answer.LogStartOffset
	if answer.ErrorCode != 0 {
		p.toldHighWatermark = -1 // whatever it is once that is over
	}
	return news
}
