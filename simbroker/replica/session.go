package replica

import (
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// sessions serves the fetches of followers' sessions.
type sessions struct {
	*partitions
	ofFollowers map[kafka.BrokerID]*followerSession
}

// followerSession is what one follower fetches from this leader (KIP-227). Its
// fetches name the partitions in which it has moved, and the leader looks at
// those and at the ones in which something has happened: what a fetch costs does
// not grow with the number of partitions.
type followerSession struct {
	among    *partitions
	follower kafka.BrokerID
	number   uint64
	fetched  acknowledgement
	followed table[followed]
	news     []*followed // of which there may be something to tell, in that order
	spare    []*followed // empty
	outside  []*followed // in whose ISR the follower is not
	moved    []*followed // those of the last fetch
	reading  reading     // the last one

	waiting bool   // a fetch does, for which there may not be enough (rule D7)
	due     bool   // it will be answered in the next event
	ready   func() // that event
	req     FetchRequest
	done    func(FetchResult)
	timer   *clock.Timer
}

// reading reads the partitions of a session with news. The next one uses its arrays,
// that of the answer too: a follower has taken an answer in when it fetches again, and
// after a fetch that it has given up it begins another session.
type reading struct {
	fetch
	got []FetchedPartition
}

// followed is a partition of a session.
type followed struct {
	session *followerSession
	at      FetchPartition
	p       *partition // nil while it is not hosted here

	told      bool // anything; then these
	highest   kafka.Offset
	logStart  kafka.Offset
	hasNews   bool // stands in news
	isOutside bool // stands in outside
}

// fetch answers at once or when there is something to tell.
func (ss *sessions) fetch(req FetchRequest, done func(FetchResult)) {
	s := ss.ofFollowers[req.ReplicaID]
	if req.Session.Full {
		if s != nil {
			s.end()
		}
		s = &followerSession{among: ss.partitions, follower: req.ReplicaID, number: req.Session.Number, followed: table[followed]{}}
		s.ready = func() {
			if s.due {
				s.answer()
			}
		}
		ss.ofFollowers[req.ReplicaID] = s
	}
	if s == nil || s.number != req.Session.Number {
		done(FetchResult{Err: kafka.ErrFetchSessionIDNotFound})
		return
	}
	s.answer() // a fetch before, if there is one
	s.fetched.atMs = ss.nowMs()
	for _, tp := range req.Session.Forget {
		s.forget(tp)
	}
	moved := s.update(req.Partitions)
	result, enough := s.read(req)
	s.acknowledge(moved)
	if enough || req.MaxWait <= 0 {
		done(s.told(result))
		return
	}
	s.waiting, s.req, s.done = true, req, done
	if s.timer == nil {
		s.timer = ss.deps.Clock.After(req.MaxWait, s.answer)
	} else {
		s.timer.Reset(req.MaxWait)
	}
}

// meet has the sessions that know a partition look at it, which is hosted from now
// on.
func (ss *sessions) meet(p *partition) {
	for _, id := range slices.Sorted(maps.Keys(ss.ofFollowers)) {
		if fp := ss.ofFollowers[id].followed.get(p.state.Partition); fp != nil {
			fp.meet(p)
		}
	}
}

// end answers what waits and lets go of all partitions.
func (s *followerSession) end() {
	s.answer()
	for _, of := range s.followed {
		for _, fp := range of {
			if fp != nil {
				fp.left()
			}
		}
	}
}

func (s *followerSession) forget(tp kafka.TopicPartition) {
	fp := s.followed.get(tp)
	if fp == nil {
		return
	}
	s.followed.remove(tp)
	fp.left()
	drop := func(other *followed) bool { return other == fp }
	if fp.hasNews {
		s.news = slices.DeleteFunc(s.news, drop)
	}
	if fp.isOutside {
		s.outside = slices.DeleteFunc(s.outside, drop)
	}
}

// left implements watcher: it takes a partition out of its session's sight.
func (fp *followed) left() {
	if fp.p == nil {
		return
	}
	fp.p.watchers = slices.DeleteFunc(fp.p.watchers, func(other watcher) bool { return other == fp })
	if l := fp.p.leadership; l != nil {
		if f := l.follower(fp.session.follower); f != nil && f.session == &fp.session.fetched {
			f.settle(fp.p.log.LogEndOffset())
			f.session = nil
		}
	}
	fp.p = nil
}

// update takes over where the follower is, and returns those partitions.
func (s *followerSession) update(positions []FetchPartition) []*followed {
	moved := again(s.moved, len(positions))[:0]
	for _, at := range positions {
		fp := s.followed.get(at.Partition)
		if fp == nil {
			fp = &followed{session: s}
			s.followed.set(at.Partition, fp)
		}
		if fp.p == nil {
			fp.meet(s.among.get(at.Partition))
		}
		fp.at = at
		fp.notice()
		moved = append(moved, fp)
	}
	s.moved = moved
	return moved
}

// meet binds the session's partition to the one that is hosted.
func (fp *followed) meet(p *partition) {
	if p != nil {
		fp.p = p
		p.watchers = append(p.watchers, fp)
	}
}

// notice has the session look at the partition when it next answers.
func (fp *followed) notice() {
	if !fp.hasNews {
		fp.hasNews = true
		fp.session.news = append(fp.session.news, fp)
	}
}

// read reads the partitions with news. It also says whether the answer need not
// wait.
func (s *followerSession) read(req FetchRequest) (result FetchResult, enough bool) {
	f := &s.reading
	if len(s.news) > fewPartitions {
		f = &reading{} // not worth keeping
	}
	at, parts := again(f.req.Partitions, len(s.news)), again(f.parts, len(s.news))
	for i, fp := range s.news {
		at[i], parts[i] = fp.at, fp.p
	}
	f.among, f.req, f.parts = s.among, req, parts
	f.req.Partitions = at
	result, enough = f.read(f.got, false)
	f.got = result.Partitions
	for i := range result.Partitions {
		result.Partitions[i].At = at[i]
	}
	return result, enough && len(s.news) > 0
}

// acknowledge takes what the follower has as news to the partitions in which it
// has moved, and to those whose ISR it is to join.
func (s *followerSession) acknowledge(moved []*followed) {
	for _, fp := range moved {
		fp.acknowledge()
	}
	for _, fp := range slices.Clone(s.outside) {
		fp.acknowledge()
	}
	s.outside = slices.DeleteFunc(s.outside, func(fp *followed) bool {
		fp.isOutside = fp.p != nil && fp.p.role == Leader && !slices.Contains(fp.p.state.ISR, s.follower)
		return !fp.isOutside
	})
}

func (fp *followed) acknowledge() {
	f := &fetch{among: fp.session.among, req: FetchRequest{ReplicaID: fp.session.follower, Partitions: []FetchPartition{fp.at}}, parts: []*partition{fp.p}}
	p, err := f.find(0)
	if err != nil {
		return
	}
	end := p.log.LogEndOffset()
	if fp.at.Offset > end || fp.at.Offset < p.log.LogStartOffset() {
		return
	}
	if fp.at.LastFetchedEpoch >= 0 {
		if d, err := diverging(p.log, &fp.at); d != nil || err != nil {
			return
		}
	}
	p.followerFetched(fp.session.follower, fp.at.Offset, fp.at.LogStartOffset, end)
	if follower := p.leadership.follower(fp.session.follower); follower != nil {
		follower.session = &fp.session.fetched
	}
	fp.ledAnew()
}

// ledAnew implements watcher: it notes whether the follower is out of the ISR, and
// has to be looked at with each fetch.
func (fp *followed) ledAnew() {
	s := fp.session
	if !fp.isOutside && fp.p.role == Leader && !slices.Contains(fp.p.state.ISR, s.follower) {
		fp.isOutside = true
		s.outside = append(s.outside, fp)
	}
}

// told cuts an answer down to what the follower does not know, and notes that it
// will. What is left to read stays news.
func (s *followerSession) told(result FetchResult) FetchResult {
	news := s.news
	s.news = s.spare
	told := result.Partitions[:0]
	for i, fp := range news {
		fp.hasNews = false
		got := &result.Partitions[i]
		if got.Err == nil && got.Diverging == nil && got.Records.Size() == 0 && fp.at.Offset < got.LogEndOffset {
			fp.notice() // there was no room
		}
		if got.Err != nil || got.Diverging != nil || got.Records.Size() > 0 || !fp.told || fp.highest != got.HighWatermark || fp.logStart != got.LogStartOffset {
			fp.told, fp.highest, fp.logStart = got.Err == nil, got.HighWatermark, got.LogStartOffset
			told = append(told, *got)
		}
	}
	clear(news)
	s.spare = news[:0]
	result.Partitions = told
	return result
}

// answer answers the waiting fetch, with what there is.
func (s *followerSession) answer() {
	if !s.waiting {
		return
	}
	done := s.done
	s.waiting, s.due, s.done = false, false, nil
	s.timer.Stop()
	result, _ := s.read(s.req)
	done(s.told(result))
}

// changed implements watcher: the session looks at the partition, and its wait ends
// if it has reason to be answered.
func (fp *followed) changed() {
	fp.notice()
	if s := fp.session; s.waiting && !s.due && fp.pressing() {
		s.due = true
		s.among.later(s.ready)
	}
}

// pressing says whether there is something in a partition on which no fetch waits.
func (fp *followed) pressing() bool {
	f := &fetch{among: fp.session.among, req: FetchRequest{ReplicaID: fp.session.follower, MinBytes: 1, Partitions: []FetchPartition{fp.at}}, parts: []*partition{fp.p}}
	return f.enough(0)
}
