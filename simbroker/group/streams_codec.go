package group

import (
	"bytes"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/message"
)

// The records of streams groups (KIP-1071), in the encoding of package message,
// as those of the consumer protocol.
//
//	group        17  group string
//	                 epoch i32 │ metadata hash i64 │ tag 0 validated topology epoch i32
//	                 │ tag 1 assignment configs [key string │ value string]
//	member       19  group string │ member string
//	                 instance id or null │ rack or null │ client id │ client host
//	                 │ rebalance timeout i32 │ topology epoch i32 │ process id
//	                 │ endpoint i8: -1, or 1 │ host │ port u16 │ [key string │ value string]
//	target epoch 20  group string
//	                 epoch i32 │ tag 0 time i64
//	target       21  group string │ member string
//	                 active, standby, warm-up [subtopology string │ [partition i32]]
//	current      22  group string │ member string
//	                 epoch i32 │ previous epoch i32 │ state i8 │ active, standby, warm-up
//	                 │ the same to be revoked, each as above with tag 0 [epoch i32]
//	topology     23  group string
//	                 epoch i32 │ [subtopology]

const (
	tagValidated = 0 // of a streams group
	tagConfigs   = 1

	// standbysConfig is the assignment configuration that a group keeps.
	standbysConfig = "num.standby.replicas"
)

func streamsEpochRecord(g *streams, epoch int32, hash uint64, validated int32, standbys string) Record {
	w := newValue()
	w.Int32(epoch)
	w.Int64(int64(hash))
	var tags []message.Tag
	if validated != -1 {
		v := message.Writer{}
		v.Int32(validated)
		tags = append(tags, message.Tag{Number: tagValidated, Value: v.B})
	}
	if standbys != "" {
		c := message.Writer{Flexible: true}
		writePairs(&c, []KeyValue{{standbysConfig, standbys}})
		tags = append(tags, message.Tag{Number: tagConfigs, Value: c.B})
	}
	w.Tags(tags...)
	return Record{Key: encodeKindKey(keyStreamsGroup, g.id), Value: w.B}
}

func writePairs(w *message.Writer, pairs []KeyValue) {
	w.Length(len(pairs))
	for _, p := range pairs {
		w.String(p.Key)
		w.String(p.Value)
		w.Tags()
	}
}

func readPairs(r *message.Reader) []KeyValue {
	var pairs []KeyValue
	for range r.Length() {
		pairs = append(pairs, KeyValue{Key: r.String(), Value: r.String()})
		r.Tags(nil)
	}
	return pairs
}

func streamsMemberRecord(groupID string, m *streamsMember) Record {
	return Record{Key: encodeMemberKey(keyStreamsMember, groupID, m.id), Value: encodeStreamsMember(m)}
}

func encodeStreamsMember(m *streamsMember) []byte {
	w := newValue()
	w.NullableString(nil) // static members are not supported yet
	w.NullableString(m.rackID)
	w.String(m.clientID)
	w.String(m.clientHost)
	w.Int32(int32(m.rebalanceTimeout / time.Millisecond))
	w.Int32(m.topologyEpoch)
	w.String(m.processID)
	if m.endpoint == nil {
		w.Int8(-1)
	} else {
		w.Int8(1)
		w.String(m.endpoint.Host)
		w.Int16(int16(m.endpoint.Port))
		w.Tags()
	}
	writePairs(&w, m.tags)
	w.Tags()
	return w.B
}

func readStreamsMember(r *message.Reader, m *streamsMember) {
	r.NullableString()
	m.rackID, m.clientID, m.clientHost = r.NullableString(), r.String(), r.String()
	m.rebalanceTimeout = time.Duration(r.Int32()) * time.Millisecond
	m.topologyEpoch, m.processID = r.Int32(), r.String()
	m.endpoint = nil
	if r.Int8() == 1 {
		m.endpoint = &Endpoint{Host: r.String(), Port: uint16(r.Int16())}
		r.Tags(nil)
	}
	m.tags = readPairs(r)
}

func streamsTargetEpochRecord(groupID string, epoch int32, at int64) Record {
	return Record{Key: encodeKindKey(keyStreamsTargetEpoch, groupID), Value: encodeTargetEpoch(epoch, at)}
}

func streamsTargetRecord(groupID, member string, target map[task]bool) Record {
	w := newValue()
	writeTasks(&w, sortedTasks(target), nil)
	w.Length(0)
	w.Length(0)
	w.Tags()
	return Record{Key: encodeMemberKey(keyStreamsTarget, groupID, member), Value: w.B}
}

func streamsCurrentRecord(groupID string, m *streamsMember) Record {
	return Record{Key: encodeMemberKey(keyStreamsCurrent, groupID, m.id), Value: encodeStreamsCurrent(m)}
}

func encodeStreamsCurrent(m *streamsMember) []byte {
	w := newValue()
	w.Int32(m.epoch)
	w.Int32(m.previous)
	w.Int8(int8(m.state))
	for _, tasks := range []map[task]int32{m.assigned, m.revoking} {
		writeTasks(&w, sortedTasks(tasks), tasks)
		w.Length(0)
		w.Length(0)
	}
	w.Tags()
	return w.B
}

// writeTasks appends sorted tasks by subtopology, with their assignment epochs
// if epochs is not nil.
func writeTasks(w *message.Writer, sorted []task, epochs map[task]int32) {
	var subtopologies []string
	numbers := make(map[string][]int32)
	for _, t := range sorted {
		if len(numbers[t.subtopology]) == 0 {
			subtopologies = append(subtopologies, t.subtopology)
		}
		numbers[t.subtopology] = append(numbers[t.subtopology], t.partition)
	}
	w.Length(len(subtopologies))
	for _, s := range subtopologies {
		w.String(s)
		w.Int32s(numbers[s])
		if epochs == nil {
			w.Tags()
			continue
		}
		e := message.Writer{Flexible: true}
		e.Length(len(numbers[s]))
		for _, n := range numbers[s] {
			e.Int32(epochs[task{s, n}])
		}
		w.Tags(message.Tag{Number: tagEpochs, Value: e.B})
	}
}

// readTasks reads what writeTasks writes; a task without an epoch of its own was
// assigned at the member's.
func readTasks(r *message.Reader, memberEpoch int32) map[task]int32 {
	tasks := make(map[task]int32)
	for range r.Length() {
		subtopology := r.String()
		partitions := r.Int32s()
		var epochs []int32
		r.Tags(func(number int, v message.Reader) {
			if number == tagEpochs {
				v.Flexible = true
				epochs = v.Int32s()
			}
		})
		for i, n := range partitions {
			tasks[task{subtopology, n}] = max(memberEpoch, 0)
			if len(epochs) == len(partitions) {
				tasks[task{subtopology, n}] = epochs[i]
			}
		}
	}
	return tasks
}

func streamsTopologyRecord(groupID string, t *Topology) Record {
	return Record{Key: encodeKindKey(keyStreamsTopology, groupID), Value: encodeTopology(t)}
}

func encodeTopology(t *Topology) []byte {
	w := newValue()
	w.Int32(t.Epoch)
	w.Length(len(t.Subtopologies))
	for _, s := range t.Subtopologies {
		w.String(s.ID)
		w.Strings(s.SourceTopics)
		w.Strings(s.SourceRegexes)
		writeInternalTopics(&w, s.Changelogs)
		w.Strings(s.RepartitionSinks)
		writeInternalTopics(&w, s.RepartitionSources)
		w.Length(len(s.CopartitionGroups))
		for _, g := range s.CopartitionGroups {
			for _, places := range [][]int16{g.SourceTopics, g.SourceRegexes, g.RepartitionSources} {
				w.Length(len(places))
				for _, p := range places {
					w.Int16(p)
				}
			}
			w.Tags()
		}
		w.Tags()
	}
	w.Tags()
	return w.B
}

func writeInternalTopics(w *message.Writer, topics []InternalTopic) {
	w.Length(len(topics))
	for _, t := range topics {
		w.String(t.Name)
		w.Int32(t.Partitions)
		w.Int16(t.ReplicationFactor)
		writePairs(w, t.Configs)
		w.Tags()
	}
}

func readInternalTopics(r *message.Reader) []InternalTopic {
	var topics []InternalTopic
	for range r.Length() {
		t := InternalTopic{Name: r.String(), Partitions: r.Int32(), ReplicationFactor: r.Int16()}
		t.Configs = readPairs(r)
		r.Tags(nil)
		topics = append(topics, t)
	}
	return topics
}

func readTopology(r *message.Reader) *Topology {
	t := &Topology{Epoch: r.Int32()}
	for range r.Length() {
		s := Subtopology{ID: r.String(), SourceTopics: r.Strings(), SourceRegexes: r.Strings()}
		s.Changelogs = readInternalTopics(r)
		s.RepartitionSinks = r.Strings()
		s.RepartitionSources = readInternalTopics(r)
		for range r.Length() {
			s.CopartitionGroups = append(s.CopartitionGroups, CopartitionGroup{readPlaces(r), readPlaces(r), readPlaces(r)})
			r.Tags(nil)
		}
		r.Tags(nil)
		t.Subtopologies = append(t.Subtopologies, s)
	}
	return t
}

func readPlaces(r *message.Reader) []int16 {
	var places []int16
	for range r.Length() {
		places = append(places, r.Int16())
	}
	return places
}

// replay implements modern.
func (g *streams) replay(entry Record, _ int64) {
	k, err := decodeModernKey(entry.Key)
	if err != nil {
		return
	}
	if entry.Value == nil {
		g.replayTombstone(k)
		return
	}
	r, known := valueReader(entry.Value)
	if !known {
		return
	}
	switch k.kind {
	case keyStreamsGroup:
		g.replayEpoch(&r)
	case keyStreamsTargetEpoch:
		g.targetEpoch, g.targetAt = readTargetEpoch(&r)
	case keyStreamsTarget:
		g.target[k.member] = setOfKeys(readTasks(&r, 0))
	case keyStreamsTopology:
		g.topology = readTopology(&r)
	case keyStreamsMember:
		g.replaceMember(k.member, func(m *streamsMember) { readStreamsMember(&r, m) })
	case keyStreamsCurrent:
		g.replaceMember(k.member, func(m *streamsMember) { readStreamsCurrent(&r, m) })
	}
}

func readStreamsCurrent(r *message.Reader, m *streamsMember) {
	m.epoch, m.previous, m.state = r.Int32(), r.Int32(), memberState(r.Int8())
	if m.state < memberStable || m.state > memberUnreleased {
		m.state = memberStateOfFuture
	}
	m.assigned = readTasks(r, m.epoch)
	readTasks(r, m.epoch) // standbys
	readTasks(r, m.epoch) // warm-ups
	m.revoking = readTasks(r, m.epoch)
}

func (g *streams) replayEpoch(r *message.Reader) {
	g.epoch, g.metadataHash = r.Int32(), uint64(r.Int64())
	g.validated, g.standbys = -1, ""
	r.Tags(func(number int, v message.Reader) {
		switch number {
		case tagValidated:
			g.validated = v.Int32()
		case tagConfigs:
			v.Flexible = true
			for _, p := range readPairs(&v) {
				if p.Key == standbysConfig {
					g.standbys = p.Value
				}
			}
		}
	})
}

// replaceMember lays a record over a member, which may be new.
func (g *streams) replaceMember(id string, lay func(*streamsMember)) {
	m := newStreamsMember(id)
	if old := g.members[id]; old != nil {
		*m = *old
	}
	lay(m)
	g.members[id] = m
}

func (g *streams) replayTombstone(k modernKey) {
	switch k.kind {
	case keyStreamsTargetEpoch:
		g.targetEpoch, g.targetAt = -1, 0
	case keyStreamsTarget:
		delete(g.target, k.member)
	case keyStreamsMember:
		delete(g.members, k.member)
	case keyStreamsTopology:
		g.topology = nil
	}
}

// tombstones end the group.
func (g *streams) tombstones() []Record {
	var records []Record
	for _, kind := range []int16{keyStreamsCurrent, keyStreamsTarget, keyStreamsTargetEpoch, keyStreamsMember, keyStreamsTopology, keyStreamsGroup} {
		if !namesMember(kind) {
			records = append(records, Record{Key: encodeKindKey(kind, g.id)})
			continue
		}
		for _, m := range g.sorted() {
			records = append(records, Record{Key: encodeMemberKey(kind, g.id, m.id)})
		}
	}
	return records
}

func (m *streamsMember) sameMetadata(other *streamsMember) bool {
	return bytes.Equal(encodeStreamsMember(m), encodeStreamsMember(other))
}

func (m *streamsMember) sameAssignment(other *streamsMember) bool {
	return bytes.Equal(encodeStreamsCurrent(m), encodeStreamsCurrent(other))
}
