package wire

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// VersionRange is a range of versions, both ends included.
type VersionRange struct{ Min, Max int16 }

// Contains says whether a version lies in the range.
func (r VersionRange) Contains(version int16) bool { return r.Min <= version && version <= r.Max }

// Versions is what a broker offers: the versions of each API, by its key. An
// API that is not in it does not exist for a client.
type Versions map[int16]VersionRange

// kafka43 is what a broker offers that is not told otherwise.
var kafka43 = Kafka43()

// Kafka43 returns the ranges of Apache Kafka 4.3 (rule J1), of the APIs that
// the simulator has. The caller may change its copy.
func Kafka43() Versions {
	return Versions{
		// Produce shows versions below 3 for librdkafka's sake (KAFKA-18659) and
		// serves none of them.
		int16(kmsg.Produce):                      {0, 13},
		int16(kmsg.Fetch):                        {4, 18},
		int16(kmsg.ListOffsets):                  {1, 11},
		int16(kmsg.Metadata):                     {0, 13},
		int16(kmsg.OffsetCommit):                 {2, 10},
		int16(kmsg.OffsetFetch):                  {1, 10},
		int16(kmsg.FindCoordinator):              {0, 6},
		int16(kmsg.JoinGroup):                    {0, 9},
		int16(kmsg.Heartbeat):                    {0, 4},
		int16(kmsg.LeaveGroup):                   {0, 5},
		int16(kmsg.SyncGroup):                    {0, 5},
		int16(kmsg.DescribeGroups):               {0, 6},
		int16(kmsg.ListGroups):                   {0, 5},
		int16(kmsg.SASLHandshake):                {0, 1},
		int16(kmsg.ApiVersions):                  {0, 4},
		int16(kmsg.CreateTopics):                 {2, 7},
		int16(kmsg.DeleteTopics):                 {1, 6},
		int16(kmsg.DeleteRecords):                {0, 2},
		int16(kmsg.InitProducerID):               {0, 5},
		int16(kmsg.OffsetForLeaderEpoch):         {2, 4},
		int16(kmsg.AddPartitionsToTxn):           {0, 5},
		int16(kmsg.AddOffsetsToTxn):              {0, 4},
		int16(kmsg.EndTxn):                       {0, 5},
		int16(kmsg.WriteTxnMarkers):              {1, 2},
		int16(kmsg.TxnOffsetCommit):              {0, 5},
		int16(kmsg.DescribeACLs):                 {1, 3},
		int16(kmsg.CreateACLs):                   {1, 3},
		int16(kmsg.DeleteACLs):                   {1, 3},
		int16(kmsg.DescribeConfigs):              {1, 4},
		int16(kmsg.DescribeLogDirs):              {1, 5},
		int16(kmsg.SASLAuthenticate):             {0, 2},
		int16(kmsg.CreatePartitions):             {0, 3},
		int16(kmsg.DeleteGroups):                 {0, 2},
		int16(kmsg.ElectLeaders):                 {0, 2},
		int16(kmsg.IncrementalAlterConfigs):      {0, 1},
		int16(kmsg.AlterPartitionAssignments):    {0, 1},
		int16(kmsg.ListPartitionReassignments):   {0, 0},
		int16(kmsg.OffsetDelete):                 {0, 0},
		int16(kmsg.DescribeUserSCRAMCredentials): {0, 0},
		int16(kmsg.AlterUserSCRAMCredentials):    {0, 0},
		int16(kmsg.DescribeCluster):              {0, 2},
		int16(kmsg.DescribeProducers):            {0, 0},
		int16(kmsg.DescribeTransactions):         {0, 0},
		int16(kmsg.ListTransactions):             {0, 2},
		int16(kmsg.ConsumerGroupHeartbeat):       {0, 1},
		int16(kmsg.ConsumerGroupDescribe):        {0, 1},
		int16(kmsg.DescribeTopicPartitions):      {0, 0},
		int16(kmsg.ShareGroupHeartbeat):          {1, 1},
		int16(kmsg.ShareGroupDescribe):           {1, 1},
		int16(kmsg.ShareFetch):                   {1, 2},
		int16(kmsg.ShareAcknowledge):             {1, 2},
		int16(kmsg.StreamsGroupHeartbeat):        {0, 0},
		int16(kmsg.StreamsGroupDescribe):         {0, 0},
		int16(kmsg.AlterConfigs):                 {0, 2},
		int16(kmsg.AlterReplicaLogDirs):          {1, 2},
		int16(kmsg.CreateDelegationToken):        {1, 3},
		int16(kmsg.RenewDelegationToken):         {1, 2},
		int16(kmsg.ExpireDelegationToken):        {1, 2},
		int16(kmsg.DescribeDelegationToken):      {1, 3},
		int16(kmsg.DescribeClientQuotas):         {0, 1},
		int16(kmsg.AlterClientQuotas):            {0, 1},
		int16(kmsg.DescribeQuorum):               {0, 2},
		int16(kmsg.UpdateFeatures):               {0, 2},
		int16(kmsg.UnregisterBroker):             {0, 0},
		int16(kmsg.ListConfigResources):          {0, 1},
		int16(kmsg.AddRaftVoter):                 {0, 1},
		int16(kmsg.RemoveRaftVoter):              {0, 0},
		int16(kmsg.DescribeShareGroupOffsets):    {0, 1},
		int16(kmsg.AlterShareGroupOffsets):       {0, 0},
		int16(kmsg.DeleteShareGroupOffsets):      {0, 0},
	}
}

// Keys lists the APIs in order of their keys.
func (v Versions) Keys() []int16 {
	keys := make([]int16, 0, len(v))
	for key := range v {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// UnsupportedError says that a broker does not serve an API in a version. At a
// socket the connection is closed without an answer, as Kafka does.
type UnsupportedError struct {
	Key     int16
	Version int16
	Offered VersionRange
	Known   bool // the API, in other versions
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	if !e.Known {
		return fmt.Sprintf("API %d is not served", e.Key)
	}
	return fmt.Sprintf("%s v%d is not served, v%d to v%d are", kmsg.NameForKey(e.Key), e.Version, e.Offered.Min, e.Offered.Max)
}

// oldestServedProduce is the first version of Produce whose records have the
// v2 format.
const oldestServedProduce = 3

// Check says whether an API is served in a version. The error is an
// *UnsupportedError. ApiVersions passes in every version: it answers for itself
// (rule J3).
func (v Versions) Check(key, version int16) error {
	offered, known := v[key]
	served := offered
	if key == int16(kmsg.Produce) {
		served.Min = max(served.Min, oldestServedProduce)
	}
	if !known || !served.Contains(version) && key != int16(kmsg.ApiVersions) {
		return &UnsupportedError{Key: key, Version: version, Offered: served, Known: known}
	}
	return nil
}
