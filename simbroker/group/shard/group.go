package shard

import (
	"fmt"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/group/offsets"
)

// Group is a group of any kind, as far as the coordinator treats them alike.
type Group interface {
	fmt.Stringer
	Kind() group.Kind
	// Listing is how ListGroups shows the group.
	Listing() group.Listing
	// ValidateCommit says whether offsets may be committed, and for which
	// partitions: a nil check allows all.
	ValidateCommit(a CommitAttempt) (CommitCheck, error)
	// ValidateFetch says whether a client that names a member may read offsets.
	ValidateFetch(memberID *string, epoch int32) error
	// ValidateOffsetDelete says whether the group is of a kind, and in a state,
	// in which single offsets may be deleted.
	ValidateOffsetDelete() error
	// Subscribes says whether members consume a topic.
	Subscribes(topic string) bool
	// ExpiresFrom is when the retention of a commit for a topic begins, in
	// milliseconds; false while it may not expire.
	ExpiresFrom(topic string, stored *offsets.Commit) (int64, bool)
	// Tombstones end the group in the log, its offsets aside.
	Tombstones() []group.Record
}

// Modern is a group of one of the newer protocols. It changes by its records
// alone.
type Modern interface {
	Group
	// Replay takes one record into the group, at a moment in milliseconds. What
	// cannot be read changes nothing.
	Replay(r group.Record, now int64)
}

// mortal is a group with members that wait for answers.
type mortal interface {
	// Kill ends the group in memory: nothing that waits or runs for it goes on.
	Kill(now int64)
}

// CommitAttempt is what a commit says of who commits (rules H4, H5).
type CommitAttempt struct {
	MemberID      string
	InstanceID    *string
	Epoch         int32 // the classic generation or the member epoch
	Transactional bool
	// KnowsEpochs is set for OffsetCommit from v9 on, which members of the
	// consumer protocol must use.
	KnowsEpochs bool
}

// Anonymous says whether the attempt names no member at all.
func (a CommitAttempt) Anonymous() bool {
	return a.Epoch < 0 && a.MemberID == "" && a.InstanceID == nil
}

// CommitCheck says whether one partition may be committed. Its error refuses
// the whole request.
type CommitCheck func(tp assignment.Partition) error

// Allows says whether all partitions of a commit pass.
func (check CommitCheck) Allows(topics []group.CommitTopic) error {
	if check == nil {
		return nil
	}
	for _, t := range topics {
		for _, p := range t.Partitions {
			if err := check(assignment.Partition{Topic: t.TopicID, Number: p.Partition}); err != nil {
				return err
			}
		}
	}
	return nil
}
