package streams

import (
	"bytes"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/group/record"
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

func epochRecord(g *Group, epoch int32, hash uint64, validated int32, standbys string) group.Record {
	w := record.NewValue()
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
		writePairs(&c, []group.KeyValue{{Key: standbysConfig, Value: standbys}})
		tags = append(tags, message.Tag{Number: tagConfigs, Value: c.B})
	}
	w.Tags(tags...)
	return group.Record{Key: record.GroupKey(record.StreamsGroup, g.id), Value: w.B}
}

func writePairs(w *message.Writer, pairs []group.KeyValue) {
	w.Length(len(pairs))
	for _, p := range pairs {
		w.String(p.Key)
		w.String(p.Value)
		w.Tags()
	}
}

func readPairs(r *message.Reader) []group.KeyValue {
	var pairs []group.KeyValue
	for range r.Length() {
		pairs = append(pairs, group.KeyValue{Key: r.String(), Value: r.String()})
		r.Tags(nil)
	}
	return pairs
}

func memberRecord(groupID string, m *member) group.Record {
	return group.Record{Key: record.MemberKey(record.StreamsMember, groupID, m.id), Value: encodeMember(m)}
}

func encodeMember(m *member) []byte {
	w := record.NewValue()
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

func readMember(r *message.Reader, m *member) {
	r.NullableString()
	m.rackID, m.clientID, m.clientHost = r.NullableString(), r.String(), r.String()
	m.rebalanceTimeout = time.Duration(r.Int32()) * time.Millisecond
	m.topologyEpoch, m.processID = r.Int32(), r.String()
	m.endpoint = nil
	if r.Int8() == 1 {
		m.endpoint = &group.Endpoint{Host: r.String(), Port: uint16(r.Int16())}
		r.Tags(nil)
	}
	m.tags = readPairs(r)
}

func targetEpochRecord(groupID string, epoch int32, at int64) group.Record {
	return group.Record{Key: record.GroupKey(record.StreamsTargetEpoch, groupID), Value: record.TargetEpoch(epoch, at)}
}

func targetRecord(groupID, member string, target map[task]bool) group.Record {
	w := record.NewValue()
	writeTasks(&w, sortedTasks(only(target, false)), nil)
	writeTasks(&w, sortedTasks(only(target, true)), nil)
	w.Length(0)
	w.Tags()
	return group.Record{Key: record.MemberKey(record.StreamsTarget, groupID, member), Value: w.B}
}

func currentRecord(groupID string, m *member) group.Record {
	return group.Record{Key: record.MemberKey(record.StreamsCurrent, groupID, m.id), Value: encodeCurrent(m)}
}

func encodeCurrent(m *member) []byte {
	w := record.NewValue()
	w.Int32(m.Epoch)
	w.Int32(m.Previous)
	w.Int8(int8(m.State))
	for _, tasks := range []map[task]int32{m.Assigned, m.Revoking} {
		writeTasks(&w, sortedTasks(only(tasks, false)), tasks)
		writeTasks(&w, sortedTasks(only(tasks, true)), nil)
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
			e.Int32(epochs[task{s, n, false}])
		}
		w.Tags(message.Tag{Number: record.TagEpochs, Value: e.B})
	}
}

// readTasks reads active tasks, standbys and warm-ups, of which there are none; a
// task without an epoch of its own was assigned at the member's.
func readTasks(r *message.Reader, memberEpoch int32) map[task]int32 {
	tasks := make(map[task]int32)
	readRole(r, memberEpoch, false, tasks)
	readRole(r, memberEpoch, true, tasks)
	readRole(r, memberEpoch, false, make(map[task]int32))
	return tasks
}

// readRole reads into tasks what writeTasks writes.
func readRole(r *message.Reader, memberEpoch int32, standby bool, tasks map[task]int32) {
	for range r.Length() {
		subtopology := r.String()
		partitions := r.Int32s()
		var epochs []int32
		r.Tags(func(number int, v message.Reader) {
			if number == record.TagEpochs {
				v.Flexible = true
				epochs = v.Int32s()
			}
		})
		for i, n := range partitions {
			t := task{subtopology, n, standby}
			if tasks[t] = max(memberEpoch, 0); len(epochs) == len(partitions) {
				tasks[t] = epochs[i]
			}
		}
	}
}

func topologyRecord(groupID string, t *group.Topology) group.Record {
	return group.Record{Key: record.GroupKey(record.StreamsTopology, groupID), Value: encodeTopology(t)}
}

func encodeTopology(t *group.Topology) []byte {
	w := record.NewValue()
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

func writeInternalTopics(w *message.Writer, topics []group.InternalTopic) {
	w.Length(len(topics))
	for _, t := range topics {
		w.String(t.Name)
		w.Int32(t.Partitions)
		w.Int16(t.ReplicationFactor)
		writePairs(w, t.Configs)
		w.Tags()
	}
}

func readInternalTopics(r *message.Reader) []group.InternalTopic {
	var topics []group.InternalTopic
	for range r.Length() {
		t := group.InternalTopic{Name: r.String(), Partitions: r.Int32(), ReplicationFactor: r.Int16()}
		t.Configs = readPairs(r)
		r.Tags(nil)
		topics = append(topics, t)
	}
	return topics
}

func readTopology(r *message.Reader) *group.Topology {
	t := &group.Topology{Epoch: r.Int32()}
	for range r.Length() {
		s := group.Subtopology{ID: r.String(), SourceTopics: r.Strings(), SourceRegexes: r.Strings()}
		s.Changelogs = readInternalTopics(r)
		s.RepartitionSinks = r.Strings()
		s.RepartitionSources = readInternalTopics(r)
		for range r.Length() {
			s.CopartitionGroups = append(s.CopartitionGroups, group.CopartitionGroup{SourceTopics: readPlaces(r), SourceRegexes: readPlaces(r), RepartitionSources: readPlaces(r)})
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

// Replay takes one record into the group. What cannot be read changes nothing.
func (g *Group) Replay(entry group.Record, _ int64) {
	k, r, ok := record.Read(entry)
	if !ok {
		return
	}
	if entry.Value == nil {
		g.replayTombstone(k)
		return
	}
	switch k.Kind {
	case record.StreamsGroup:
		g.replayEpoch(&r)
	case record.StreamsTargetEpoch:
		g.targetEpoch, g.targetAt = record.ReadTargetEpoch(&r)
	case record.StreamsTarget:
		g.target[k.Member] = assignment.SetOfKeys(readTasks(&r, 0))
	case record.StreamsTopology:
		g.topology = readTopology(&r)
	case record.StreamsMember:
		g.replaceMember(k.Member, func(m *member) { readMember(&r, m) })
	case record.StreamsCurrent:
		g.replaceMember(k.Member, func(m *member) { readCurrent(&r, m) })
	}
}

func readCurrent(r *message.Reader, m *member) {
	m.Epoch, m.Previous, m.State = r.Int32(), r.Int32(), assignment.State(r.Int8())
	if m.State < assignment.Stable || m.State > assignment.Unreleased {
		m.State = assignment.Unknown
	}
	m.Assigned = readTasks(r, m.Epoch)
	m.Revoking = readTasks(r, m.Epoch)
}

func (g *Group) replayEpoch(r *message.Reader) {
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
func (g *Group) replaceMember(id string, lay func(*member)) {
	m := newMember(id)
	if old := g.members[id]; old != nil {
		*m = *old
	}
	lay(m)
	g.members[id] = m
}

func (g *Group) replayTombstone(k record.ModernKey) {
	switch k.Kind {
	case record.StreamsTargetEpoch:
		g.targetEpoch, g.targetAt = -1, 0
	case record.StreamsTarget:
		delete(g.target, k.Member)
	case record.StreamsMember:
		delete(g.members, k.Member)
	case record.StreamsTopology:
		g.topology = nil
	}
}

// Tombstones end the group.
func (g *Group) Tombstones() []group.Record {
	var records []group.Record
	for _, kind := range []int16{record.StreamsCurrent, record.StreamsTarget, record.StreamsTargetEpoch, record.StreamsMember, record.StreamsTopology, record.StreamsGroup} {
		if !record.NamesMember(kind) {
			records = append(records, group.Record{Key: record.GroupKey(kind, g.id)})
			continue
		}
		for _, m := range g.sorted() {
			records = append(records, group.Record{Key: record.MemberKey(kind, g.id, m.id)})
		}
	}
	return records
}

func (m *member) sameMetadata(other *member) bool {
	return bytes.Equal(encodeMember(m), encodeMember(other))
}

func (m *member) sameAssignment(other *member) bool {
	return bytes.Equal(encodeCurrent(m), encodeCurrent(other))
}
