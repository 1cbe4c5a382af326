package group

import "fmt"

// group is a group of any kind, as far as the coordinator treats them alike.
type group interface {
	fmt.Stringer
	kind() Kind
	// listing is how ListGroups shows the group.
	listing() Listing
	// validateCommit says whether offsets may be committed, and for which
	// partitions: a nil check allows all.
	validateCommit(a commitAttempt) (commitCheck, error)
	// validateFetch says whether a client that names a member may read offsets.
	validateFetch(memberID *string, epoch int32) error
	// validateOffsetDelete says whether the group is of a kind, and in a state,
	// in which single offsets may be deleted.
	validateOffsetDelete() error
	// subscribes says whether members consume a topic.
	subscribes(topic string) bool
	// expiresFrom is when the retention of a commit for a topic begins, in
	// milliseconds; false while it may not expire.
	expiresFrom(topic string, stored *commit) (int64, bool)
	// tombstones end the group in the log, its offsets aside.
	tombstones() []Record
}

// modern is a group of one of the newer protocols. It changes by its records
// alone.
type modern interface {
	group
	// replay takes one record into the group, at a moment in milliseconds. What
	// cannot be read changes nothing.
	replay(r Record, now int64)
}

// mortal is a group with members that wait for answers.
type mortal interface {
	// kill ends the group in memory: nothing that waits or runs for it goes on.
	kill(now int64)
}

// commitAttempt is what a commit says of who commits (rules H4, H5).
type commitAttempt struct {
	memberID      string
	instanceID    *string
	epoch         int32 // the classic generation or the member epoch
	transactional bool
	// knowsEpochs is set for OffsetCommit from v9 on, which members of the
	// consumer protocol must use.
	knowsEpochs bool
}

// anonymous says whether the attempt names no member at all.
func (a commitAttempt) anonymous() bool {
	return a.epoch < 0 && a.memberID == "" && a.instanceID == nil
}

// commitCheck says whether one partition may be committed. Its error refuses
// the whole request.
type commitCheck func(tp idPartition) error

// allows says whether all partitions of a commit pass.
func (check commitCheck) allows(topics []CommitTopic) error {
	if check == nil {
		return nil
	}
	for _, t := range topics {
		for _, p := range t.Partitions {
			if err := check(idPartition{t.TopicID, p.Partition}); err != nil {
				return err
			}
		}
	}
	return nil
}
